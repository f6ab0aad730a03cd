// SPDX-License-Identifier: Apache-2.0
#include "raster/prepare.h"

#include <string.h>

enum { BLOCK = 256 }; // faces whose sums for the lights are added together first

static const RasterMesh *mesh_of(const Prepared *p, size_t source) { return &p->scene->mesh[p->mesh[source]]; }

static void face_normal(const Prepared *p, size_t source, double out[3]) {
    const int32_t *v = p->vertex + 3 * source;
    const double *x0 = p->world + 3 * v[0], *x1 = p->world + 3 * v[1], *x2 = p->world + 3 * v[2];
    double a[3] = {x1[0] - x0[0], x1[1] - x0[1], x1[2] - x0[2]}, b[3] = {x2[0] - x0[0], x2[1] - x0[1], x2[2] - x0[2]};
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

// From dLoss/d(normal): adds to the positions' gradient. n = a x b: da = b x g, db = g x a.
static void face_normal_back(const Prepared *p, size_t source, const double g[3], double *world) {
    const int32_t *v = p->vertex + 3 * source;
    const double *x0 = p->world + 3 * v[0], *x1 = p->world + 3 * v[1], *x2 = p->world + 3 * v[2];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double da = (x2[j] - x0[j]) * g[k] - (x2[k] - x0[k]) * g[j];
        double db = g[j] * (x1[k] - x0[k]) - g[k] * (x1[j] - x0[j]);
        world[3 * v[0] + i] -= da + db, world[3 * v[1] + i] += da, world[3 * v[2] + i] += db;
    }
}

static void sum_normals(Prepared *p) {
    memset(p->normal, 0, 3 * p->vertices * sizeof *p->normal);
    for (size_t s = 0; s < p->sources; s++) {
        if (!mesh_of(p, s)->smooth) continue;
        double n[3];
        face_normal(p, s, n);
        for (int k = 0; k < 9; k++) p->normal[3 * p->vertex[3 * s + (size_t)k / 3] + k % 3] += n[k % 3];
    }
}

// Corner k of a face; returns the length of the normal before it was scaled.
static double corner_point(const Prepared *p, size_t source, int k, LightPoint *out) {
    const RasterMesh *mesh = mesh_of(p, source);
    size_t v = (size_t)p->vertex[3 * source + (size_t)k], first = 0;
    double raw[3];
    for (const RasterMesh *m = p->scene->mesh; m < mesh; m++) first += m->vertices;
    if (mesh->smooth) memcpy(raw, p->normal + 3 * v, sizeof raw);
    else face_normal(p, source, raw);
    *out = (LightPoint){.specular = mesh->specular, .shininess = mesh->shininess};
    memcpy(out->point, p->world + 3 * v, sizeof out->point);
    memcpy(out->eye, p->eye, sizeof out->eye);
    for (int c = 0; c < 3; c++) out->albedo[c] = mesh->colour ? mesh->colour[3 * (v - first) + (size_t)c] : 1;
    return light_unit(raw, out->normal);
}

bool raster_light(Prepared *p, Arena *memory) {
    p->lit = arena_array(memory, (size_t)p->sets * p->sources * 3 * RASTER_LIT, sizeof *p->lit);
    if (!p->lit) return false;
    sum_normals(p);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (size_t s = 0; s < p->sources; s++)
        for (int k = 0; k < 3; k++) {
            LightPoint point;
            corner_point(p, s, k, &point);
            for (int set = 0; set < p->sets; set++)
                light_shade(&p->set[set], &point,
                            p->lit + (((size_t)set * p->sources + s) * 3 + (size_t)k) * RASTER_LIT);
        }
    return true;
}

// ---- gradient

// Per corner: dLoss/d(normal before scaling, albedo, point); per block: of lights, harmonics and the eye.
typedef struct LightBack {
    const Prepared *p;
    const double *lit_grad;
    double *corner; // (sources,3,9)
    double *block;  // (blocks,row)
    size_t row;
} LightBack;

static size_t lights_of(const Prepared *p) {
    size_t count = 0;
    for (int set = 0; set < p->sets; set++) count += p->set[set].count;
    return count;
}

static void corner_back(const LightBack *b, size_t s, int k, double *block) {
    const Prepared *p = b->p;
    LightPoint point;
    double length = corner_point(p, s, k, &point), *out = b->corner + 9 * (3 * s + (size_t)k);
    LightGradient g = {.light = block, .harmonics = block + 6 * lights_of(p)};
    for (int set = 0; set < p->sets; set++) {
        light_shade_back(&p->set[set], &point,
                         b->lit_grad + (((size_t)set * p->sources + s) * 3 + (size_t)k) * RASTER_LIT, &g);
        g.light += 6 * p->set[set].count;
    }
    memset(out, 0, 3 * sizeof *out);
    light_unit_back(point.normal, length, g.normal, out);
    memcpy(out + 3, g.albedo, sizeof g.albedo);
    memcpy(out + 6, g.point, sizeof g.point);
    for (int i = 0; i < 3; i++) g.harmonics[27 + i] += g.eye[i];
}

static void all_corners_back(const LightBack *b) {
    const Prepared *p = b->p;
    size_t blocks = (p->sources + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (size_t i = 0; i < blocks; i++) {
        double *block = b->block + i * b->row;
        memset(block, 0, b->row * sizeof *block);
        for (size_t s = i * BLOCK; s < p->sources && s < (i + 1) * BLOCK; s++)
            for (int k = 0; k < 3; k++) corner_back(b, s, k, block);
    }
    for (size_t i = 1; i < blocks; i++)
        for (size_t j = 0; j < b->row; j++) b->block[j] += b->block[i * b->row + j];
}

// Points and normals of corners to vertices.
static bool scatter_world(const LightBack *b, double *world, Arena *memory) {
    const Prepared *p = b->p;
    double *normal = arena_array(memory, 3 * p->vertices, sizeof *normal);
    if (!normal) return false;
    memset(normal, 0, 3 * p->vertices * sizeof *normal);
    for (size_t s = 0; s < p->sources; s++) {
        const double *corner = b->corner + 27 * s;
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++) {
                world[3 * (size_t)p->vertex[3 * s + k] + i] += corner[9 * k + 6 + i];
                normal[3 * (size_t)p->vertex[3 * s + k] + i] += corner[9 * k + i];
            }
    }
    for (size_t s = 0; s < p->sources; s++) {
        const double *corner = b->corner + 27 * s;
        double g[3];
        for (size_t i = 0; i < 3; i++)
            g[i] = mesh_of(p, s)->smooth
                       ? normal[3 * (size_t)p->vertex[3 * s] + i] + normal[3 * (size_t)p->vertex[3 * s + 1] + i] +
                             normal[3 * (size_t)p->vertex[3 * s + 2] + i]
                       : corner[i] + corner[9 + i] + corner[18 + i];
        face_normal_back(p, s, g, world);
    }
    return true;
}

static void write_colours(const LightBack *b, RasterGradient *gradient) {
    const Prepared *p = b->p;
    size_t vertex = 0, source = 0;
    for (size_t m = 0; m < p->scene->meshes; m++) {
        const RasterMesh *mesh = &p->scene->mesh[m];
        double *colour = gradient->mesh ? gradient->mesh[m].colour : NULL;
        if (colour) memset(colour, 0, 3 * mesh->vertices * sizeof *colour);
        for (size_t s = source; colour && s < source + mesh->faces; s++)
            for (size_t k = 0; k < 9; k++)
                colour[3 * ((size_t)p->vertex[3 * s + k / 3] - vertex) + k % 3] +=
                    b->corner[27 * s + 9 * (k / 3) + 3 + k % 3];
        vertex += mesh->vertices;
        source += mesh->faces;
    }
}

static void write_lights(const LightBack *b, RasterGradient *gradient) {
    const Prepared *p = b->p;
    const double *sum = b->block, *harmonics = sum + 6 * lights_of(p);
    if (gradient->light) memset(gradient->light, 0, p->scene->lights * sizeof *gradient->light);
    for (int set = 0; set < p->sets; set++)
        for (size_t k = 0; k < p->set[set].count; k++, sum += 6)
            if (gradient->light)
                memcpy(&gradient->light[set ? p->first_light[set] : p->steady_index[k]], sum, 6 * sizeof *sum);
    if (gradient->harmonics) memcpy(gradient->harmonics, harmonics, 27 * sizeof *harmonics);
    for (int i = 0; i < 3; i++) gradient->pose[i] += harmonics[27 + i];
}

bool raster_light_back(const Prepared *p, const double *lit_grad, RasterGradient *gradient, double *world,
                       Arena *memory) {
    LightBack b = {.p = p, .lit_grad = lit_grad, .row = 6 * lights_of(p) + 30};
    size_t blocks = (p->sources + BLOCK - 1) / BLOCK + 1; // one without faces
    b.corner = arena_array(memory, 27 * p->sources, sizeof *b.corner);
    b.block = arena_array(memory, blocks * b.row, sizeof *b.block);
    if (!b.corner || !b.block) return false;
    memset(b.block, 0, b.row * sizeof *b.block);
    all_corners_back(&b);
    write_colours(&b, gradient);
    write_lights(&b, gradient);
    return scatter_world(&b, world, memory);
}
