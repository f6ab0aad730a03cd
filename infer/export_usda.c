// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/vector.h"
#include "infer/export.h"
#include "infer/rollout.h"

#include <math.h>

float export_linear(uint8_t value) {
    double s = value / 255.0;
    return (float)(s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4));
}

int export_up(const RolloutFile *r, int *sign) {
    double up[3];
    rollout_up(&r->surface, r->world_from_camera, (size_t)r->V * (size_t)r->camera_frames, up);
    int axis = vector_axis(up);
    *sign = up[axis] < 0 ? -1 : 1;
    return axis;
}

static void put_points(FILE *out, const float *x, size_t N) {
    for (size_t i = 0; i < N; i++)
        fprintf(out, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", (double)x[3 * i], (double)x[3 * i + 1],
                (double)x[3 * i + 2]);
}

// Bounding box of a step.
static void put_extent(FILE *out, const float *x, size_t N) {
    float low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) {
            float v = x[3 * i + (size_t)c];
            low[c] = i == 0 || v < low[c] ? v : low[c];
            high[c] = i == 0 || v > high[c] ? v : high[c];
        }
    fprintf(out, "(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)", (double)low[0], (double)low[1], (double)low[2],
            (double)high[0], (double)high[1], (double)high[2]);
}

static void put_samples(FILE *out, const RolloutFile *r, const char *name, void (*put)(FILE *, const float *, size_t)) {
    fprintf(out, "    %s.timeSamples = {\n", name);
    for (size_t step = 0; step <= r->steps; step++) {
        fprintf(out, "        %zu: [", step);
        put(out, rollout_positions(r, step), r->sets[0].N);
        fprintf(out, "],\n");
    }
    fprintf(out, "    }\n");
}

static void put_properties(FILE *out, const RolloutSet *set) {
    size_t N = set->N;
    if (set->radius) {
        fprintf(out, "    float[] widths = [");
        for (size_t i = 0; i < N; i++) fprintf(out, "%s%.6g", i ? ", " : "", (double)set->radius[i] / 2);
        fprintf(out, "] (\n        interpolation = \"vertex\"\n    )\n");
    }
    if (set->colour) {
        fprintf(out, "    color3f[] primvars:displayColor = [");
        for (size_t i = 0; i < N; i++)
            fprintf(out, "%s(%.4g, %.4g, %.4g)", i ? ", " : "", (double)export_linear(set->colour[3 * i]),
                    (double)export_linear(set->colour[3 * i + 1]), (double)export_linear(set->colour[3 * i + 2]));
        fprintf(out, "] (\n        interpolation = \"vertex\"\n    )\n");
    }
    if (set->labels) {
        fprintf(out, "    int[] primvars:label = [");
        for (size_t i = 0; i < N; i++) fprintf(out, "%s%d", i ? ", " : "", set->labels[i]);
        fprintf(out, "] (\n        interpolation = \"vertex\"\n    )\n");
    }
}

static bool put_scene(FILE *out, void *context) {
    const RolloutFile *r = context;
    double rate = r->time_step > 0 ? 1 / r->time_step : 1;
    int sign, axis = export_up(r, &sign);
    fprintf(out,
            "#usda 1.0\n(\n    defaultPrim = \"particles\"\n    endTimeCode = %zu\n    framesPerSecond = %.9g\n"
            "    metersPerUnit = 1\n    startTimeCode = 0\n    timeCodesPerSecond = %.9g\n    upAxis = \"%s\"\n)\n\n"
            "def Points \"particles\"\n{\n",
            r->steps, rate, rate, axis == 1 && sign > 0 ? "Y" : "Z");
    put_samples(out, r, "float3[] extent", put_extent);
    put_samples(out, r, "point3f[] points", put_points);
    put_properties(out, &r->sets[0]);
    fprintf(out, "}\n");
    return true;
}

Status export_usda(const RolloutFile *rollout, const char *path, Error *err) {
    return file_write_stream(path, put_scene, (void *)rollout, err); // only read
}
