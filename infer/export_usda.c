// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/vector.h"
#include "infer/export.h"
#include "infer/export_parts.h"
#include "infer/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// Points of one prim.
typedef struct Points {
    const RolloutFile *rollout;
    const uint32_t *particle; // (count); NULL: all in their order
    size_t count;
    int indent;           // blanks before its properties
    const char *material; // its name; NULL: none
} Points;

static size_t particle_of(const Points *points, size_t i) { return points->particle ? points->particle[i] : i; }

static void put_places(FILE *out, const Points *points, const float *x) {
    for (size_t i = 0; i < points->count; i++) {
        const float *at = x + 3 * particle_of(points, i);
        fprintf(out, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", (double)at[0], (double)at[1], (double)at[2]);
    }
}

// Bounding box of a step.
static void put_extent(FILE *out, const Points *points, const float *x) {
    float low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < points->count; i++)
        for (size_t c = 0; c < 3; c++) {
            float v = x[3 * particle_of(points, i) + c];
            low[c] = i == 0 || v < low[c] ? v : low[c];
            high[c] = i == 0 || v > high[c] ? v : high[c];
        }
    fprintf(out, "(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)", (double)low[0], (double)low[1], (double)low[2],
            (double)high[0], (double)high[1], (double)high[2]);
}

static void put_samples(FILE *out, const Points *points, const char *name,
                        void (*put)(FILE *, const Points *, const float *)) {
    fprintf(out, "%*s%s.timeSamples = {\n", points->indent, "", name);
    for (size_t step = 0; step <= points->rollout->steps; step++) {
        fprintf(out, "%*s%zu: [", points->indent + 4, "", step);
        put(out, points, rollout_positions(points->rollout, step));
        fprintf(out, "],\n");
    }
    fprintf(out, "%*s}\n", points->indent, "");
}

static void end_list(FILE *out, const Points *points) {
    fprintf(out, "] (\n%*sinterpolation = \"vertex\"\n%*s)\n", points->indent + 4, "", points->indent, "");
}

// Widths are half of what a particle's radius is, by `share` more or less.
static void put_widths(FILE *out, const Points *points, double share) {
    const float *radius = points->rollout->sets[0].radius;
    if (!radius) return;
    fprintf(out, "%*sfloat[] widths = [", points->indent, "");
    for (size_t i = 0; i < points->count; i++)
        fprintf(out, "%s%.6g", i ? ", " : "", share * (double)radius[particle_of(points, i)] / 2);
    end_list(out, points);
}

static void put_moving(FILE *out, const Points *points) {
    put_samples(out, points, "float3[] extent", put_extent);
    put_samples(out, points, "point3f[] points", put_places);
}

static void put_colour_and_label(FILE *out, const Points *points) {
    const RolloutSet *set = &points->rollout->sets[0];
    if (set->colour) {
        fprintf(out, "%*scolor3f[] primvars:displayColor = [", points->indent, "");
        for (size_t i = 0; i < points->count; i++) {
            const uint8_t *rgb = set->colour + 3 * particle_of(points, i);
            fprintf(out, "%s(%.4g, %.4g, %.4g)", i ? ", " : "", (double)export_linear(rgb[0]),
                    (double)export_linear(rgb[1]), (double)export_linear(rgb[2]));
        }
        end_list(out, points);
    }
    if (set->labels) {
        fprintf(out, "%*sint[] primvars:label = [", points->indent, "");
        for (size_t i = 0; i < points->count; i++)
            fprintf(out, "%s%d", i ? ", " : "", set->labels[particle_of(points, i)]);
        end_list(out, points);
    }
}

static void put_prim(FILE *out, const Points *points, const char *kind, const char *name) {
    const int before = points->indent - 4, in = points->indent;
    fprintf(out, "%*sdef %s \"%s\"", before, "", kind, name);
    if (points->material)
        fprintf(out, " (\n%*sprepend apiSchemas = [\"MaterialBindingAPI\"]\n%*s)", in, "", before, "");
    fprintf(out, "\n%*s{\n", before, "");
    if (points->material) fprintf(out, "%*srel material:binding = </scene/materials/%s>\n", in, "", points->material);
}

static void end_prim(FILE *out, const Points *points) { fprintf(out, "%*s}\n", points->indent - 4, ""); }

static void put_particles(FILE *out, const Points *points, const char *name) {
    put_prim(out, points, "Points", name);
    put_moving(out, points);
    put_widths(out, points, 1);
    put_colour_and_label(out, points);
    end_prim(out, points);
}

static void put_list(FILE *out, const Points *points, const char *name, const uint32_t *number, size_t count,
                     uint32_t same) {
    fprintf(out, "%*sint[] %s = [", points->indent, "", name);
    for (size_t i = 0; i < count; i++) fprintf(out, "%s%u", i ? ", " : "", number ? number[i] : same);
    fprintf(out, "]\n");
}

// The one colour of all points; NULL without one.
static const uint8_t *same_colour(const Points *points) {
    const uint8_t *colour = points->rollout->sets[0].colour, *first = colour + 3 * particle_of(points, 0);
    for (size_t i = 1; colour && i < points->count; i++)
        if (memcmp(first, colour + 3 * particle_of(points, i), 3) != 0) return NULL;
    return colour ? first : NULL;
}

// Blender shows no displayColor without a material.
static void put_material(FILE *out, const char *name, const uint8_t *rgb) {
    fprintf(out,
            "        def Material \"%s\"\n        {\n"
            "            token outputs:surface.connect = </scene/materials/%s/shader.outputs:surface>\n\n"
            "            def Shader \"shader\"\n            {\n"
            "                uniform token info:id = \"UsdPreviewSurface\"\n"
            "                color3f inputs:diffuseColor = (%.4g, %.4g, %.4g)\n"
            "                token outputs:surface\n            }\n        }\n",
            name, name, (double)export_linear(rgb[0]), (double)export_linear(rgb[1]), (double)export_linear(rgb[2]));
}

static void put_surface(FILE *out, const Points *points, const ExportPart *part) {
    put_prim(out, points, "Mesh", part->identifier);
    put_moving(out, points);
    put_list(out, points, "faceVertexCounts", NULL, part->triangles, 3);
    put_list(out, points, "faceVertexIndices", part->triangle, 3 * part->triangles, 0);
    fprintf(out, "%*suniform bool doubleSided = 1\n%*suniform token subdivisionScheme = \"none\"\n", points->indent, "",
            points->indent, "");
    put_colour_and_label(out, points);
    end_prim(out, points);
}

// A curve of two points for each spring.
static void put_springs(FILE *out, const Points *points, const char *name) {
    put_prim(out, points, "BasisCurves", name);
    put_moving(out, points);
    put_list(out, points, "curveVertexCounts", NULL, points->count / 2, 2);
    fprintf(out, "%*suniform token type = \"linear\"\n", points->indent, "");
    put_widths(out, points, 0.25);
    put_colour_and_label(out, points);
    end_prim(out, points);
}

// ---- the file

typedef struct Stage {
    const RolloutFile *rollout;
    const ExportParts *parts; // of none: all particles are points
    uint32_t *end;            // (2*springs) for work: the particles at the ends of springs
} Stage;

// Blender names objects after the innermost prims alone.
static void put_part(FILE *out, const Stage *stage, const ExportPart *part) {
    const char *name = part->identifier;
    Points points = {stage->rollout, part->particle, part->count, 8, NULL};
    const char *material = same_colour(&points) ? name : NULL;
    char inner[EXPORT_NAME_SIZE + 16];
    fprintf(out, "\n");
    if (part->triangles) {
        points.material = material;
        put_surface(out, &points, part);
        return;
    }
    put_prim(out, &points, "Xform", name);
    points.indent = 12, points.material = material;
    snprintf(inner, sizeof inner, "%s_particles", name);
    put_particles(out, &points, inner);
    for (size_t i = 0; i < 2 * part->springs; i++) stage->end[i] = part->particle[part->spring[i]];
    snprintf(inner, sizeof inner, "%s_springs", name);
    points.particle = stage->end, points.count = 2 * part->springs;
    if (part->springs) put_springs(out, &points, inner);
    fprintf(out, "    }\n");
}

static void put_materials(FILE *out, const Stage *stage) {
    fprintf(out, "\n    def Scope \"materials\"\n    {\n");
    for (size_t k = 0; k < stage->parts->count; k++) {
        const ExportPart *part = stage->parts->part + k;
        const uint8_t *colour = same_colour(&(Points){stage->rollout, part->particle, part->count, 8, NULL});
        if (colour) put_material(out, part->identifier, colour);
    }
    fprintf(out, "    }\n");
}

static bool put_scene(FILE *out, void *context) {
    const Stage *stage = context;
    const RolloutFile *r = stage->rollout;
    double rate = r->time_step > 0 ? 1 / r->time_step : 1;
    int sign, axis = export_up(r, &sign);
    fprintf(out,
            "#usda 1.0\n(\n    defaultPrim = \"%s\"\n    endTimeCode = %zu\n    framesPerSecond = %.9g\n"
            "    metersPerUnit = 1\n    startTimeCode = 0\n    timeCodesPerSecond = %.9g\n    upAxis = \"%s\"\n)\n\n",
            stage->parts->count ? "scene" : "particles", r->steps, rate, rate, axis == 1 && sign > 0 ? "Y" : "Z");
    if (!stage->parts->count) {
        put_particles(out, &(Points){r, NULL, r->sets[0].N, 4, NULL}, "particles");
        return true;
    }
    fprintf(out, "def Xform \"scene\"\n{");
    for (size_t k = 0; k < stage->parts->count; k++) put_part(out, stage, stage->parts->part + k);
    put_materials(out, stage);
    fprintf(out, "}\n");
    return true;
}

Status export_usda(const RolloutFile *rollout, const char *path, Error *err) {
    const RolloutSurface *s = &rollout->surface;
    ExportParts parts = {0};
    Stage stage = {rollout, &parts, malloc(2 * s->springs * sizeof *stage.end + 1)};
    Status status = stage.end ? STATUS_OK : error_no_memory(err, "an export of %zu springs", s->springs);
    if (status == STATUS_OK && (s->triangles || s->springs)) status = export_parts_find(rollout, &parts, err);
    if (status == STATUS_OK) status = file_write_stream(path, put_scene, &stage, err);
    export_parts_free(&parts);
    free(stage.end);
    return status;
}
