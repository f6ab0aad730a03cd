// SPDX-License-Identifier: Apache-2.0
// Where in the picture errors lie. Errors that grow toward the corners come from the lens, errors on one side from a
// resized or shifted picture, errors only on objects from clocks, and errors everywhere from poses.
#include "datasets/check_private.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 500, COUNT_MIN = 200 };
#define ERROR_MAX 0.05 // relative error of the last cell
#define TELLING 3.0    // ratio to the error elsewhere
#define RELEVANT 0.004 // of depth
#define DAMAGED 0.03   // relative error of rows that no camera explains

struct WhereLists {
    size_t cells[WHERE_COUNT][CELLS]; // histograms of error over depth
};

static const char *const WORDS[WHERE_COUNT] = {
    [WHERE_CENTRE] = "centre",
    [WHERE_CORNERS] = "corners",
    [WHERE_LEFT] = "left",
    [WHERE_RIGHT] = "right",
    [WHERE_TOP] = "top",
    [WHERE_BOTTOM] = "bottom",
    [WHERE_OBJECTS] = "on objects",
    [WHERE_BACKGROUND] = "off objects",
    [WHERE_BAND] = "first row band",
};

const char *where_name(int where) { return WORDS[where < WHERE_BAND ? where : WHERE_BAND]; }

WhereLists *where_create(void) { return calloc(1, sizeof(WhereLists)); }
void where_free(WhereLists *lists) { free(lists); }

// Cell of the histograms; -1 for a point that another surface hides.
static int cell_of(const Landing *landing) {
    double error = fabs(landing->z - landing->there) / landing->z;
    if (landing->z - landing->there > REPROJECT_OCCLUSION * landing->z) return -1;
    return (int)fmin(error / ERROR_MAX * CELLS, CELLS - 1); // a point close to the camera can have any relative error
}

static void add_place(WhereLists *lists, const Shot *a, int x, int y, int cell) {
    double u = (x + 0.5) / a->W - 0.5, v = (y + 0.5) / a->H - 0.5, r = sqrt(2 * (u * u + v * v)); // 1 in a corner
    lists->cells[WHERE_CENTRE][cell] += r < 0.4;
    lists->cells[WHERE_CORNERS][cell] += r > 0.75;
    lists->cells[WHERE_LEFT][cell] += u < -1.0 / 6;
    lists->cells[WHERE_RIGHT][cell] += u > 1.0 / 6;
    lists->cells[WHERE_TOP][cell] += v < -1.0 / 6;
    lists->cells[WHERE_BOTTOM][cell] += v > 1.0 / 6;
    lists->cells[WHERE_BAND + (int)((v + 0.5) * WHERE_BANDS)][cell]++;
}

static bool on_object(const Shot *a, int x, int y) { return a->mask[(size_t)y * (size_t)a->W + (size_t)x] > 0; }

void where_add(void *context, const Shot *a, int x, int y, const Landing *landing) {
    WhereLists *lists = context;
    int cell = cell_of(landing);
    if (cell < 0) return;
    add_place(lists, a, x, y, cell);
    if (a->mask) lists->cells[on_object(a, x, y) ? WHERE_OBJECTS : WHERE_BACKGROUND][cell]++;
}

void where_add_moments(void *context, const Shot *a, int x, int y, const Landing *landing) {
    int cell = cell_of(landing);
    if (cell >= 0 && !(a->mask && on_object(a, x, y))) add_place(context, a, x, y, cell);
}

// Median error over depth; NaN of too few points.
static double median_of(const size_t cells[CELLS]) {
    size_t count = 0, before = 0;
    for (int i = 0; i < CELLS; i++) count += cells[i];
    if (count < COUNT_MIN) return NAN;
    for (int i = 0; i < CELLS; i++) {
        before += cells[i];
        if (2 * before >= count) return (i + 0.5) * ERROR_MAX / CELLS;
    }
    return NAN;
}

static bool far_above(double a, double b) { return a > RELEVANT && a > TELLING * b; }

// The band of rows whose error is far above that of every band that does not touch it; -1 when there is none.
static int worst_band(const double *bands) {
    int worst = 0;
    for (int i = 1; i < WHERE_BANDS; i++)
        if (bands[i] > bands[worst] || !isfinite(bands[worst])) worst = i;
    for (int i = 0; i < WHERE_BANDS; i++)
        if (abs(i - worst) > 1 && (!far_above(bands[worst], bands[i]) || bands[i] > RELEVANT / 2)) return -1;
    return bands[worst] > DAMAGED ? worst : -1;
}

void where_judge(WhereLists *lists, CheckReport *report) {
    double *m = report->where;
    for (int i = 0; i < WHERE_COUNT; i++) m[i] = median_of(lists->cells[i]);
    int band = worst_band(m + WHERE_BAND);
    const char *text = NULL;
    double high = 0, low = 0;
    if (far_above(m[WHERE_CORNERS], m[WHERE_CENTRE]))
        text =
            "in the corners of the picture than in the middle: distortion, focal length or principal point are wrong",
        high = m[WHERE_CORNERS], low = m[WHERE_CENTRE];
    else if (far_above(m[WHERE_OBJECTS], m[WHERE_BACKGROUND]))
        text =
            "on objects than elsewhere: the cameras may not show the same moment, or cx and cy are off, which a flat "
            "floor does not show",
        high = m[WHERE_OBJECTS], low = m[WHERE_BACKGROUND];
    for (int side = WHERE_LEFT; !text && side <= WHERE_BOTTOM; side++) {
        int other = side ^ 1;
        if (!far_above(m[side], m[other])) continue;
        text = side < WHERE_TOP
                   ? "on one side of the picture (left or right) than on the other: the principal point or the width "
                     "of the picture is wrong"
                   : "at one end of the picture (top or bottom) than at the other: the principal point, the "
                     "height of the picture or a rolling shutter is the cause",
        high = m[side], low = m[other];
    }
    if (text)
        check_add_finding(report, false, "errors are larger (%.2f %% of depth against %.2f %%) %s", 100 * high,
                          100 * low, text);
    else if (band >= 0)
        check_add_finding(report, false,
                          "errors lie in the rows from %d to %d %% of the height: are rows missing or damaged there?",
                          100 * band / WHERE_BANDS, 100 * (band + 1) / WHERE_BANDS);
    else if (check_report_fails(report) && !report->guess && m[WHERE_CENTRE] > RELEVANT &&
             m[WHERE_CORNERS] < 1.5 * m[WHERE_CENTRE])
        check_add_finding(report, false,
                          "errors are as large in the middle of the picture as in the corners: the poses are more "
                          "likely wrong than the lens");
}
