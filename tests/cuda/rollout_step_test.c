// SPDX-License-Identifier: Apache-2.0
// Whole rollout steps by CUDA kernels on the CPU: a plan has the lists of the CPU's, entry by entry; dynamics move
// particles as the CPU does; host code touches no device memory.
#include "gnn/backend.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/gnn_scene.h"

typedef struct Side {
    Device *device;
    Parameters parameters;
    Dynamics *dynamics;
    Tape tape;
    GnnSets sets;
    GnnPlan plan;
    DynamicsOutput out;
} Side;

static void side_open(Side *side, bool gpu, const GnnConfig *config) {
    Error err = {0};
    *side = (Side){0};
    if (gpu) assert_status_ok(cuda_on_cpu_open(&side->device, &err), err);
    else assert_status_ok(device_open("cpu", 2, &side->device, &err), err);
    parameters_init(&side->parameters, side->device);
    assert_status_ok(dynamics_create(&side->parameters, config, &side->dynamics, &err), err);
    assert_status_ok(parameters_allocate(&side->parameters, 7, &err), err);
    // Trained weights have no zeros.
    real *weights = malloc(side->parameters.size * sizeof *weights);
    for (size_t i = 0; i < side->parameters.size; i++) weights[i] = (real)(0.2 * scene_random(20, i));
    side->device->nn->upload(side->device, side->parameters.values, weights, side->parameters.size * sizeof *weights);
    free(weights);
    tape_init(&side->tape, side->device);
}

static void side_close(Side *side) {
    Error err = {0};
    assert_status_ok(device_status(side->device, &err), err);
    tape_free(&side->tape);
    dynamics_free(side->dynamics);
    parameters_free(&side->parameters);
    device_close(side->device);
}

static void upload_sets(Side *side, const Scene *s) {
    side->sets = (GnnSets){.count = s->T};
    for (size_t t = 0; t < s->T; t++) {
        size_t n = s->count[t];
        side->sets.set[t] =
            (GnnSet){.x = tape_constant(&side->tape, n, 3, s->x[t]), .f = tape_constant(&side->tape, n, s->D, s->f[t])};
    }
}

static void run_step(Side *side, uint32_t step) {
    GnnPlanInput input = scene_plan_input(&side->sets, step);
    gnn_plan_make(&side->tape, &side->dynamics->config, 1, &input, &side->plan);
    dynamics_step(&side->tape, side->dynamics, &side->plan, &side->sets, &side->out);
    Error err = {0};
    if (device_status(side->device, &err) != STATUS_OK) fail_msg("%s (%s)", err.text, cuda_on_cpu_report());
}

static void *fetch(Side *side, const void *from, size_t bytes) {
    void *host = malloc(bytes + 1);
    side->device->nn->download(side->device, host, from, bytes);
    return host;
}

// Two sides and what is compared, for messages.
typedef struct Pair {
    Side cpu, gpu;
    const char *form;
    uint32_t step;
} Pair;

static void same_integers(Pair *p, const char *what, const int32_t *cpu, const int32_t *gpu, size_t count) {
    if (!cpu != !gpu) fail_msg("%s, step %u: %s is there on one side alone", p->form, p->step, what);
    if (!cpu) return;
    int32_t *a = fetch(&p->cpu, cpu, count * sizeof *a), *b = fetch(&p->gpu, gpu, count * sizeof *b);
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i]) fail_msg("%s, step %u: entry %zu of %s is %d, not %d", p->form, p->step, i, what, b[i], a[i]);
    free(a);
    free(b);
}

static void same_reals(Pair *p, const char *what, const real *cpu, const real *gpu, size_t count, double tolerance) {
    if (!cpu != !gpu) fail_msg("%s, step %u: %s is there on one side alone", p->form, p->step, what);
    if (!cpu) return;
    real *a = fetch(&p->cpu, cpu, count * sizeof *a), *b = fetch(&p->gpu, gpu, count * sizeof *b);
    double largest = 1e-30, error = 0;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)a[i] - (double)b[i]);
        largest = fmax(largest, fabs((double)a[i]));
        error = isfinite(off) ? fmax(error, off) : INFINITY;
    }
    if (!(error <= tolerance * largest))
        fail_msg("%s, step %u: %s is off by %g of %g", p->form, p->step, what, error, largest);
    free(a);
    free(b);
}

static void same_edges(Pair *p, const char *what, const GnnEdges *cpu, const GnnEdges *gpu) {
    assert_int_equal(cpu->groups, gpu->groups);
    assert_int_equal(cpu->k, gpu->k);
    same_integers(p, what, cpu->index, gpu->index, edge_rows(cpu));
    same_integers(p, what, cpu->count, gpu->count, cpu->others);
}

// 1e-5: the logarithm of another library.
static void same_plan(Pair *p) {
    const GnnPlan *a = &p->cpu.plan, *b = &p->gpu.plan;
    const GnnConfig *c = &p->cpu.dynamics->config;
    assert_int_equal(a->particles, b->particles);
    assert_int_equal(a->nodes, b->nodes);
    same_integers(p, "nodes", a->node, b->node, a->nodes);
    for (size_t t = 0; t < c->T; t++) {
        if (c->graph == GRAPH_HIERARCHICAL) same_edges(p, "to_node", &a->to_node[t], &b->to_node[t]);
        same_reals(p, "mark", a->mark[t], b->mark[t], p->cpu.sets.set[t].x->rows * c->T, 0);
    }
    same_edges(p, "node_node", &a->node_node, &b->node_node);
    if (c->graph == GRAPH_HIERARCHICAL) same_edges(p, "to_particle", &a->to_particle, &b->to_particle);
    same_edges(p, "past", &a->past, &b->past);
    same_reals(p, "log_count", a->log_count, b->log_count, a->nodes * c->T, 1e-5);
}

// Both steps begin at the same places and choose other nodes.
static void plan_and_dynamics(void **state) {
    (void)state;
    const size_t counts[][3] = {{150, 150, 150}, {1, 1, 1}};
    for (size_t i = 0; i < SCENE_FORMS; i++)
        for (size_t n = 0; n < 2; n++) {
            GnnConfig config = scene_config(&scene_forms[i]);
            Scene *scene = scene_make(config.T, counts[n]);
            Pair p = {.form = scene_forms[i].name};
            side_open(&p.cpu, false, &config);
            side_open(&p.gpu, true, &config);
            cuda_on_cpu_guard(true);
            for (p.step = 0; p.step < (config.T > 1 ? 2 : 1); p.step++)
                for (Side *side = &p.cpu;; side = &p.gpu) {
                    tape_reset(&side->tape);
                    upload_sets(side, scene);
                    run_step(side, p.step);
                    if (side == &p.cpu) continue;
                    same_plan(&p);
                    same_reals(&p, "dx", p.cpu.out.dx->value, p.gpu.out.dx->value, 3 * scene->count[0], 1e-4);
                    break;
                }
            cuda_on_cpu_guard(false);
            side_close(&p.gpu);
            side_close(&p.cpu);
            free(scene);
        }
}

static bool every_op_is_there(void) {
    Device *device;
    Error err = {0};
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    bool there = device->nn && device->nn->knn_search && device->gnn && device->gnn->message_forward;
    if (device->nn) device_close(device);
    return there;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plan_and_dynamics)};
    if (every_op_is_there()) return cmocka_run_group_tests(tests, NULL, NULL);
    print_message("skipped: the CUDA back end has no ops of nn or no messages yet\n");
    return 77;
}
