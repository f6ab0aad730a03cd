// SPDX-License-Identifier: Apache-2.0
// Edits of the motion field: each point follows the present particle that owns it.
#include "edit/scene.h"

#include <math.h>
#include <stdlib.h>

// Number of new points for an object without motion and for a step of a rollout, placed at some of its particles.
// Without moving flags all particles count, so more points are used.
enum { POINTS = 256, POINTS_OF_ALL = 1024 };

// Neighbours that the gradient at a point is fitted to, and particles among which they are searched.
enum { NEIGHBOURS = 32, CANDIDATES = 16384 };

void scene_transform_motion(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor) {
    MotionField *m = &scene->file->motion;
    for (size_t i = 0; i < m->count; i++) {
        real *p = m->position + 3 * i, *v = m->motion + 3 * i, *g = m->gradient + 9 * i;
        double q[3], w[3], h[9] = {0};
        if (!mask[scene->file->motion_owner[i]]) continue;
        for (int r = 0; r < 3; r++) {
            q[r] = A[3 * r] * p[0] + A[3 * r + 1] * p[1] + A[3 * r + 2] * p[2] + t[r];
            w[r] = A[3 * r] * v[0] + A[3 * r + 1] * v[1] + A[3 * r + 2] * v[2];
        }
        // G' = A G A^-1, where A^-1 = A^T / factor^2
        for (int k = 0; k < 81; k++) {
            int r = k / 27, c = k / 9 % 3, a = k / 3 % 3, b = k % 3;
            h[3 * r + c] += A[3 * r + a] * (double)g[3 * a + b] * A[3 * c + b] / (factor * factor);
        }
        for (int r = 0; r < 3; r++) p[r] = (real)q[r], v[r] = (real)w[r];
        for (int k = 0; k < 9; k++) g[k] = (real)h[k];
    }
}

void scene_recolour_motion(EditScene *scene, const Mask *mask) {
    const RolloutFile *file = scene->file;
    const uint8_t *colour = file->sets[0].colour;
    for (size_t i = 0; colour && i < file->motion.count; i++) {
        size_t owner = file->motion_owner[i];
        for (size_t c = 0; c < 3 && mask[owner]; c++)
            file->motion.colour[3 * i + c] = (real)colour[3 * owner + c] / 255;
    }
}

// Appends points with zero motion at the particles `index`.
static Status add_points(RolloutFile *file, const uint32_t *index, size_t count, Error *err) {
    const RolloutSet *now = &file->sets[0];
    MotionField *old = &file->motion, larger;
    size_t K = old->count;
    uint32_t *owner = realloc(file->motion_owner, (K + count + 1) * sizeof *owner);
    if (!owner) return scene_no_memory(err);
    file->motion_owner = owner;
    Status status = motion_field_create(K + count, &larger, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < K; i++) scene_copy_motion(&larger, i, old, i);
    for (size_t r = 0; r < count; r++) {
        size_t i = owner[K + r] = index[r];
        memcpy(larger.position + 3 * (K + r), now->positions + 3 * i, 3 * sizeof(real));
        for (size_t c = 0; now->colour && c < 3; c++)
            larger.colour[3 * (K + r) + c] = (real)now->colour[3 * i + c] / 255;
    }
    motion_field_free(old);
    *old = larger;
    return STATUS_OK;
}

// At most `most` of the selected particles, evenly spaced by index; malloc'ed, NULL if memory is short.
static uint32_t *thin(const Mask *mask, size_t N, size_t most, size_t *count) {
    size_t all = mask_count(mask, N), seen = 0, taken = 0;
    uint32_t *index = malloc((most + 1) * sizeof *index);
    if (most > all) most = all;
    for (size_t i = 0; index && i < N; i++) {
        if (!mask[i]) continue;
        if (taken < most && seen * most >= taken * all) index[taken++] = (uint32_t)i;
        seen++;
    }
    *count = taken;
    return index;
}

// Selects the selected particles that need new points: those whose label owns no point. Without labels these are the
// static particles, or all if no selected particle owns a point.
static Status find_without_points(const RolloutFile *file, const Mask *mask, Mask *out, Error *err) {
    const RolloutSet *now = &file->sets[0];
    uint8_t *seen = calloc(LABELS, 1);
    bool any = false;
    if (!seen) return scene_no_memory(err);
    for (size_t i = 0; i < file->motion.count; i++) {
        size_t owner = file->motion_owner[i];
        if (!mask[owner]) continue;
        any = true;
        if (now->labels) seen[now->labels[owner]] = 1;
    }
    for (size_t i = 0; i < now->N; i++) {
        bool still = now->moving && !now->moving[i];
        out[i] = mask[i] && (now->labels ? !seen[now->labels[i]] : still || !any);
    }
    free(seen);
    return STATUS_OK;
}

Status scene_add_motion(EditScene *scene, const Mask *mask, const double more[3], Error *err) {
    RolloutFile *file = scene->file;
    size_t N = scene_now(scene)->N, count = 0, K = file->motion.count;
    if (!file->has_motion) return STATUS_OK;
    Mask *without_points = calloc(N + 1, 1);
    uint32_t *index = NULL;
    Status status = without_points ? find_without_points(file, mask, without_points, err) : scene_no_memory(err);
    if (status == STATUS_OK && !(index = thin(without_points, N, POINTS, &count))) status = scene_no_memory(err);
    if (status == STATUS_OK && count > 0) status = add_points(file, index, count, err);
    for (size_t i = 0; status == STATUS_OK && i < K + count; i++)
        for (size_t c = 0; c < 3 && mask[file->motion_owner[i]]; c++) file->motion.motion[3 * i + c] += (real)more[c];
    free(index);
    free(without_points);
    return status;
}

// ---- from particles

typedef struct Displaced {
    const float *before, *after; // (N,3)
    const uint16_t *labels;      // (N) or NULL
    const uint32_t *candidates;  // particles among which neighbours are searched
    size_t count;
} Displaced;

typedef struct Neighbour {
    double distance2;
    size_t particle;
} Neighbour;

static double distance2(const float *a, const float *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

// Finds the nearest neighbours of the same label, in no order. Returns their number.
static size_t find_neighbours(const Displaced *m, size_t particle, Neighbour *near) {
    size_t count = 0, farthest = 0;
    for (size_t i = 0; i < m->count; i++) {
        Neighbour other = {distance2(m->after + 3 * particle, m->after + 3 * (size_t)m->candidates[i]),
                           m->candidates[i]};
        if (m->labels && m->labels[particle] != m->labels[other.particle]) continue;
        if (count == NEIGHBOURS && other.distance2 >= near[farthest].distance2) continue;
        near[count < NEIGHBOURS ? count++ : farthest] = other;
        farthest = 0;
        for (size_t k = 1; k < count; k++)
            if (near[k].distance2 > near[farthest].distance2) farthest = k;
    }
    return count;
}

// Fits the rotation vector s that minimises sum |s x r - e|^2, where r are positions and e displacements, both relative
// to their means: (sum |r|^2 - r r^T) s = sum r x e. The gradient is that of s x r. The matrix is damped, because
// particles on a line do not determine the rotation about that line.
static void fit_rotation(const Displaced *m, const Neighbour *near, size_t count, real g[9]) {
    double mean[6] = {0}, a[6] = {0}, b[3] = {0}, s[3];
    for (size_t k = 0; k < 6 * count; k++) {
        size_t i = 3 * near[k / 6].particle, c = k % 6;
        mean[c] += (c < 3 ? (double)m->after[i + c] : (double)m->after[i + c - 3] - (double)m->before[i + c - 3]) /
                   (double)count;
    }
    for (size_t k = 0; k < count; k++) {
        double r[3], e[3];
        for (size_t c = 0; c < 3; c++) {
            size_t i = 3 * near[k].particle + c;
            r[c] = (double)m->after[i] - mean[c];
            e[c] = (double)m->after[i] - (double)m->before[i] - mean[3 + c];
        }
        a[0] += r[1] * r[1] + r[2] * r[2], a[1] -= r[0] * r[1], a[2] -= r[0] * r[2];
        a[3] += r[0] * r[0] + r[2] * r[2], a[4] -= r[1] * r[2], a[5] += r[0] * r[0] + r[1] * r[1];
        for (int c = 0; c < 3; c++) b[c] += r[(c + 1) % 3] * e[(c + 2) % 3] - r[(c + 2) % 3] * e[(c + 1) % 3];
    }
    double damping = 0.001 * (a[0] + a[3] + a[5]);
    a[0] += damping, a[3] += damping, a[5] += damping;
    if (!scene_solve3(a, b, s)) return;
    const double cross[9] = {0, -s[2], s[1], s[2], 0, -s[0], -s[1], s[0], 0};
    for (int k = 0; k < 9; k++) g[k] = (real)cross[k];
}

Status scene_motion_of_particles(RolloutFile *file, const float *before, Error *err) {
    const RolloutSet *now = &file->sets[0];
    Mask *movers = malloc(now->N + 1);
    if (!movers) return scene_no_memory(err);
    memset(movers, 1, now->N);
    if (now->moving) memcpy(movers, now->moving, now->N);
    Displaced moved = {.before = before, .after = now->positions, .labels = now->labels};
    size_t count;
    uint32_t *index = thin(movers, now->N, now->moving ? POINTS : POINTS_OF_ALL, &count),
             *candidates = thin(movers, now->N, CANDIDATES, &moved.count);
    moved.candidates = candidates;
    motion_field_free(&file->motion);
    Status status = index && candidates ? add_points(file, index, count, err) : scene_no_memory(err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        Neighbour near[NEIGHBOURS];
        size_t particle = index[i], found = find_neighbours(&moved, particle, near);
        for (size_t c = 0; c < 3; c++)
            file->motion.motion[3 * i + c] = now->positions[3 * particle + c] - before[3 * particle + c];
        fit_rotation(&moved, near, found, file->motion.gradient + 9 * i);
    }
    free(movers);
    free(index);
    free(candidates);
    return status;
}
