// SPDX-License-Identifier: Apache-2.0
#include "raster/prepare.h"

#include <math.h>
#include <string.h>

#define FLAT                                                                                                           \
    1e-5 // faces whose area on the screen is at most this share of the square of their longest edge are dropped

// ---- the scene as one mesh

static bool gather_scene(Prepared *p, Arena *memory) {
    const RasterScene *scene = p->scene;
    for (size_t m = 0; m < scene->meshes; m++)
        p->vertices += scene->mesh[m].vertices, p->sources += scene->mesh[m].faces;
    p->world = arena_array(memory, 3 * p->vertices, sizeof *p->world);
    p->seen = arena_array(memory, 3 * p->vertices, sizeof *p->seen);
    p->normal = arena_array(memory, 3 * p->vertices, sizeof *p->normal);
    p->vertex = arena_array(memory, 3 * p->sources, sizeof *p->vertex);
    p->mesh = arena_array(memory, p->sources, sizeof *p->mesh);
    if (!p->world || !p->seen || !p->normal || !p->vertex || !p->mesh) return false;
    size_t vertex = 0, source = 0;
    for (size_t m = 0; m < scene->meshes; m++) {
        const RasterMesh *mesh = &scene->mesh[m];
        if (mesh->vertices) memcpy(p->world + 3 * vertex, mesh->position, 3 * mesh->vertices * sizeof *p->world);
        for (size_t i = 0; i < 3 * mesh->faces; i++) p->vertex[3 * source + i] = mesh->face[i] + (int32_t)vertex;
        for (size_t i = 0; i < mesh->faces; i++) p->mesh[source + i] = (int32_t)m;
        vertex += mesh->vertices;
        source += mesh->faces;
    }
    return true;
}

static void to_camera(Prepared *p) {
    const double *pose = p->camera->world_from_camera, *R = p->rotation;
    for (int i = 0; i < 9; i++) p->rotation[i] = pose[i / 3 * 4 + i % 3];
    for (int i = 0; i < 3; i++) p->eye[i] = pose[4 * i + 3];
    for (size_t v = 0; v < p->vertices; v++) {
        const double *x = p->world + 3 * v;
        double d[3] = {x[0] - p->eye[0], x[1] - p->eye[1], x[2] - p->eye[2]};
        for (int i = 0; i < 3; i++) p->seen[3 * v + (size_t)i] = R[i] * d[0] + R[3 + i] * d[1] + R[6 + i] * d[2];
    }
}

// x_camera = R^T (x - t), R' = exp(turn) R: dt = -R g, turn = -(x - t) x R g.
static void to_camera_back(const Prepared *p, const double *seen, double *world, double pose[6]) {
    const double *R = p->rotation;
    for (size_t v = 0; v < p->vertices; v++) {
        double g[3], d[3];
        for (size_t i = 0; i < 3; i++) {
            g[i] = R[3 * i] * seen[3 * v] + R[3 * i + 1] * seen[3 * v + 1] + R[3 * i + 2] * seen[3 * v + 2];
            d[i] = p->world[3 * v + i] - p->eye[i];
            world[3 * v + i] += g[i];
            pose[i] -= g[i];
        }
        for (size_t i = 0; i < 3; i++) {
            size_t j = (i + 1) % 3, k = (i + 2) % 3;
            pose[3 + i] -= d[j] * g[k] - d[k] * g[j];
        }
    }
}

// ---- lights

static bool share_lights(Prepared *p, bool shadows, Arena *memory) {
    const RasterScene *scene = p->scene;
    p->steady = arena_array(memory, scene->lights, sizeof *p->steady);
    p->steady_index = arena_array(memory, scene->lights, sizeof *p->steady_index);
    if (!p->steady || !p->steady_index) return false;
    p->sets = 1;
    p->set[0] =
        (LightSet){.light = p->steady, .harmonics = scene->harmonics, .plain = scene->lights == 0 && !scene->harmonics};
    for (size_t k = 0; k < scene->lights; k++)
        if (shadows && scene->light[k].shadow) {
            p->first_light[p->sets] = k;
            p->set[p->sets++] = (LightSet){.light = scene->light + k, .count = 1};
        } else {
            p->steady[p->set[0].count] = scene->light[k];
            p->steady_index[p->set[0].count++] = k;
        }
    return true;
}

// ---- the near plane

static double cut_at(const double z[3], int a, int b, double near) { return (near - z[a]) / (z[b] - z[a]); }

// The part of a face in front of the near plane, as one or two triangles: returns their number.
static int clip(const double z[3], double near, RasterCorner out[2][3]) {
    RasterCorner polygon[4];
    int count = 0;
    for (int8_t a = 0; a < 3; a++) {
        int8_t b = (int8_t)((a + 1) % 3);
        if (z[a] >= near) polygon[count++] = (RasterCorner){a, a, 0};
        if ((z[a] >= near) != (z[b] >= near)) polygon[count++] = (RasterCorner){a, b, cut_at(z, a, b, near)};
    }
    for (int i = 0; i + 2 < count; i++) out[i][0] = polygon[0], out[i][1] = polygon[i + 1], out[i][2] = polygon[i + 2];
    return count < 3 ? 0 : count - 2;
}

// ---- projection

static void corner_seen(const Prepared *p, size_t source, const RasterCorner *c, double out[3]) {
    const double *a = p->seen + 3 * p->vertex[3 * source + (size_t)c->a],
                 *b = p->seen + 3 * p->vertex[3 * source + (size_t)c->b];
    for (int i = 0; i < 3; i++) out[i] = a[i] + c->t * (b[i] - a[i]);
}

static double ndc_per_pixel(const RasterCamera *camera) {
    return 2.0 / (camera->H < camera->W ? camera->H : camera->W);
}

static void project(const RasterCamera *camera, const double seen[3], double place[3]) {
    const double *K = camera->K, r = 1 / seen[2], s = ndc_per_pixel(camera);
    place[0] = s * ((K[0] * seen[0] + K[1] * seen[1]) * r + K[2] - 0.5 * camera->W);
    place[1] = s * ((K[3] * seen[0] + K[4] * seen[1]) * r + K[5] - 0.5 * camera->H);
    place[2] = r;
}

static void project_back(const RasterCamera *camera, const double seen[3], const double place[3], const double g[3],
                         double out[3]) {
    const double *K = camera->K, r = place[2], s = ndc_per_pixel(camera);
    double gr = g[2] + s * (g[0] * (K[0] * seen[0] + K[1] * seen[1]) + g[1] * (K[3] * seen[0] + K[4] * seen[1]));
    out[0] = s * r * (g[0] * K[0] + g[1] * K[3]);
    out[1] = s * r * (g[0] * K[1] + g[1] * K[4]);
    out[2] = -r * r * gr;
}

static bool has_area(const double p[9]) {
    double area = (p[3] - p[0]) * (p[7] - p[1]) - (p[6] - p[0]) * (p[4] - p[1]), longest = 0;
    for (int e = 0; e < 3; e++) {
        int b = (e + 1) % 3;
        longest = fmax(longest, (p[3 * b] - p[3 * e]) * (p[3 * b] - p[3 * e]) +
                                    (p[3 * b + 1] - p[3 * e + 1]) * (p[3 * b + 1] - p[3 * e + 1]));
    }
    return fabs(area) > FLAT * longest && isfinite(area);
}

// The attributes of set `set` at corner k of the scene's face: 3 without a texture, else factor, addend, u, v.
static void source_attribute(const Prepared *p, size_t source, int set, int k, double out[RASTER_ATTRIBUTES]) {
    const RasterMesh *mesh = &p->scene->mesh[p->mesh[source]];
    const double *lit = p->lit + (((size_t)set * p->sources + source) * 3 + (size_t)k) * RASTER_LIT;
    memset(out, 0, RASTER_ATTRIBUTES * sizeof *out);
    if (!mesh->texel) {
        for (int c = 0; c < 3; c++) out[c] = lit[c] + lit[3 + c];
        return;
    }
    size_t first = source; // number of the face in its mesh
    for (const RasterMesh *m = p->scene->mesh; m < mesh; m++) first -= m->faces;
    memcpy(out, lit, RASTER_LIT * sizeof *out);
    for (size_t i = 0; i < 2; i++) out[6 + i] = set ? 0 : mesh->uv[6 * first + 2 * (size_t)k + i];
}

static void draw_attributes(const Prepared *p, size_t f, double *attribute) {
    size_t A = (size_t)p->faces.attributes;
    for (int set = 0; set < p->sets; set++) {
        double at[3][RASTER_ATTRIBUTES];
        for (int k = 0; k < 3; k++) source_attribute(p, (size_t)p->source[f], set, k, at[k]);
        for (size_t k = 0; k < 3; k++) {
            const RasterCorner *c = &p->corner[3 * f + k];
            for (size_t i = 0; i < A; i++)
                attribute[(((size_t)set * p->faces.count + f) * 3 + k) * A + i] =
                    at[c->a][i] + c->t * (at[c->b][i] - at[c->a][i]);
        }
    }
}

// Faces in front of the camera, on the screen.
static void draw_places(Prepared *p, double *place, int32_t *texture) {
    size_t count = 0;
    for (size_t s = 0; s < p->sources; s++) {
        RasterCorner parts[2][3];
        double z[3];
        for (size_t k = 0; k < 3; k++) z[k] = p->seen[3 * p->vertex[3 * s + k] + 2];
        int found = fmin(fmin(z[0], z[1]), z[2]) > p->camera->far ? 0 : clip(z, p->camera->near, parts);
        for (int i = 0; i < found; i++) {
            for (size_t k = 0; k < 3; k++) {
                double seen[3];
                corner_seen(p, s, &parts[i][k], seen);
                project(p->camera, seen, place + 9 * count + 3 * k);
            }
            if (!has_area(place + 9 * count)) continue;
            memcpy(p->corner + 3 * count, parts[i], sizeof parts[i]);
            p->source[count] = (int32_t)s;
            texture[count++] = p->scene->mesh[p->mesh[s]].texel ? p->mesh[s] : -1;
        }
    }
    p->faces.count = count;
}

static bool draw_faces(Prepared *p, Arena *memory) {
    size_t most = 0; // a face that crosses the near plane may become two
    p->faces.attributes = 3;
    for (size_t s = 0; s < p->sources; s++) {
        RasterCorner parts[2][3];
        double z[3];
        for (size_t k = 0; k < 3; k++) z[k] = p->seen[3 * p->vertex[3 * s + k] + 2];
        most += (size_t)clip(z, p->camera->near, parts);
    }
    for (size_t m = 0; m < p->scene->meshes; m++)
        if (p->scene->mesh[m].texel) p->faces.attributes = RASTER_ATTRIBUTES;
    double *place = arena_array(memory, 9 * (most + 1), sizeof *place);
    int32_t *texture = arena_array(memory, most + 1, sizeof *texture);
    RasterTexture *textures = arena_array(memory, p->scene->meshes, sizeof *textures);
    p->source = arena_array(memory, most, sizeof *p->source);
    p->corner = arena_array(memory, 3 * most, sizeof *p->corner);
    if (!place || !texture || !textures || !p->source || !p->corner) return false;
    for (size_t m = 0; m < p->scene->meshes; m++)
        textures[m] =
            (RasterTexture){p->scene->mesh[m].texel, p->scene->mesh[m].texture_H, p->scene->mesh[m].texture_W};
    draw_places(p, place, texture);
    size_t values = (size_t)p->sets * 3 * (size_t)p->faces.attributes;
    double *attribute = arena_array(memory, p->faces.count, values * sizeof *attribute);
    if (!attribute) return false;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (size_t f = 0; f < p->faces.count; f++) draw_attributes(p, f, attribute);
    p->faces.place = place, p->faces.attribute = attribute, p->faces.texture = texture, p->faces.textures = textures;
    return true;
}

bool raster_prepare(Prepared *out, const RasterScene *scene, const RasterCamera *camera, bool shadows, int threads,
                    struct RasterOnDevice *device, Arena *memory) {
    *out = (Prepared){.scene = scene, .camera = camera, .threads = threads, .device = device};
    if (!gather_scene(out, memory) || !share_lights(out, shadows, memory)) return false;
    to_camera(out);
    return raster_light(out, memory) && draw_faces(out, memory);
}

// ---- gradient

// A point a + t (b - a) with t = (near - z_a)/(z_b - z_a): gt is dLoss/dt.
static void clip_back(const Prepared *p, size_t source, const RasterCorner *c, double gt, double *seen) {
    if (c->a == c->b) return;
    size_t a = (size_t)p->vertex[3 * source + (size_t)c->a], b = (size_t)p->vertex[3 * source + (size_t)c->b];
    double span = p->seen[3 * b + 2] - p->seen[3 * a + 2];
    seen[3 * a + 2] += gt * (c->t - 1) / span;
    seen[3 * b + 2] -= gt * c->t / span;
}

static double place_back(const Prepared *p, size_t f, size_t k, const double *g, double *seen) {
    size_t source = (size_t)p->source[f];
    const RasterCorner *c = &p->corner[3 * f + k];
    size_t a = (size_t)p->vertex[3 * source + (size_t)c->a], b = (size_t)p->vertex[3 * source + (size_t)c->b];
    double at[3], g_at[3], gt = 0;
    corner_seen(p, source, c, at);
    project_back(p->camera, at, p->faces.place + 9 * f + 3 * k, g, g_at);
    for (size_t i = 0; i < 3; i++) {
        seen[3 * a + i] += (1 - c->t) * g_at[i];
        seen[3 * b + i] += c->t * g_at[i];
        gt += g_at[i] * (p->seen[3 * b + i] - p->seen[3 * a + i]);
    }
    return gt;
}

static double attribute_back(const Prepared *p, size_t f, size_t k, int set, const double *g, double *lit_grad) {
    size_t source = (size_t)p->source[f];
    const RasterCorner *c = &p->corner[3 * f + k];
    double a[RASTER_ATTRIBUTES], b[RASTER_ATTRIBUTES], gt = 0;
    source_attribute(p, source, set, c->a, a);
    source_attribute(p, source, set, c->b, b);
    for (int i = 0; i < p->faces.attributes; i++) gt += g[i] * (b[i] - a[i]);
    double *row = lit_grad + ((size_t)set * p->sources + source) * 3 * RASTER_LIT;
    for (int i = 0; i < RASTER_LIT; i++) {
        double one = g[p->faces.texture[f] < 0 ? i % 3 : i];
        row[RASTER_LIT * c->a + i] += (1 - c->t) * one;
        row[RASTER_LIT * c->b + i] += c->t * one;
    }
    return gt;
}

static void faces_back(const Prepared *p, const double *face_grad, double *seen, double *lit_grad) {
    size_t row = prepared_row(p), A = (size_t)p->faces.attributes;
    for (size_t f = 0; f < p->faces.count; f++)
        for (size_t k = 0; k < 3; k++) {
            const double *g = face_grad + f * row;
            double gt = place_back(p, f, k, g + 3 * k, seen);
            for (int set = 0; set < p->sets; set++)
                gt += attribute_back(p, f, k, set, g + RASTER_PLACE + (3 * (size_t)set + k) * A, lit_grad);
            clip_back(p, (size_t)p->source[f], &p->corner[3 * f + k], gt, seen);
        }
}

bool raster_prepare_back(const Prepared *p, const double *face_grad, RasterGradient *gradient, Arena *memory) {
    size_t lit = (size_t)p->sets * p->sources * 3 * RASTER_LIT;
    double *seen = arena_array(memory, 3 * p->vertices, sizeof *seen);
    double *world = arena_array(memory, 3 * p->vertices, sizeof *world);
    double *lit_grad = arena_array(memory, lit, sizeof *lit_grad);
    if (!seen || !world || !lit_grad) return false;
    memset(seen, 0, 3 * p->vertices * sizeof *seen);
    memset(world, 0, 3 * p->vertices * sizeof *world);
    memset(lit_grad, 0, lit * sizeof *lit_grad);
    memset(gradient->pose, 0, sizeof gradient->pose);
    faces_back(p, face_grad, seen, lit_grad);
    if (!raster_light_back(p, lit_grad, gradient, world, memory)) return false;
    to_camera_back(p, seen, world, gradient->pose);
    const double *from = world;
    for (size_t m = 0; m < p->scene->meshes; from += 3 * p->scene->mesh[m++].vertices)
        if (gradient->mesh && gradient->mesh[m].position)
            memcpy(gradient->mesh[m].position, from, 3 * p->scene->mesh[m].vertices * sizeof *from);
    return true;
}
