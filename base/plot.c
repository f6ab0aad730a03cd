// SPDX-License-Identifier: Apache-2.0
#include "base/plot.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 480, HEIGHT = 300, TICKS_MAX = 24, LEGEND_LINE = 18, TEXT_SIZE = 12 };

// Middle tones: at least 3:1 against white and against near-black.
static const char *const COLOURS[PLOT_COLOURS] = {"#3b82c4", "#d9731a", "#2f9e6e", "#a463c9",
                                                  "#868e99", "#d9534f", "#1f9aa8", "#b58a16"};

// One axis: values from low to high lie at pixels from start to end.
typedef struct Axis {
    double low, high, start, end;
    bool log;
    double ticks[TICKS_MAX];
    int tick_count;
} Axis;

typedef struct Frame {
    Axis x, y;
    double top; // where the legend ends
} Frame;

// ---- text

static void put_escaped(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '&') fputs("&amp;", out);
        else if (*text == '<') fputs("&lt;", out);
        else if (*text == '>') fputs("&gt;", out);
        else if (*text == '"') fputs("&quot;", out);
        else if ((unsigned char)*text >= ' ' || *text == '\t') fputc(*text, out);
    }
}

// About how wide a text is, in pixels.
static double text_width(const char *text, double size) {
    double width = 0;
    for (; *text; text++) {
        if ((*text & 0xC0) == 0x80) continue; // later bytes of a UTF-8 character
        width += strchr("ijlt.,:;|'!() ", *text) ? 0.33 : strchr("mwMW@%", *text) ? 0.9 : 0.57;
    }
    return width * size;
}

static void put_text(FILE *out, double x, double y, const char *anchor, double size, double opacity, const char *text) {
    fprintf(
        out,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%g\" fill=\"currentColor\" fill-opacity=\"%g\">", x,
        y, anchor, size, opacity);
    put_escaped(out, text);
    fputs("</text>\n", out);
}

static void put_line(FILE *out, double x0, double y0, double x1, double y1, double opacity) {
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"currentColor\" stroke-opacity=\"%g\"/>\n", x0, y0, x1, y1,
            opacity);
}

static void format_tick(double value, char out[32]) {
    if (fabs(value) < 1e-12) value = 0;
    snprintf(out, 32, "%s%.6g", value < 0 ? "\xE2\x88\x92" : "", fabs(value)); // a minus sign rather than a hyphen
}

// ---- axes

int plot_ticks(double low, double high, int wanted, double *ticks, int capacity) {
    if (!(high > low) || !isfinite(low) || !isfinite(high) || wanted < 1) return 0;
    double raw = (high - low) / wanted, power = pow(10, floor(log10(raw))), step = 10 * power;
    const double rounds[] = {1, 2, 2.5, 5};
    for (int i = 3; i >= 0; i--)
        if (rounds[i] * power >= raw * 0.999) step = rounds[i] * power;
    int count = 0;
    for (double k = ceil(low / step - 1e-9); count < capacity && k * step <= high + 1e-9 * step; k++)
        ticks[count++] = k * step;
    return count;
}

// Powers of ten; with 2 and 5 times them where there are few.
static int log_ticks(double low, double high, double *ticks, int capacity) {
    bool few = log10(high / low) < 2.5;
    int count = 0;
    for (double power = pow(10, floor(log10(low) + 1e-9)); power <= high * 1.001; power *= 10) {
        for (int i = 1; i <= 5; i += i == 1 ? 1 : 3) {
            double tick = i * power;
            if ((i == 1 || few) && tick >= low * 0.999 && tick <= high * 1.001 && count < capacity)
                ticks[count++] = tick;
        }
    }
    return count;
}

static bool usable(const Axis *axis, double value) { return isfinite(value) && (!axis->log || value > 0); }

static void widen(Axis *axis, double value) {
    if (!usable(axis, value)) return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

static void data_range(const Plot *plot, Axis *x, Axis *y) {
    for (int s = 0; s < plot->series_count; s++) {
        for (int i = 0; i < plot->series[s].count; i++) {
            if (!usable(x, plot->series[s].x[i]) || !usable(y, plot->series[s].y[i])) continue;
            widen(x, plot->series[s].x[i]);
            widen(y, plot->series[s].y[i]);
        }
    }
}

// Limits with something between them; `round` extends them to the next ticks.
static void settle_axis(Axis *axis, bool round, int wanted) {
    if (!(axis->high >= axis->low)) {
        axis->low = axis->log ? 1 : 0;
        axis->high = axis->log ? 10 : 1;
    }
    if (axis->high - axis->low <= 1e-9 * fabs(axis->high)) {
        double margin = axis->log ? axis->high / 2 : fmax(fabs(axis->high) * 0.1, 0.5);
        axis->low -= margin;
        axis->high += margin;
    }
    if (axis->log) {
        axis->tick_count = log_ticks(axis->low, axis->high, axis->ticks, TICKS_MAX);
        return;
    }
    axis->tick_count = plot_ticks(axis->low, axis->high, wanted, axis->ticks, TICKS_MAX);
    if (!round || axis->tick_count < 2) return;
    double step = axis->ticks[1] - axis->ticks[0];
    axis->low = floor(axis->low / step + 1e-6) * step;
    axis->high = ceil(axis->high / step - 1e-6) * step;
    axis->tick_count =
        plot_ticks(axis->low, axis->high, (int)lround((axis->high - axis->low) / step), axis->ticks, TICKS_MAX);
}

static double place(const Axis *axis, double value) {
    double t = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                         : (value - axis->low) / (axis->high - axis->low);
    return axis->start + t * (axis->end - axis->start);
}

// ---- parts of the picture

static const char *colour_of(const Plot *plot, int s) {
    int index = plot->series[s].colour < 0 ? s : plot->series[s].colour;
    return COLOURS[index % PLOT_COLOURS];
}

static void put_stroke(FILE *out, const Plot *plot, int s) {
    fprintf(out,
            " fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-linecap=\"round\"%s/>\n",
            colour_of(plot, s), plot->series[s].dashed ? " stroke-dasharray=\"2 5\"" : "");
}

// Returns where the plot may begin.
static double put_legend(FILE *out, const Plot *plot, double right, double top) {
    const double left = 4;
    double x = left, y = top;
    bool any = false;
    for (int s = 0; s < plot->series_count; s++) {
        const char *name = plot->series[s].name;
        if (!name) continue;
        double width = 24 + text_width(name, TEXT_SIZE) + 14;
        if (any && x + width > right + 14) {
            x = left;
            y += LEGEND_LINE;
        }
        any = true;
        if (out) {
            fprintf(out, "<path d=\"M%.1f %.1fh18\"", x, y + 8);
            put_stroke(out, plot, s);
            put_text(out, x + 24, y + 12, "start", TEXT_SIZE, 0.9, name);
        }
        x += width;
    }
    return any ? y + LEGEND_LINE : y;
}

static void put_axes(FILE *out, const Plot *plot, const Frame *f) {
    char text[32];
    for (int i = 0; i < f->y.tick_count; i++) {
        double y = place(&f->y, f->y.ticks[i]);
        put_line(out, f->x.start, y, f->x.end, y, 0.13);
        format_tick(f->y.ticks[i], text);
        put_text(out, f->x.start - 7, y + 4, "end", 11, 0.75, text);
    }
    put_line(out, f->x.start, f->y.start, f->x.end, f->y.start, 0.5);
    for (int i = 0; i < f->x.tick_count; i++) {
        double x = place(&f->x, f->x.ticks[i]);
        put_line(out, x, f->y.start, x, f->y.start + 4, 0.5);
        format_tick(f->x.ticks[i], text);
        put_text(out, x, f->y.start + 17, "middle", 11, 0.75, text);
    }
    if (plot->x_label)
        put_text(out, (f->x.start + f->x.end) / 2, f->y.start + 34, "middle", TEXT_SIZE, 0.9, plot->x_label);
}

static void put_series(FILE *out, const Plot *plot, const Frame *f, int s) {
    const PlotSeries *series = plot->series + s;
    bool open = false, any = false;
    for (int i = 0; i < series->count; i++) {
        bool good = usable(&f->x, series->x[i]) && usable(&f->y, series->y[i]);
        if (good) {
            if (!any) fputs("<path d=\"", out);
            fprintf(out, "%c%.1f %.1f", open ? 'L' : 'M', place(&f->x, series->x[i]), place(&f->y, series->y[i]));
            any = true;
        }
        open = good;
    }
    if (!any) return;
    fputc('"', out);
    put_stroke(out, plot, s);
    for (int i = 0; i < series->count && series->markers; i++) {
        if (!usable(&f->x, series->x[i]) || !usable(&f->y, series->y[i])) continue;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", place(&f->x, series->x[i]),
                place(&f->y, series->y[i]), colour_of(plot, s));
    }
}

static double widest_tick(const Axis *axis) {
    double width = 0;
    char text[32];
    for (int i = 0; i < axis->tick_count; i++) {
        format_tick(axis->ticks[i], text);
        width = fmax(width, text_width(text, 11));
    }
    return width;
}

static int plot_width(const Plot *plot) { return plot->width > 0 ? plot->width : WIDTH; }
static int plot_height(const Plot *plot) { return plot->height > 0 ? plot->height : HEIGHT; }

// Where everything goes: title, legend, label of y (across, above the axis), plot, label of x.
static Frame lay_out(const Plot *plot) {
    double W = plot_width(plot), H = plot_height(plot);
    Frame f = {.x = {.low = INFINITY, .high = -INFINITY, .log = plot->log_x},
               .y = {.low = INFINITY, .high = -INFINITY, .log = plot->log_y}};
    data_range(plot, &f.x, &f.y);
    if (plot->y_from_zero && !f.y.log) widen(&f.y, 0);
    settle_axis(&f.x, false, (int)(W / 70));
    settle_axis(&f.y, true, (int)(H / 55));
    f.x.start = 12 + widest_tick(&f.y);
    f.x.end = W - 14;
    f.top = put_legend(NULL, plot, f.x.end, plot->title ? 26 : 6) + (plot->y_label ? 18 : 4);
    f.y.start = H - (plot->x_label ? 42 : 26);
    f.y.end = f.top + 6;
    return f;
}

static void put_body(FILE *out, const Plot *plot) {
    Frame f = lay_out(plot);
    if (plot->title) put_text(out, 4, 16, "start", 14, 1, plot->title);
    double below = put_legend(out, plot, f.x.end, plot->title ? 26 : 6);
    if (plot->y_label) put_text(out, 4, below + 12, "start", TEXT_SIZE, 0.9, plot->y_label);
    put_axes(out, plot, &f);
    for (int s = 0; s < plot->series_count; s++) put_series(out, plot, &f, s);
}

// ---- whole pictures

static void put_open(FILE *out, int width, int height, bool standalone, const char *name) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"",
            width, height, width, height);
    put_escaped(out, name);
    fputs("\">\n", out);
    if (standalone)
        fputs("<style>:root{color:#24292f}@media(prefers-color-scheme:dark){:root{color:#d5dae0}}</style>\n", out);
}

static const char *description(const Plot *plot) {
    return plot->description ? plot->description : plot->title ? plot->title : plot->y_label ? plot->y_label : "plot";
}

void plot_write_svg(const Plot *plot, bool standalone, FILE *out) {
    put_open(out, plot_width(plot), plot_height(plot), standalone, description(plot));
    put_body(out, plot);
    fputs("</svg>\n", out);
}

void plot_write_grid(const Plot *plots, int count, FILE *out) {
    const int columns = 2;
    int width = 0, height = 0, rows = (count + columns - 1) / columns;
    for (int i = 0; i < count; i++) {
        width = plot_width(plots + i) > width ? plot_width(plots + i) : width;
        height = plot_height(plots + i) > height ? plot_height(plots + i) : height;
    }
    put_open(out, (width + 24) * (count < columns ? count : columns), (height + 24) * rows, true,
             count ? description(plots) : "plot");
    for (int i = 0; i < count; i++) {
        fprintf(out, "<g transform=\"translate(%d %d)\">\n", 12 + i % columns * (width + 24),
                12 + i / columns * (height + 24));
        put_body(out, plots + i);
        fputs("</g>\n", out);
    }
    fputs("</svg>\n", out);
}
