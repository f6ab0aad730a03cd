// SPDX-License-Identifier: Apache-2.0
// What must hold of the renderer whatever its weights: background where nothing is, locality, symmetries,
// repeatability, cost.
#include "tests/renderer_scene.h"

// A host copy of the outputs (and gradients) of one pass.
typedef struct Copy {
    real *colour, *opacity, *depth, *dx, *df, *dweight;
    size_t count, N, weights;
} Copy;

static real *keep(const real *from, size_t count) {
    real *out = calloc(count + 1, sizeof *out);
    if (from) memcpy(out, from, count * sizeof *out);
    return out;
}

static Copy copy_outputs(const Scene *s, const Drawn *d) {
    return (Copy){keep(d->out.colour->value, 3 * s->R),
                  keep(d->out.opacity->value, s->R),
                  keep(d->out.depth->value, s->R),
                  keep(d->particles.x->grad, 3 * s->N),
                  keep(d->particles.f->grad, (size_t)s->D * s->N),
                  keep(s->set.grads, s->set.size),
                  s->R,
                  s->N,
                  s->set.size};
}

static void free_copy(Copy *c) {
    real *all[] = {c->colour, c->opacity, c->depth, c->dx, c->df, c->dweight};
    for (int i = 0; i < 6; i++) free(all[i]);
}

static bool same_bits(const Scene *s, const Copy *a, const Copy *b) {
    size_t r = sizeof(real);
    return !memcmp(a->colour, b->colour, 3 * a->count * r) && !memcmp(a->opacity, b->opacity, a->count * r) &&
           !memcmp(a->depth, b->depth, a->count * r) && !memcmp(a->dx, b->dx, 3 * a->N * r) &&
           !memcmp(a->df, b->df, (size_t)s->D * a->N * r) && !memcmp(a->dweight, b->dweight, a->weights * r);
}

static double largest_difference(const real *a, const real *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (isnan(d)) return INFINITY;
        most = d > most ? d : most;
    }
    return most;
}

// A pass with gradients, from fresh ones.
static Copy run(Scene *s) {
    tape_reset(&s->tape);
    parameters_zero_grad(&s->set);
    Drawn d = scene_draw(s);
    scene_backward(s, &d);
    return copy_outputs(s, &d);
}

static void nothing_there_is_exactly_background(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 60, 200);
    Drawn d = scene_draw(&s);
    size_t empty = 0;
    for (size_t i = 0; i < s.R; i++) {
        if (d.samples->start[i] < d.samples->start[i + 1]) continue;
        empty++;
        assert_true(d.out.opacity->value[i] == 0 && d.out.depth->value[i] == 0);
        assert_memory_equal(d.out.colour->value + 3 * i, s.background, sizeof s.background);
    }
    assert_in_range(empty, 50, 190);
    for (size_t i = 0; i < d.samples->count; i++)
        assert_true(d.samples->neighbour[8 * i] >= 0); // never evaluated without neighbours
    scene_close(&s);
}

// Density falls to 0 where the last neighbour is left behind: no jump at its reach.
static void density_is_continuous_at_the_reach(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 1, 1);
    s.renderer.config.near = 0;
    double gaps[] = {1e-1, 1e-2, 1e-3};
    for (int i = 0; i < 3; i++) {
        tape_reset(&s.tape);
        s.radius[0] = 1;
        s.jitter[0] = 0;
        for (int c = 0; c < 3; c++) s.origin[c] = s.x[c] = 0, s.direction[c] = c == 2;
        s.x[0] = (real)(1 - gaps[i]); // the ray passes at this distance
        Drawn d = scene_draw(&s);
        assert_true(d.samples->count > 0);
        double most = 0;
        for (size_t j = 0; j < d.samples->count; j++) most = fmax(most, (double)d.out.shaded->value[4 * j]);
        assert_true(most > 0 && most < 3000 * gaps[i] * gaps[i]); // density ~ 4 softplus cut 4/r, cut ~ (2 gap)^2
    }
    scene_close(&s);
}

static double distance_to_ray(const real *x, const real *o, const real *d) {
    double v[3], t = 0, dd = 0, sum = 0;
    for (int c = 0; c < 3; c++)
        v[c] = (double)x[c] - (double)o[c], t += v[c] * (double)d[c], dd += (double)d[c] * (double)d[c];
    t = fmax(0, t / dd);
    for (int c = 0; c < 3; c++) sum += (v[c] - t * (double)d[c]) * (v[c] - t * (double)d[c]);
    return sqrt(sum);
}

// Takes away every particle with index % 3 == 0 (the ball), keeping the order of the others; marks rays that pass one.
static void remove_ball(Scene *s, bool *passes) {
    size_t kept = 0;
    for (size_t i = 0; i < s->N; i++) {
        for (size_t r = 0; r < s->R && i % 3 == 0; r++)
            if (distance_to_ray(s->x + 3 * i, s->origin + 3 * r, s->direction + 3 * r) < (double)s->radius[i] * 1.0001)
                passes[r] = true;
        if (i % 3 == 0) continue;
        memmove(s->x + 3 * kept, s->x + 3 * i, 3 * sizeof(real));
        memmove(s->f + (size_t)s->D * kept, s->f + (size_t)s->D * i, (size_t)s->D * sizeof(real));
        s->radius[kept++] = s->radius[i];
    }
    s->N = kept;
}

static void removing_an_object_keeps_other_rays(void **state) {
    (void)state;
    Scene s;
    RendererConfig config = scene_config();
    config.features = 16;
    config.hidden[0] = config.hidden[1] = 64; // the reference's widths: the products' kernels differ by size
    scene_open_with(&s, &config, 3000, 2000, 2);
    Copy before = run(&s);
    bool *passes = calloc(s.R, sizeof *passes);
    remove_ball(&s, passes);
    Copy after = run(&s);
    size_t kept = 0, changed = 0;
    for (size_t i = 0; i < s.R; i++) {
        bool same = !memcmp(before.colour + 3 * i, after.colour + 3 * i, 3 * sizeof(real)) &&
                    before.opacity[i] == after.opacity[i] && before.depth[i] == after.depth[i];
        if (!passes[i] && !same) fail_msg("ray %zu passes nothing that was removed, but changed", i);
        kept += !passes[i] && before.opacity[i] > 0;
        changed += passes[i] && !same;
    }
    assert_true(kept > 100 && changed > 100);
    free(passes);
    free_copy(&before);
    free_copy(&after);
    scene_close(&s);
}

static void parts_of_a_batch_add_up(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 800, 300);
    Copy whole = run(&s);
    size_t bounds[] = {0, 1, 120, 300}, D = (size_t)s.D;
    real *dx = calloc(3 * s.N, sizeof(real)), *df = calloc(D * s.N, sizeof(real));
    parameters_zero_grad(&s.set); // weights: the parts add into one gradient
    for (int part = 0; part < 3; part++) {
        Scene p = s;
        p.origin += 3 * bounds[part], p.direction += 3 * bounds[part], p.jitter += bounds[part];
        p.R = bounds[part + 1] - bounds[part];
        tape_reset(&p.tape);
        Drawn d = scene_draw(&p);
        Tensor *out[3] = {d.out.colour, d.out.opacity, d.out.depth};
        for (int o = 0; o < 3; o++) {
            real *grad = tape_grad(&p.tape, out[o]);
            for (size_t i = 0; i < p.R * out[o]->cols; i++)
                grad[i] = (real)scene_upstream(o, bounds[part] * out[o]->cols + i);
        }
        tape_backward_from_grads(&p.tape);
        for (size_t i = 0; i < 3 * s.N; i++) dx[i] += d.particles.x->grad[i];
        for (size_t i = 0; i < D * s.N; i++) df[i] += d.particles.f->grad[i];
        s.tape = p.tape;
    }
    double size = 0;
    for (size_t i = 0; i < 3 * s.N; i++) size = fmax(size, fabs((double)whole.dx[i]));
    assert_true(largest_difference(dx, whole.dx, 3 * s.N) < 1e-5 * size); // another order of a float sum
    assert_true(largest_difference(df, whole.df, D * s.N) < 1e-5);
    assert_true(largest_difference(s.set.grads, whole.dweight, s.set.size) <
                1e-4); // sums of some thousand terms of order 1
    free(dx);
    free(df);
    free_copy(&whole);
    scene_close(&s);
}

// Rounding of positions at 3 m is 1e-7 m, 1e-6 of the reach; K and S are so large that no sample or neighbour drops out
// by it.
static void translation_keeps_the_picture(void **state) {
    (void)state;
    Scene s;
    RendererConfig config = scene_config();
    config.neighbours = 64;
    config.samples = 200;
    scene_open_with(&s, &config, 800, 300, 2);
    Copy before = run(&s);
    double shift[3] = {2.9, -1.7, 3.3};
    for (size_t i = 0; i < 3 * s.N; i++) s.x[i] += (real)shift[i % 3];
    for (size_t i = 0; i < 3 * s.R; i++) s.origin[i] += (real)shift[i % 3];
    Copy after = run(&s);
    assert_true(largest_difference(before.colour, after.colour, 3 * s.R) < 1e-4);
    assert_true(largest_difference(before.opacity, after.opacity, s.R) < 1e-4);
    free_copy(&before);
    free_copy(&after);
    scene_close(&s);
}

static void permutation_keeps_the_picture(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 800, 300);
    Copy before = run(&s);
    size_t step = 331; // prime to 800
    real *x = keep(s.x, 3 * s.N), *f = keep(s.f, (size_t)s.D * s.N), *radius = keep(s.radius, s.N);
    for (size_t i = 0; i < s.N; i++) {
        size_t from = i * step % s.N;
        memcpy(s.x + 3 * i, x + 3 * from, 3 * sizeof(real));
        memcpy(s.f + (size_t)s.D * i, f + (size_t)s.D * from, (size_t)s.D * sizeof(real));
        s.radius[i] = radius[from];
    }
    Copy after = run(&s);
    assert_true(largest_difference(before.colour, after.colour, 3 * s.R) < 1e-6);
    assert_true(largest_difference(before.depth, after.depth, s.R) < 1e-6);
    free(x);
    free(f);
    free(radius);
    free_copy(&before);
    free_copy(&after);
    scene_close(&s);
}

static bool all_finite(const real *v, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

static void awkward_sizes_give_numbers(void **state) {
    (void)state;
    size_t sizes[][2] = {{0, 7}, {1, 40}, {3, 40}, {200, 0}, {0, 0}, {200, 1}};
    for (int i = 0; i < 6; i++) {
        Scene s;
        scene_open(&s, sizes[i][0], sizes[i][1]);
        if (s.N) memcpy(s.x, (real[]){0, 0, (real)0.3}, 3 * sizeof(real));
        if (s.N && s.R) memcpy(s.origin, s.x, 3 * sizeof(real)); // an eye in a particle
        Copy c = run(&s);
        assert_true(all_finite(c.colour, 3 * s.R) && all_finite(c.depth, s.R) && all_finite(c.dx, 3 * s.N) &&
                    all_finite(c.df, (size_t)s.D * s.N) && all_finite(c.dweight, s.set.size));
        free_copy(&c);
        scene_close(&s);
    }
}

// A sample exactly at a particle, particles in one place, very dense and very thin ones.
static void extreme_values_give_numbers(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 200, 60);
    for (size_t i = 0; i < s.R; i++) {
        s.jitter[i] = 0;
        memset(s.origin + 3 * i, 0, 3 * sizeof(real));
        memcpy(s.direction + 3 * i, (real[]){0, 0, 1}, 3 * sizeof(real));
    }
    for (size_t i = 0; i < s.N; i++) {
        real z = element_sample_z(10 + (long)(i % 5), 0, (real)(SAMPLE_SPACING * s.renderer.config.radius));
        memcpy(s.x + 3 * i, (real[]){0, 0, z}, 3 * sizeof(real));
        for (size_t c = 0; c < (size_t)s.D; c++) s.f[(size_t)s.D * i + c] = (real)(i % 2 ? 1e4 : -1e4);
    }
    Copy c = run(&s);
    assert_true(all_finite(c.colour, 3 * s.R) && all_finite(c.dx, 3 * s.N) && all_finite(c.df, (size_t)s.D * s.N));
    free_copy(&c);
    scene_close(&s);
}

// Stronger than asked: the bits do not depend on the number of threads either.
static void runs_repeat_bit_for_bit(void **state) {
    (void)state;
    RendererConfig config = scene_config();
    config.features = 16;
    config.hidden[0] = config.hidden[1] = 64;
    Copy first = {0};
    int threads[] = {2, 2, 1, 3, 7};
    for (int i = 0; i < 5; i++) {
        Scene s;
        scene_open_with(&s, &config, 2000, 900, threads[i]);
        Copy c = run(&s);
        if (i > 0 && !same_bits(&s, &first, &c)) fail_msg("a run with %d threads differs", threads[i]);
        if (i > 0) free_copy(&c);
        else first = c;
        scene_close(&s);
    }
    free_copy(&first);
}

static void warm_steps_allocate_nothing(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 900, 300);
    size_t after_two = 0;
    for (int step = 0; step < 6; step++) {
        Copy c = run(&s);
        free_copy(&c);
        size_t all = tape_allocations(&s.tape) + s.device->scratch.allocations;
        if (step == 2) after_two = all;
        if (step > 2) assert_int_equal(all, after_two);
        assert_int_equal(s.device->scratch.used, 0);
        arena_reset(&s.device->scratch);
    }
    scene_close(&s);
}

typedef struct Cost {
    double candidates, cells, entries, bytes;
} Cost;

static Cost cost_of(int side) {
    Scene s;
    scene_open(&s, 1, 1);
    scene_unproject_room(&s, side);
    scene_room_rays(&s, 600, 128, 4);
    Drawn d = scene_draw(&s);
    Cost cost = {(double)d.samples->found->candidates, (double)d.samples->found->cells, (double)d.index->found->entries,
                 (double)s.tape.memory.used};
    if (getenv("VPD_SHOW"))
        print_message("N %zu: candidates %.0f, cells %.0f, entries %.0f, bytes %.0f, samples %zu\n", s.N,
                      cost.candidates, cost.cells, cost.entries, cost.bytes, d.samples->count);
    scene_close(&s);
    return cost;
}

// "What must hold" 5: unprojected surfaces, reach scaled by N^-1/2.
static void cost_is_linear(void **state) {
    (void)state;
    int sides[] = {33, 47, 66, 93, 131, 185}; // about 2^12 .. 2^17 points
    Cost before = cost_of(sides[0]);
    for (int i = 1; i < 6; i++) {
        Cost now = cost_of(sides[i]);
        assert_true(now.candidates <= 2.2 * before.candidates && now.cells <= 2.2 * before.cells);
        assert_true(now.entries <= 2.2 * before.entries && now.bytes <= 2.2 * before.bytes);
        before = now;
    }
}

// A far outlier, or very many empty metres, must not cost more than some cells.
static void empty_space_costs_little(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 900, 300);
    Drawn d = scene_draw(&s);
    size_t cells = d.samples->found->cells;
    tape_reset(&s.tape);
    memcpy(s.x, (real[]){4000, -3000, 5000}, 3 * sizeof(real));
    s.renderer.config.far = 1e4;
    d = scene_draw(&s);
    assert_true(d.samples->found->cells < 2 * cells + 60 * s.R);
    scene_close(&s);
}

// What compares bits and differences must notice one particle's reach, and NaN.
static void planted_error_is_caught(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 800, 300);
    Copy before = run(&s);
    for (size_t i = 0; i < s.N; i += 50) s.radius[i] *= (real)1.001;
    Copy after = run(&s);
    assert_false(same_bits(&s, &before, &after));
    assert_true(largest_difference(before.colour, after.colour, 3 * s.R) > 1e-6);
    after.colour[7] = (real)NAN;
    assert_false(largest_difference(before.colour, after.colour, 3 * s.R) < 1e9);
    free_copy(&before);
    free_copy(&after);
    scene_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_there_is_exactly_background),
        cmocka_unit_test(density_is_continuous_at_the_reach),
        cmocka_unit_test(removing_an_object_keeps_other_rays),
        cmocka_unit_test(parts_of_a_batch_add_up),
        cmocka_unit_test(translation_keeps_the_picture),
        cmocka_unit_test(permutation_keeps_the_picture),
        cmocka_unit_test(awkward_sizes_give_numbers),
        cmocka_unit_test(extreme_values_give_numbers),
        cmocka_unit_test(runs_repeat_bit_for_bit),
        cmocka_unit_test(warm_steps_allocate_nothing),
        cmocka_unit_test(cost_is_linear),
        cmocka_unit_test(empty_space_costs_little),
        cmocka_unit_test(planted_error_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
