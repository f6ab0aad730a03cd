// SPDX-License-Identifier: Apache-2.0
// The rollout as an op on the tape: its values are the rollout's, its gradients those of the adjoint and of
// differences; a rollout in two ops has the gradient of one; errors of the simulator are the device's.
#include "sim/on_tape.h"

#include "nn/backend.h"
#include "nn/rows.h"

#include "tests/sim_check.h"

enum { STEPS = 120, SCENES = 2 };

typedef struct World {
    SimScene one, scene; // a beam on the ground; two of them
    SimCheck check;
    Sim *sim;
    Device *device;
    Tape tape;
    Tensor *of[SIM_VALUES];
} World;

// Values that float holds exactly, so that double and tape have the same.
static void round_values(SimCheck *c) {
    for (SimValue v = 0; v < SIM_VALUES; v++)
        for (size_t i = 0; i < sim_check_count(c, v); i++) c->values.of[v][i] = (double)(float)c->values.of[v][i];
}

static void open_world(World *w, SimPrecision precision) {
    static const size_t cells[3] = {2, 1, 1};
    Error err;
    *w = (World){0};
    assert_status_ok(sim_scene_beam(&w->one, cells, true, &err), err);
    for (size_t i = 0; i < w->one.model.particles; i++) w->one.values.of[SIM_VELOCITY][3 * i] = 1;
    w->one.contact[0].fade = 0.001;
    assert_status_ok(sim_scene_repeat(&w->one, SCENES, &w->scene, &err), err);
    w->check = (SimCheck){.scene = &w->scene,
                          .run = {.steps = STEPS, .every = STEPS / 2, .control_every = 20},
                          .options = {.precision = precision, .threads = 1}};
    sim_check_begin(&w->check);
    sim_check_shake(&w->check, SIM_POSITION, 0, 0.005);
    sim_check_shake(&w->check, SIM_VELOCITY, 0, 0.2);
    sim_check_shake(&w->check, SIM_FORCE, 0, 0.1);
    sim_check_shake(&w->check, SIM_ACTIVATION, 0, 0.02);
    sim_check_shake(&w->check, SIM_MASS, 0.1, 0);
    round_values(&w->check);
    w->sim = sim_check_open(&w->check);
    assert_status_ok(device_open("cpu", 1, &w->device, &err), err);
    tape_init(&w->tape, w->device);
    w->tape.recording = true;
}

static void close_world(World *w) {
    tape_free(&w->tape);
    device_close(w->device);
    sim_close(w->sim);
    sim_check_end(&w->check);
    sim_scene_free(&w->scene);
    sim_scene_free(&w->one);
}

static void set_numbers(World *w, real *to, const double *from, size_t count) {
    real *host = calloc(count, sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < count; i++) host[i] = (real)from[i];
    w->device->nn->upload(w->device, to, host, count * sizeof *host);
    free(host);
}

// A tensor with a gradient that has the values of v.
static void add_input(World *w, SimValue v) {
    const size_t count = sim_check_count(&w->check, v), axes = sim_value_info[v].axes;
    w->of[v] = tape_tensor(&w->tape, count / axes, axes, true);
    set_numbers(w, w->of[v]->value, w->check.values.of[v], count);
}

static SimOnTape roll_of(World *w) {
    SimOnTape roll = {.sim = w->sim, .run = w->check.run, .values = &w->check.values};
    memcpy(roll.of, w->of, sizeof roll.of);
    return roll;
}

static const SimValue inputs[] = {SIM_POSITION, SIM_VELOCITY, SIM_FORCE,      SIM_ACTIVATION,
                                  SIM_GRAVITY,  SIM_MASS,     SIM_CONTACT_MU, SIM_TET_MU};
enum { INPUTS = sizeof inputs / sizeof *inputs };

// Largest difference of the tensors' gradients from the check's, by the largest entry.
static double furthest(World *w) {
    double worst = 0;
    for (size_t k = 0; k < INPUTS; k++) {
        const double *expected = w->check.gradient.of[inputs[k]];
        double most = 1e-30, off = 0;
        assert_non_null(w->of[inputs[k]]->grad);
        for (size_t i = 0; i < sim_check_count(&w->check, inputs[k]); i++) {
            most = fmax(most, fabs(expected[i]));
            off = fmax(off, fabs(expected[i] - (double)w->of[inputs[k]]->grad[i]));
        }
        worst = fmax(worst, off / most);
    }
    return worst;
}

// The check's loss, on the tape; gradients of the tensors are set.
static void run_op(World *w) {
    const size_t half = sim_frames(&w->check.run) * sim_check_row(&w->check);
    Tensor *position, *velocity;
    Error err;
    sim_check_loss(&w->check, w->sim, true); // slopes of the loss, and expected gradients
    const SimOnTape roll = roll_of(w);
    position = sim_on_tape(&w->tape, &roll, &velocity);
    for (size_t i = 0; i < half; i++) { // the same bits, rounded
        assert_true(position->value[i] == (real)w->check.frames[i]);
        assert_true(velocity->value[i] == (real)w->check.frames[half + i]);
    }
    set_numbers(w, tape_grad(&w->tape, position), w->check.dloss, half);
    set_numbers(w, tape_grad(&w->tape, velocity), w->check.dloss + half, half);
    tape_backward_from_grads(&w->tape);
    assert_status_ok(device_status(w->device, &err), err);
}

// Gradients are rounded to float, and so are the slopes of the loss.
static void test_adjoint(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        World w;
        open_world(&w, (SimPrecision)p);
        for (size_t k = 0; k < INPUTS; k++) add_input(&w, inputs[k]);
        run_op(&w);
        assert_true(furthest(&w) < 1e-6);
        w.check.gradient.of[SIM_CONTACT_MU][0] *= 1.001; // the comparison finds a fault
        assert_true(furthest(&w) > 1e-4);
        close_world(&w);
    }
}

static void test_differences(void **state) {
    (void)state;
    World w;
    open_world(&w, SIM_F64);
    for (size_t k = 0; k < INPUTS; k++) add_input(&w, inputs[k]);
    run_op(&w);
    for (size_t k = 0; k < INPUTS; k++) {
        double best = INFINITY;
        for (size_t i = 0; i < sim_check_count(&w.check, inputs[k]); i++)
            w.check.gradient.of[inputs[k]][i] = (double)w.of[inputs[k]]->grad[i];
        for (double step = 1e-3; step > 5e-8; step /= 10) // large ones pass over touches of the ground
            best = fmin(best, sim_check_error(&w.check, w.sim, inputs[k], 0, step));
        if (!(best < 1e-5)) fail_msg("%s: %.3g from differences", sim_value_info[inputs[k]].name, best);
    }
    close_world(&w);
}

// Rows of the last frame.
static Tensor *last_frame(World *w, Tensor *x, const SimRun *run) {
    const size_t rows = sim_check_row(&w->check) / 3;
    int32_t *index = calloc(rows, sizeof *index);
    assert_non_null(index);
    for (size_t i = 0; i < rows; i++) index[i] = (int32_t)((sim_frames(run) - 1) * rows + i);
    const int32_t *list = tape_upload(&w->tape, index, rows, sizeof *index);
    free(index);
    return gather_rows(&w->tape, x, rows, list);
}

// The gradient of positions at the end to positions at the start: of a rollout in so many ops, which share a Sim.
static void gradient_in_parts(World *w, size_t parts) {
    SimOnTape roll = roll_of(w);
    Tensor *position = w->of[SIM_POSITION], *velocity = w->of[SIM_VELOCITY];
    const size_t count = sim_check_row(&w->check);
    roll.run = (SimRun){.steps = STEPS / parts, .every = STEPS / parts};
    for (size_t k = 0; k < parts; k++) {
        roll.of[SIM_POSITION] = position, roll.of[SIM_VELOCITY] = velocity;
        position = sim_on_tape(&w->tape, &roll, &velocity);
        position = last_frame(w, position, &roll.run), velocity = last_frame(w, velocity, &roll.run);
    }
    set_numbers(w, tape_grad(&w->tape, position), w->check.weights, count);
    tape_backward_from_grads(&w->tape);
    assert_false(w->device->failed);
}

static void test_parts(void **state) {
    (void)state;
    static const SimValue both[] = {SIM_POSITION, SIM_VELOCITY};
    World w[2];
    for (int k = 0; k < 2; k++) {
        open_world(&w[k], SIM_F64);
        for (int i = 0; i < 2; i++) add_input(&w[k], both[i]);
        gradient_in_parts(&w[k], k ? 3 : 1);
    }
    for (int k = 0; k < 2; k++) {
        const real *whole = w[0].of[both[k]]->grad, *parts = w[1].of[both[k]]->grad;
        double most = 0, off = 0;
        for (size_t i = 0; i < sim_check_row(&w[0].check); i++) {
            most = fmax(most, fabs((double)whole[i]));
            off = fmax(off, fabs((double)whole[i] - (double)parts[i]));
        }
        assert_true(most > 0 && off < 1e-4 * most); // states between the parts are rounded to float, in stiff contact
    }
    close_world(&w[0]);
    close_world(&w[1]);
}

// Without a recording nothing is kept for a gradient; what the simulator refuses ends the step with its sentence.
static void test_errors(void **state) {
    (void)state;
    World w;
    Error err;
    open_world(&w, SIM_F32);
    add_input(&w, SIM_MASS);
    w.tape.recording = false;
    SimOnTape roll = roll_of(&w);
    roll.run.position = w.check.values.of[SIM_POSITION];
    assert_false(sim_on_tape(&w.tape, &roll, NULL)->wants_grad);
    assert_status_ok(device_status(w.device, &err), err);
    w.of[SIM_MASS]->value[3] = -1;
    sim_on_tape(&w.tape, &roll, NULL);
    assert_status_error(device_status(w.device, &err), STATUS_BAD_INPUT, err, "mass");
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_adjoint), cmocka_unit_test(test_differences),
                                       cmocka_unit_test(test_parts), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
