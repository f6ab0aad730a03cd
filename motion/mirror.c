// SPDX-License-Identifier: Apache-2.0
#include "motion/mirror.h"

#include "base/vector.h"
#include "motion/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_PIXELS = 8, FEWEST_VIEWS = 2 };
static const double BEFORE = 0.05;   // times X: what is so much nearer beside a body hides a part of its silhouette
static const double MEETS = 0.01;    // times X: how far the rays of a body may pass from its middle
static const double ACROSS = 0.01;   // least determinant of the mean of 1 - d d' over rays along d: not all alike
static const double THROUGH = 0.01;  // times X: an image so far in front of what is seen there is refuted,
static const double NOISES = 3;      // or so many times the noise of depth
static const double REFUTED = 0.125; // share of a body's images that may be

// The last frame.
typedef struct Frame {
    Views views;
    const int32_t *body;
    double extent;
    const float *depth; // (V,H,W)
} Frame;

// A body in a view.
typedef struct Silhouette {
    double ray[3]; // sum of unit vectors from the eye, then their mean direction
    size_t pixels;
    bool cut; // by the picture's edge, or by something nearer
} Silhouette;

typedef struct Middle {
    bool found;
    double x[3]; // metres
} Middle;

// ---- silhouettes

// From the eye of view v; returns the distance.
static double look_at(const Frame *f, size_t v, size_t point, double ray[3]) {
    for (size_t c = 0; c < 3; c++) ray[c] = (double)f->views.now->position[3 * point + c] - f->views.eye[3 * v + c];
    double length = sqrt(vector_dot(ray, ray));
    for (int c = 0; c < 3; c++) ray[c] /= length;
    return length;
}

// Whether the point of a pixel beside one of a body is in front of it, at this distance from the eye.
static bool hides(const Frame *f, size_t v, int32_t point, int32_t body, double distance) {
    double ray[3];
    if (point < 0 || f->body[point] == body) return false;
    return look_at(f, v, (size_t)point, ray) < distance - BEFORE * f->extent;
}

static void add_pixel(const Frame *f, size_t point, Silhouette *of) {
    int32_t pixel = f->views.now->pixel[point], W = f->views.o->W;
    size_t v = views_of(&f->views, point);
    Silhouette *s = of + (size_t)f->body[point] * (size_t)f->views.o->V + v;
    double ray[3], distance = look_at(f, v, point, ray);
    for (int c = 0; c < 3; c++) s->ray[c] += ray[c];
    s->pixels++;
    s->cut = s->cut || !views_inner(&f->views, (size_t)pixel);
    for (int k = 0; k < 9 && !s->cut; k++)
        s->cut = hides(f, v, f->views.at[pixel + (k / 3 - 1) * W + k % 3 - 1], f->body[point], distance);
}

// ---- middles

// The point nearest to the rays of some views; returns the determinant of the mean of 1 - d d'.
static double meet(const Frame *f, const Silhouette *of, double out[3]) {
    double a[3][3] = {{0}}, b[3] = {0}, cross[3], count = 1e-300;
    for (size_t v = 0; v < (size_t)f->views.o->V; v++) {
        const double *eye = f->views.eye + 3 * v, *ray = of[v].ray;
        double along = vector_dot(ray, eye);
        for (int k = 0; k < 9 && !of[v].cut; k++) a[k / 3][k % 3] += (k % 4 == 0) - ray[k / 3] * ray[k % 3];
        for (int c = 0; c < 3 && !of[v].cut; c++) b[c] += eye[c] - along * ray[c];
        count += !of[v].cut;
    }
    vector_cross(a[1], a[2], cross); // rows are columns, because the matrix is symmetric
    double determinant = vector_dot(a[0], cross);
    for (int c = 0; c < 3; c++) {
        vector_cross(a[(c + 1) % 3], a[(c + 2) % 3], cross);
        out[c] = vector_dot(b, cross) / determinant;
    }
    return determinant / (count * count * count);
}

// How far the ray of view v passes from x.
static double miss(const Frame *f, const Silhouette *of, size_t v, const double x[3]) {
    double to[3], across[3];
    for (size_t c = 0; c < 3; c++) to[c] = x[c] - f->views.eye[3 * v + c];
    vector_cross(to, of[v].ray, across);
    return sqrt(vector_dot(across, across));
}

// Where the rays of whole silhouettes meet. The one that passes farthest is cut, until all pass near.
static Middle find_middle(const Frame *f, Silhouette *of) {
    Middle out = {0};
    size_t V = (size_t)f->views.o->V, views = 0;
    for (size_t v = 0; v < V; v++) {
        double length = sqrt(vector_dot(of[v].ray, of[v].ray));
        for (int c = 0; c < 3 && length > 0; c++) of[v].ray[c] /= length;
        of[v].cut = of[v].cut || of[v].pixels < FEWEST_PIXELS;
        views += !of[v].cut;
    }
    for (; views >= FEWEST_VIEWS && meet(f, of, out.x) > ACROSS; views--) {
        double farthest = -1;
        size_t worst = 0;
        for (size_t v = 0; v < V; v++) {
            double distance = of[v].cut ? -1 : miss(f, of, v, out.x);
            if (distance > farthest) farthest = distance, worst = v;
        }
        out.found = farthest <= MEETS * f->extent;
        if (out.found) break;
        of[worst].cut = true;
    }
    return out;
}

// ---- images

// Whether all that view v shows around x is behind it. Around: the pixel and those beside it, as rims have no pixel of
// their own.
static bool sees_through(const Frame *f, size_t v, const double x[3]) {
    size_t pixel, W = (size_t)f->views.o->W;
    double z = views_project(&f->views, v, x, &pixel),
           margin = fmax(THROUGH * f->extent, NOISES * f->views.now->noise * z * z);
    if (!(z > 0) || !views_inner(&f->views, pixel)) return false;
    for (size_t k = 0; k < 9; k++)
        if (!((double)f->depth[pixel + (k / 3) * W + k % 3 - W - 1] - z > margin)) return false;
    return true;
}

static bool is_refuted(const Frame *f, const double x[3]) {
    for (size_t v = 0; v < (size_t)f->views.o->V; v++)
        if (sees_through(f, v, x)) return true;
    return false;
}

static void mirror_point(const MotionField *field, const Middle *middle, size_t i, double out[3]) {
    for (size_t c = 0; c < 3; c++) out[c] = 2 * middle->x[c] - (double)field->position[3 * i + c];
}

static bool has_middle(const MotionField *field, const Middle *middle, size_t i) {
    return field->body[i] >= 0 && middle[(size_t)field->body[i]].found;
}

// Bodies whose images are seen through have no middle; stays[i]: the image of point i does. Returns their number.
static size_t choose_images(const Frame *f, const MotionField *field, size_t bodies, Middle *middle, size_t *of,
                            bool *stays) {
    size_t count = 0, *refuted = of + bodies;
    memset(of, 0, 2 * bodies * sizeof *of);
    for (size_t i = 0; i < field->count; i++) {
        double x[3];
        stays[i] = has_middle(field, middle, i);
        if (!stays[i]) continue;
        mirror_point(field, &middle[(size_t)field->body[i]], i, x);
        stays[i] = !is_refuted(f, x);
        of[(size_t)field->body[i]]++, refuted[(size_t)field->body[i]] += !stays[i];
    }
    for (size_t i = 0; i < field->count; i++) {
        size_t b = stays[i] ? (size_t)field->body[i] : 0;
        stays[i] = stays[i] && (double)refuted[b] <= REFUTED * (double)of[b];
        count += stays[i];
    }
    return count;
}

static Status add_images(const Middle *middle, const bool *stays, size_t images, MotionField *field, Error *err) {
    MotionField all;
    Status status = motion_field_create(field->count + images, &all, err);
    if (status != STATUS_OK) return status;
    motion_field_put(field, &all);
    for (size_t i = 0, to = field->count; i < field->count; i++) {
        double x[3], before[3];
        if (!stays[i]) continue;
        mirror_point(field, &middle[(size_t)field->body[i]], i, x);
        motion_field_before(field, (int)field->body[i], x, before);
        for (size_t c = 0; c < 3; c++) {
            all.position[3 * to + c] = (real)x[c];
            all.motion[3 * to + c] = (real)(x[c] - before[c]);
            all.colour[3 * to + c] = field->colour[3 * i + c];
        }
        memcpy(all.gradient + 9 * to, field->gradient + 9 * i, 9 * sizeof *all.gradient);
        all.body[to] = field->body[i];
        all.mirrored[to++] = 1;
    }
    motion_field_free(field);
    *field = all;
    return STATUS_OK;
}

static Status mirror(const Frame *f, size_t bodies, MotionField *field, Error *err) {
    size_t V = (size_t)f->views.o->V;
    Silhouette *silhouette = calloc(bodies * V, sizeof *silhouette);
    Middle *middle = malloc(bodies * sizeof *middle);
    size_t *of = malloc(2 * bodies * sizeof *of);
    bool *stays = malloc(field->count * sizeof *stays);
    Status status = STATUS_FAILED;
    if (silhouette && middle && of && stays) {
        for (size_t i = 0; i < f->views.now->count; i++)
            if (f->body[i] >= 0) add_pixel(f, i, silhouette);
        for (size_t b = 0; b < bodies; b++) middle[b] = find_middle(f, silhouette + b * V);
        size_t images = choose_images(f, field, bodies, middle, of, stays);
        status = images ? add_images(middle, stays, images, field, err) : STATUS_OK;
    } else {
        error_set(err, status, "out of memory for the silhouettes of %zu bodies", bodies);
    }
    free(silhouette);
    free(middle);
    free(of);
    free(stays);
    return status;
}

Status mirror_add(const Observation *o, const PointCloud *now, const int32_t *body, double extent, MotionField *field,
                  Error *err) {
    int32_t most = -1;
    for (size_t i = 0; i < now->count; i++) most = body[i] > most ? body[i] : most;
    for (size_t i = 0; i < field->count; i++) most = (int32_t)field->body[i] > most ? (int32_t)field->body[i] : most;
    if (most < 0) return STATUS_OK;
    Frame frame = {.body = body, .extent = extent, .depth = o->depth + (size_t)(o->F - 1) * observation_pixels(o)};
    Status status = views_make(o, now, &frame.views, err);
    if (status == STATUS_OK) status = mirror(&frame, (size_t)most + 1, field, err);
    views_free(&frame.views);
    return status;
}
