// SPDX-License-Identifier: Apache-2.0
// Evaluates selections of present particles.
#include "edit/scene.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- by place and look

static bool in_box(const Select *s, const float *p) {
    for (int c = 0; c < 3; c++)
        if (p[c] < s->a[c] || p[c] > s->b[c]) return false;
    return true;
}

static double distance2(const double a[3], const float *p) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += (p[c] - a[c]) * (p[c] - a[c]);
    return sum;
}

// Signed distance from the plane, positive on the side of the normal.
static double side_of(const Select *s, const float *p) {
    double dot = 0, length = 0;
    for (int c = 0; c < 3; c++) {
        dot += (p[c] - s->a[c]) * s->b[c];
        length += s->b[c] * s->b[c];
    }
    return dot / sqrt(length);
}

static bool has_colour(const Select *s, const uint8_t *rgb) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += (rgb[c] - s->a[c]) * (rgb[c] - s->a[c]);
    return sum <= s->size * s->size;
}

static bool meets(const RolloutSet *now, const Select *s, size_t i) {
    const float *p = now->positions + 3 * i;
    switch (s->kind) {
    case SELECT_ALL: return true;
    case SELECT_BOX: return in_box(s, p);
    case SELECT_SPHERE: return distance2(s->a, p) <= s->size * s->size;
    case SELECT_PLANE: return s->has_size ? fabs(side_of(s, p)) <= s->size : side_of(s, p) > 0;
    case SELECT_COLOUR: return has_colour(s, now->colour + 3 * i);
    case SELECT_HEIGHT: return p[2] > s->low && p[2] < s->high;
    case SELECT_MOVING: return (now->moving && now->moving[i]) == s->yes;
    case SELECT_BODY: return now->body[i] == s->id;
    default: return false;
    }
}

static Status take_simple(const EditScene *scene, const Select *s, Mask *mask, Error *err) {
    const RolloutSet *now = scene_now(scene);
    if (s->kind == SELECT_COLOUR && !now->colour)
        return error_set(err, STATUS_BAD_INPUT, "colour: the particles have no colours");
    if (s->kind == SELECT_BODY && !now->body)
        return error_set(err, STATUS_BAD_INPUT, "body: the particles have no bodies; select them by `label`");
    for (size_t i = 0; i < now->N; i++) mask[i] = meets(now, s, i);
    return STATUS_OK;
}

static Status take_label(const EditScene *scene, const Select *s, Mask *mask, Error *err) {
    const RolloutSet *now = scene_now(scene);
    uint8_t *selected = calloc(LABELS, 1);
    Status status = selected ? scene_find_labels(scene, s->name, selected, err) : scene_no_memory(err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++) mask[i] = selected[now->labels[i]];
    free(selected);
    return status;
}

// ---- by shape

static Status take_floor(const EditScene *scene, const Select *s, Mask *mask, Error *err) {
    const RolloutSet *now = scene_now(scene);
    double n[3], offset, within;
    Status status = scene_floor(scene, &s->cluster.plane, n, &offset, &within, err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++) {
        const float *p = now->positions + 3 * i;
        mask[i] = fabs(n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - offset) <= within;
    }
    return status;
}

// Selects the cluster of particle `of`, or the one given by number, or the one of the particle nearest to a point.
static Status take_cluster(const EditScene *scene, const Select *s, long of, Mask *mask, Error *err) {
    const RolloutSet *now = scene_now(scene);
    uint32_t *cluster, count, wanted = s->id > 0 ? (uint32_t)s->id : 0;
    double best = INFINITY;
    Status status = scene_clusters(scene, &s->cluster, NULL, &cluster, &count, err);
    if (status != STATUS_OK) return status;
    if (of >= 0) wanted = cluster[of];
    for (size_t i = 0; of < 0 && s->has_near && i < now->N; i++) {
        double d = cluster[i] ? distance2(s->a, now->positions + 3 * i) : INFINITY;
        if (d < best) best = d, wanted = cluster[i];
    }
    for (size_t i = 0; i < now->N; i++) mask[i] = wanted && cluster[i] == wanted;
    if (of < 0 && !s->has_near && wanted > count)
        status = error_set(err, STATUS_BAD_INPUT, "cluster: expected one of the %u clusters, counted from 1, found %u",
                           count, wanted);
    free(cluster);
    return status;
}

// ---- by a pixel

enum { NO_PARTICLE = -1, LEAST_PIXELS = 1, PIXELS_WITHOUT_RADIUS = 2 };

// Whether the camera sees the particle's disc at the pixel; distance from the pixel and depth.
static bool covers(const double K[9], const double camera_from_world[16], const RolloutSet *now, size_t i,
                   const double at[2], double *away, double *depth) {
    double p[3], xy[2] = {0};
    if (rollout_is_hidden(now, i)) return false;
    for (size_t c = 0; c < 3; c++) p[c] = now->positions[3 * i + c];
    pose_apply(camera_from_world, p, p);
    *depth = camera_project(K, p, xy);
    if (!(*depth > 0)) return false;
    *away = hypot(xy[0] - at[0], xy[1] - at[1]);
    return *away <= (now->radius ? fmax(LEAST_PIXELS, K[0] * now->radius[i] / *depth) : PIXELS_WITHOUT_RADIUS);
}

// Of the particles that cover the pixel and are at most one radius behind the front one, the one nearest to the pixel.
static long front_particle(const EditScene *scene, const Select *s) {
    const RolloutFile *file = scene->file;
    const RolloutSet *now = scene_now(scene);
    const double *K = file->intrinsics + 9 * s->view;
    double inverse[16], away, depth, front = INFINITY, radius = 0, best = INFINITY;
    long found = NO_PARTICLE;
    pose_inverse(file->world_from_camera + 16 * s->view, inverse);
    for (size_t i = 0; i < now->N; i++) {
        if (!covers(K, inverse, now, i, s->pixel, &away, &depth) || !(depth < front)) continue;
        front = depth;
        radius = now->radius ? now->radius[i] : 0.02 * depth;
    }
    for (size_t i = 0; i < now->N; i++)
        if (covers(K, inverse, now, i, s->pixel, &away, &depth) && depth <= front + radius && away < best) {
            best = away;
            found = (long)i;
        }
    return found;
}

static Status take_pixel(const EditScene *scene, const Select *s, Mask *mask, Error *err) {
    const RolloutFile *file = scene->file;
    const RolloutSet *now = scene_now(scene);
    if (s->view >= file->V)
        return error_set(err, STATUS_BAD_INPUT, "pixel: expected one of the %d views, counted from 0, found view %ld",
                         file->V, s->view);
    if (!(s->pixel[0] >= 0 && s->pixel[0] <= file->W && s->pixel[1] >= 0 && s->pixel[1] <= file->H))
        return error_set(err, STATUS_BAD_INPUT,
                         "pixel: expected a point within a picture of %d x %d pixels, found [%g, %g]", file->W, file->H,
                         s->pixel[0], s->pixel[1]);
    memset(mask, 0, now->N);
    long i = front_particle(scene, s);
    if (i == NO_PARTICLE) return STATUS_OK;
    bool labelled = now->labels && now->labels[i];
    int take = s->has_take ? s->take : labelled ? TAKE_LABEL : TAKE_CLUSTER;
    if (take == TAKE_CLUSTER) return take_cluster(scene, s, i, mask, err);
    if (take == TAKE_LABEL && !now->labels)
        return error_set(err, STATUS_BAD_INPUT,
                         "pixel: the particles have no labels; use `take: cluster` or `take: particle`");
    for (size_t j = 0; take == TAKE_LABEL && j < now->N; j++) mask[j] = now->labels[j] == now->labels[i];
    mask[i] = 1;
    return STATUS_OK;
}

// ---- and, or, not

static Status combine(const EditScene *scene, const Select *s, Mask *mask, Error *err) {
    size_t N = scene_now(scene)->N;
    Mask *one = malloc(N + 1);
    Status status = one ? STATUS_OK : scene_no_memory(err);
    memset(mask, s->kind != SELECT_OR, N);
    for (const Select *child = s->child; child && status == STATUS_OK; child = child->next) {
        status = select_evaluate(scene, child, one, err);
        for (size_t i = 0; status == STATUS_OK && i < N; i++)
            mask[i] = s->kind == SELECT_OR ? mask[i] | one[i] : s->kind == SELECT_NOT ? !one[i] : mask[i] & one[i];
    }
    free(one);
    return status;
}

Status select_evaluate(const EditScene *scene, const Select *select, Mask *mask, Error *err) {
    switch (select->kind) {
    case SELECT_LABEL: return take_label(scene, select, mask, err);
    case SELECT_FLOOR: return take_floor(scene, select, mask, err);
    case SELECT_CLUSTER: return take_cluster(scene, select, NO_PARTICLE, mask, err);
    case SELECT_PIXEL: return take_pixel(scene, select, mask, err);
    case SELECT_AND:
    case SELECT_OR:
    case SELECT_NOT: return combine(scene, select, mask, err);
    default: return take_simple(scene, select, mask, err);
    }
}
