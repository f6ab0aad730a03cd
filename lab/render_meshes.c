// SPDX-License-Identifier: Apache-2.0
#include "lab/render_meshes.h"

#include "base/vector.h"
#include "lab/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 6, OCTAHEDRON = 8, RIBBONS = 12 }; // vertices and faces of a particle, faces of a spring
enum { TILES = 28, TEXELS = 4, SIDE = TILES * TEXELS };
#define REACH 7.0 // half side of a plane, in radii of the scene

static bool has_faces(const SceneObject *object) { return object->faces > 0; }
static size_t vertices_of(const SceneObject *o) { return has_faces(o) ? o->particles : CORNERS * o->particles; }
static size_t faces_of(const SceneObject *o) {
    return has_faces(o) ? o->faces : OCTAHEDRON * o->particles + RIBBONS * o->springs;
}

// ---- springs: corner 2 a + s of a particle lies along axis a, on side s

static double spring_radius(const SimScene *scene, const SceneObject *object) {
    double sum = 0;
    for (size_t i = 0; i < object->springs; i++) sum += scene->values.of[SIM_SPRING_LENGTH][object->spring + i];
    return object->springs ? 0.12 * sum / (double)object->springs : 0.02;
}

static int32_t *add_octahedron(int32_t *face, int32_t first) {
    for (int i = 0; i < OCTAHEDRON; i++) {
        const int x = i & 1, y = i >> 1 & 1, z = i >> 2, odd = x ^ y ^ z;
        const int32_t corner[3] = {first + x, first + 2 + y, first + 4 + z};
        *face++ = corner[0], *face++ = corner[odd ? 1 : 2], *face++ = corner[odd ? 2 : 1];
    }
    return face;
}

// Both sides of a ribbon along each axis, so that its normals cancel and corners keep those of the octahedra.
static int32_t *add_ribbons(int32_t *face, int32_t a, int32_t b) {
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t p = a + 2 * axis, q = b + 2 * axis;
        const int32_t corners[12] = {p, p + 1, q + 1, p, q + 1, q, p, q + 1, p + 1, p, q, q + 1};
        memcpy(face, corners, sizeof corners);
        face += 12;
    }
    return face;
}

static void make_springs(const SimScene *scene, const SceneObject *object, int32_t *face) {
    const int32_t first = (int32_t)object->particle;
    for (size_t i = 0; i < object->particles; i++) face = add_octahedron(face, (int32_t)(CORNERS * i));
    for (size_t i = object->spring; i < object->spring + object->springs; i++)
        face = add_ribbons(face, CORNERS * (scene->model.spring[2 * i] - first),
                           CORNERS * (scene->model.spring[2 * i + 1] - first));
}

// ---- planes: squares with a pattern that fades into the background

typedef struct Square {
    double centre[3], side[2][3]; // from the centre to the middle of two sides
    double radius;
} Square;

static Square make_square(const SimScene *scene, const SimPlane *plane) {
    const double *box = scene->picture.box, length = sqrt(vector_dot(plane->normal, plane->normal));
    double n[3], middle[3], square = 0;
    Square out = {.radius = 0};
    for (int c = 0; c < 3; c++) {
        n[c] = plane->normal[c] / length;
        middle[c] = 0.5 * (box[c] + box[3 + c]);
        square += 0.25 * (box[3 + c] - box[c]) * (box[3 + c] - box[c]);
    }
    out.radius = REACH * fmax(sqrt(square), 1e-3);
    const double above = vector_dot(n, middle) - plane->offset;
    const double axis[3] = {fabs(n[0]) < 0.7, 0, fabs(n[0]) >= 0.7};
    double across[3], along[3];
    vector_cross(n, axis, across);
    const double unit = 1 / sqrt(vector_dot(across, across));
    for (int c = 0; c < 3; c++) across[c] *= unit;
    vector_cross(across, n, along);
    for (int c = 0; c < 3; c++) {
        out.centre[c] = middle[c] - above * n[c];
        out.side[0][c] = out.radius * along[c];
        out.side[1][c] = out.radius * across[c];
    }
    return out;
}

static double smooth_step(double low, double high, double x) {
    double t = fmin(fmax((x - low) / (high - low), 0), 1);
    return t * t * (3 - 2 * t);
}

// Light that falls on the plane without shadows.
static double light_on(const ScenePicture *p, const SimPlane *plane, int channel) {
    const double length = sqrt(vector_dot(plane->normal, plane->normal));
    double sum = p->ambient;
    for (size_t i = 0; i < p->lights; i++) {
        const double *d = p->light[i].direction;
        const double facing = vector_dot(plane->normal, d) / (length * sqrt(vector_dot(d, d)));
        sum += p->light[i].colour[channel] * fmax(0, facing);
    }
    return sum;
}

static void paint(const ScenePicture *p, const SimPlane *plane, double *texel) {
    for (int c = 0; c < 3; c++) {
        const double light = fmax(light_on(p, plane, c), 0.05);
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int row = i / SIDE, column = i % SIDE;
            const double x = (column + 0.5) / SIDE * 2 - 1, y = (row + 0.5) / SIDE * 2 - 1;
            const double fade = smooth_step(0.15, 0.8, sqrt(x * x + y * y));
            const double tile = (row / TEXELS + column / TEXELS) % 2 ? 0.78 : 0.9;
            texel[3 * i + c] = (1 - fade) * tile + fade * p->background[c] / light;
        }
    }
}

static void make_plane(const SimScene *scene, size_t number, RenderMeshes *out, double *position, int32_t *face) {
    static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    static const int32_t triangles[6] = {0, 1, 2, 0, 2, 3};
    const SimPlane *plane = scene->model.plane + number;
    const Square square = make_square(scene, plane);
    double *uv = out->uv + 12 * number, *texel = out->texel + 3 * (size_t)(SIDE * SIDE) * number;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++)
            position[3 * i + c] =
                square.centre[c] + corner[i][0] * square.side[0][c] + corner[i][1] * square.side[1][c];
    memcpy(face, triangles, sizeof triangles);
    for (int i = 0; i < 12; i++) uv[i] = 0.5 + 0.5 * corner[triangles[i / 2]][i % 2];
    paint(&scene->picture, plane, texel);
    out->mesh[scene->object_count + number] = (RasterMesh){.vertices = 4,
                                                           .faces = 2,
                                                           .position = position,
                                                           .face = face,
                                                           .texel = texel,
                                                           .uv = uv,
                                                           .texture_H = SIDE,
                                                           .texture_W = SIDE};
}

// ---- all of them

static void make_object(const SimScene *scene, size_t number, size_t vertex, int32_t *face, RenderMeshes *out) {
    const SceneObject *object = scene->objects + number;
    if (has_faces(object)) memcpy(face, scene->face + 3 * object->face, 3 * object->faces * sizeof *face);
    else make_springs(scene, object, face);
    out->first[number] = vertex;
    out->mesh[number] = (RasterMesh){.vertices = vertices_of(object),
                                     .faces = faces_of(object),
                                     .position = out->position + 3 * vertex,
                                     .colour = out->colour + 3 * vertex,
                                     .face = face,
                                     .smooth = object->smooth};
}

bool render_meshes_make(const SimScene *scene, RenderMeshes *out) {
    const size_t planes = scene->picture.planes ? scene->model.planes : 0;
    size_t vertices = 0, faces = 0, vertex = 0, face = 0;
    bool good = true;
    for (size_t i = 0; i < scene->object_count; i++) {
        vertices += vertices_of(scene->objects + i);
        faces += faces_of(scene->objects + i);
    }
    *out = (RenderMeshes){.count = scene->object_count + planes};
    out->mesh = allocate(out->count, sizeof *out->mesh, &good);
    out->first = allocate(scene->object_count, sizeof *out->first, &good);
    out->position = allocate(vertices + 4 * planes, 3 * sizeof(double), &good);
    out->colour = allocate(vertices, 3 * sizeof(double), &good);
    out->position_gradient = allocate(vertices, 3 * sizeof(double), &good);
    out->colour_gradient = allocate(vertices, 3 * sizeof(double), &good);
    out->face = allocate(faces + 2 * planes, 3 * sizeof *out->face, &good);
    out->uv = allocate(planes, 12 * sizeof(double), &good);
    out->texel = allocate(planes, 3 * SIDE * SIDE * sizeof(double), &good);
    for (size_t i = 0; i < scene->object_count && good; i++) {
        make_object(scene, i, vertex, out->face + 3 * face, out);
        vertex += vertices_of(scene->objects + i);
        face += faces_of(scene->objects + i);
    }
    for (size_t i = 0; i < planes && good; i++)
        make_plane(scene, i, out, out->position + 3 * (vertices + 4 * i), out->face + 3 * (faces + 2 * i));
    return good;
}

void render_meshes_free(RenderMeshes *m) {
    void *const arrays[] = {m->mesh, m->first, m->position, m->colour, m->position_gradient, m->colour_gradient,
                            m->face, m->uv,    m->texel};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    *m = (RenderMeshes){0};
}

void render_meshes_move(const SimScene *scene, const double *particles, const double *colour, RenderMeshes *meshes) {
    for (size_t o = 0; o < scene->object_count; o++) {
        const SceneObject *object = scene->objects + o;
        const double *x = particles + 3 * object->particle, radius = spring_radius(scene, object);
        double *to = meshes->position + 3 * meshes->first[o], *paint = meshes->colour + 3 * meshes->first[o];
        const size_t vertices = vertices_of(object);
        for (size_t v = 0; v < 3 * vertices; v++) paint[v] = colour[3 * o + v % 3];
        if (has_faces(object)) memcpy(to, x, 3 * vertices * sizeof *to);
        for (size_t v = 0; v < vertices && !has_faces(object); v++) {
            for (size_t c = 0; c < 3; c++) to[3 * v + c] = x[3 * (v / CORNERS) + c];
            to[3 * v + v % CORNERS / 2] += v % 2 ? radius : -radius;
        }
    }
}

void render_meshes_back(const SimScene *scene, const RenderMeshes *meshes, double *particles) {
    for (size_t o = 0; o < scene->object_count; o++) {
        const SceneObject *object = scene->objects + o;
        const double *from = meshes->position_gradient + 3 * meshes->first[o];
        const size_t vertices = vertices_of(object), share = has_faces(object) ? 1 : CORNERS;
        double *to = particles + 3 * object->particle;
        for (size_t v = 0; v < vertices; v++)
            for (size_t c = 0; c < 3; c++) to[3 * (v / share) + c] += from[3 * v + c];
    }
}
