// SPDX-License-Identifier: Apache-2.0
// Where samples are placed and what their neighbours are, against testing every sample with every particle: equal,
// entry by entry.
#include "tests/renderer_scene.h"

typedef struct Placed {
    size_t count;
    int32_t *ray, *neighbour;
    real *z;
} Placed;

// The K smallest (u2, index) of all particles of a scene below 1.
static int brute_neighbours(const Scene *s, int scene, const real q[3], int K, int32_t *list) {
    real best[RENDERER_MAX_NEIGHBOURS];
    int count = 0;
    size_t first = s->split ? (size_t)s->first_particle[scene] : 0,
           last = s->split ? (size_t)s->first_particle[scene + 1] : s->N;
    for (size_t i = first; i < last; i++) {
        const real *x = s->x + 3 * i;
        real u2 = element_u2(q[0] - x[0], q[1] - x[1], q[2] - x[2], element_inverse_R2(s->radius[i]));
        if (!(u2 < 1) || !(s->radius[i] > 0)) continue;
        if (count == K && !(u2 < best[K - 1])) continue;
        int at = count < K ? count++ : K - 1;
        for (; at > 0 && u2 < best[at - 1]; at--) {
            best[at] = best[at - 1];
            list[at] = list[at - 1];
        }
        best[at] = u2;
        list[at] = (int32_t)i;
    }
    for (int k = count; k < K; k++) list[k] = -1;
    return count;
}

static void brute_place(const Scene *s, Placed *out) {
    const RendererConfig *c = &s->renderer.config;
    size_t capacity = s->R * (size_t)c->samples, K = (size_t)c->neighbours;
    *out = (Placed){0, calloc(capacity + 1, 4), calloc(capacity * K + 1, 4), calloc(capacity + 1, sizeof(real))};
    real delta = (real)(SAMPLE_SPACING * c->radius);
    for (size_t i = 0; i < s->R; i++) {
        const real *o = s->origin + 3 * i, *d = s->direction + 3 * i;
        real step = delta / real_sqrt((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]), z;
        int kept = 0;
        if (!(step > 0) || isinf(step)) continue;
        for (long j = 0; kept < c->samples && (z = element_sample_z(j, s->jitter[i], step)) <= (real)c->far; j++) {
            real q[3];
            for (int a = 0; a < 3; a++) q[a] = element_along(o[a], z, d[a]);
            int32_t *list = out->neighbour + out->count * K;
            if (z < (real)c->near || !brute_neighbours(s, scene_of_ray(s, i), q, c->neighbours, list)) continue;
            out->ray[out->count] = (int32_t)i;
            out->z[out->count++] = z;
            kept++;
        }
    }
}

// How many entries differ.
static size_t compare(const Scene *s, const RendererSamples *got) {
    Placed want;
    brute_place(s, &want);
    size_t K = (size_t)got->neighbours, wrong = got->count != want.count;
    for (size_t i = 0; i < want.count && i < got->count; i++) {
        wrong += got->ray[i] != want.ray[i] || got->z[i] != want.z[i];
        wrong += memcmp(got->neighbour + i * K, want.neighbour + i * K, K * 4) != 0;
        size_t ray = (size_t)got->ray[i];
        wrong += (size_t)got->start[ray] > i || (size_t)got->start[ray + 1] <= i;
    }
    wrong += got->start[0] != 0 || (size_t)got->start[s->R] != got->count;
    free(want.ray);
    free(want.neighbour);
    free(want.z);
    return wrong;
}

// Places once, compares, and returns the number of samples.
static size_t check_placement(Scene *s, const char *what) {
    Drawn d = {0};
    Error err = {0};
    scene_place(s, &d);
    assert_status_ok(device_status(s->device, &err), err);
    size_t wrong = compare(s, d.samples), count = d.samples->count;
    if (wrong) fail_msg("%s: %zu entries differ", what, wrong);
    tape_reset(&s->tape);
    return count;
}

static void surfaces(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 700, 120);
    assert_true(check_placement(&s, "surfaces") > 300);
    for (int K = 1; K <= RENDERER_MAX_NEIGHBOURS; K *= 4) {
        s.renderer.config.neighbours = K;
        check_placement(&s, "K");
    }
    for (int S = 1; S <= 64; S *= 8) {
        s.renderer.config.samples = S;
        check_placement(&s, "S");
    }
    scene_close(&s);
}

static void small_and_large_reach(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 400, 80);
    double factors[] = {0.02, 0.3, 3, 40}; // of all radii, r unchanged: the search may not rely on R near r
    for (int f = 0; f < 4; f++) {
        for (size_t i = 0; i < s.N; i++) s.radius[i] = (real)(0.08 * factors[f] * scene_uniform(3, i, 0.5, 2));
        check_placement(&s, "reach");
    }
    scene_close(&s);
}

static void outliers(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 400, 100);
    real far_away[][3] = {{1e3, 0, 0}, {-4e3, 2e3, 50}, {0, 0, -1e5}, {3e6f, 1, 1}, {1e30f, 0, 0}};
    for (size_t i = 0; i < 5; i++) memcpy(s.x + 3 * (17 * i + 2), far_away[i], sizeof far_away[i]);
    assert_true(check_placement(&s, "outliers") > 150);
    scene_close(&s);
}

static void one_heap(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 900, 40);
    // Many particles in one cell, many of them at the same place: ties by index, lists longer than a block.
    for (size_t i = 0; i < s.N; i++)
        for (size_t c = 0; c < 3; c++) s.x[3 * i + c] = (real)(c == 2 ? 0.5 : 0.02 * (double)(i % 3));
    for (size_t i = 0; i < s.N; i++) s.radius[i] = (real)0.1;
    for (size_t i = 0; i < s.R; i++)
        for (size_t c = 0; c < 3; c++) s.direction[3 * i + c] = (c == 2 ? (real)0.5 : (real)0.01) - s.origin[3 * i + c];
    assert_true(check_placement(&s, "heap") > 100);
    scene_close(&s);
}

static void awkward_rays(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 500, 90);
    for (size_t i = 0; i < s.R; i++) { // along the axes, from every side, some on cell walls
        real *o = s.origin + 3 * i, *d = s.direction + 3 * i, cell = (real)0.16;
        for (size_t c = 0; c < 3; c++) {
            bool along = i % 3 == c;
            d[c] = along ? (i % 2 ? (real)1.5 : (real)-0.7) : i % 5 == 0 ? (real)1e-9 : 0;
            o[c] = along        ? (i % 2 ? -2 : 2)
                   : i % 4 == 0 ? cell * (real)(long)(i % 7)
                                : (real)scene_uniform(30, 3 * i + c, -0.6, 0.6);
        }
    }
    assert_true(check_placement(&s, "along axes") > 50);
    for (size_t i = 0; i < s.R; i++)
        s.origin[3 * i] += (real)(i % 2 ? 900 : -900); // from afar: nothing within reach of `far`
    s.renderer.config.far = 950;
    s.R = 20;
    check_placement(&s, "from afar");
    scene_close(&s);
}

static void near_and_far(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 300, 40);
    double limits[][2] = {{0, 0.5}, {1.2, 1.3}, {3, 4}, {0.05, 300}};
    for (int i = 0; i < 4; i++) {
        s.renderer.config.near = limits[i][0];
        s.renderer.config.far = limits[i][1];
        check_placement(&s, "near and far");
    }
    scene_close(&s);
}

static void few_or_none(void **state) {
    (void)state;
    size_t sizes[][2] = {{0, 50}, {1, 50}, {2, 50}, {5, 50}, {100, 0}, {0, 0}, {300, 1}, {300, 33}};
    for (int i = 0; i < 8; i++) {
        Scene s;
        scene_open(&s, sizes[i][0], sizes[i][1]);
        check_placement(&s, "few or none");
        scene_close(&s);
    }
}

static void broken_values_are_left_out(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 300, 100);
    for (size_t i = 0; i < s.N; i += 7) s.x[3 * i + i % 3] = i % 2 ? (real)NAN : (real)INFINITY;
    for (size_t i = 3; i < s.N; i += 11) s.radius[i] = i % 2 ? 0 : (real)NAN;
    size_t broken = 0;
    for (size_t i = 0; i < s.N; i++) broken += i % 7 == 0 || i % 11 == 3;
    for (size_t i = 0; i < s.R; i += 9) s.direction[3 * i] = s.direction[3 * i + 1] = s.direction[3 * i + 2] = 0;
    assert_true(check_placement(&s, "broken values") > 50);
    for (size_t i = 0; i < s.R; i++) s.direction[3 * i + i % 3] = i % 2 ? (real)NAN : (real)INFINITY;
    Drawn d = {0};
    scene_place(&s, &d);
    assert_int_equal(d.samples->count, 0);
    assert_int_equal(d.index->found->left_out, broken);
    scene_close(&s);
}

// Several scenes in one place: none sees the particles of another.
static void several_scenes(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 900, 150);
    size_t samples = check_placement(&s, "one scene");
    scene_split(&s);
    size_t fewer = check_placement(&s, "several scenes");
    assert_true(fewer > 200 && fewer < samples);
    s.x[0] = 400; // coarser levels are used
    check_placement(&s, "several scenes and an outlier");
    scene_close(&s);
}

// Without memory in the middle of a step, what follows does nothing.
static void a_failed_device_draws_nothing(void **state) {
    (void)state;
    Scene s;
    Error err = {0};
    scene_open(&s, 50, 10);
    RendererParticles particles = scene_upload(&s);
    device_fail(s.device, STATUS_FAILED, "planted");
    RendererIndex *index = renderer_index_build(&s.tape, &s.renderer, &particles);
    RendererRays *rays = renderer_rays(&s.tape, s.R, s.origin, s.direction, s.jitter, s.background);
    RendererSamples *samples = renderer_place_samples(&s.tape, &s.renderer, index, rays);
    renderer_forward(&s.tape, &s.renderer, &particles, rays, samples);
    assert_status_error(device_status(s.device, &err), STATUS_FAILED, err, "planted");
    scene_close(&s);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    RendererConfig config = scene_config();
    for (int threads = 1; threads <= 5; threads += 2) {
        Scene s;
        scene_open_with(&s, &config, 500, 70, threads);
        check_placement(&s, "threads");
        scene_close(&s);
    }
}

// The comparison itself must notice a neighbour too few and a sample moved.
static void planted_error_is_caught(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 500, 60);
    Drawn d = {0};
    scene_place(&s, &d);
    assert_int_equal(compare(&s, d.samples), 0);
    d.samples->neighbour[8 * (d.samples->count / 2)] ^= 1;
    assert_int_equal(compare(&s, d.samples), 1);
    d.samples->z[3] *= (real)1.001;
    assert_int_equal(compare(&s, d.samples), 2);
    s.radius[d.samples->neighbour[0]] = 0;
    assert_true(compare(&s, d.samples) > 2);
    scene_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(surfaces),
        cmocka_unit_test(small_and_large_reach),
        cmocka_unit_test(outliers),
        cmocka_unit_test(one_heap),
        cmocka_unit_test(awkward_rays),
        cmocka_unit_test(near_and_far),
        cmocka_unit_test(few_or_none),
        cmocka_unit_test(broken_values_are_left_out),
        cmocka_unit_test(several_scenes),
        cmocka_unit_test(a_failed_device_draws_nothing),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(planted_error_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
