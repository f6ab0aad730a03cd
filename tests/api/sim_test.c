// SPDX-License-Identifier: Apache-2.0
// vpd_sim_* : rollouts and gradients through libvpd.so, batches, and what is said about wrong arguments.
#include "tests/test.h"

#include <vpd.h>

#define BALL "scenes/ball.yaml"

static vpd_sim *open_sim(int scenes, const char *precision) {
    vpd_sim_options options = {.struct_size = sizeof options, .precision = precision, .scenes = scenes, .threads = 1};
    vpd_sim *sim;
    vpd_error err;
    if (vpd_sim_open(BALL, &options, &sim, &err)) fail_msg("%s", err.text);
    return sim;
}

static vpd_sim_facts facts_of(const vpd_sim *sim) {
    vpd_sim_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(vpd_sim_get_facts(sim, &facts, NULL), VPD_OK);
    return facts;
}

static vpd_sim_value value_of(const vpd_sim *sim, const char *name) {
    for (size_t i = 0; i < facts_of(sim).values; i++) {
        vpd_sim_value value = {.struct_size = sizeof value};
        assert_int_equal(vpd_sim_get_value(sim, i, &value, NULL), VPD_OK);
        if (!strcmp(value.name, name)) return value;
    }
    fail_msg("no value %s", name);
    return (vpd_sim_value){0};
}

static double *numbers(size_t count) {
    double *out = calloc(count, sizeof *out);
    assert_non_null(out);
    return out;
}

// Sum of the last frame's x with a changed friction.
static double reach(vpd_sim *sim, double mu) {
    vpd_sim_facts facts = facts_of(sim);
    size_t row = 3 * facts.scenes * facts.particles;
    double *q = numbers((facts.frames + 1) * row), sum = 0;
    vpd_sim_array friction = {"contact.mu", &mu, 1};
    vpd_error err;
    if (vpd_sim_rollout(sim, &friction, 1, 0, q, NULL, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < row; i += 3) sum += q[facts.frames * row + i];
    free(q);
    return sum;
}

static void test_gradient(void **state) {
    vpd_sim *sim = open_sim(1, "f64");
    vpd_sim_facts facts = facts_of(sim);
    size_t row = 3 * facts.particles, all = (facts.frames + 1) * row;
    double *dq = numbers(all), *dmass = numbers(facts.particles), dmu, growth, h = 1e-5;
    vpd_sim_array wanted[] = {{"contact.mu", &dmu, 1}, {"mass", dmass, facts.particles}};
    vpd_error err = {VPD_OK, ""};
    (void)state;
    assert_string_equal(facts.objects, "ball\n");
    assert_string_equal(facts.precision, "f64");
    assert_true(facts.time_step < facts.stable_step);
    assert_int_equal(value_of(sim, "mass").count, facts.particles);
    assert_int_equal(value_of(sim, "spring.k_e").count, 0);
    assert_null(value_of(sim, "force").data);
    assert_int_equal(value_of(sim, "force").count, facts.frames * row);
    assert_int_equal(vpd_sim_adjoint(sim, dq, NULL, wanted, 2, &growth, &err), VPD_BAD_INPUT);
    assert_non_null(strstr(err.text, "expected a rollout with gradient = 1 before it"));
    assert_int_equal(vpd_sim_rollout(sim, NULL, 0, 1, NULL, NULL, &err), VPD_OK);
    for (size_t i = 0; i < row; i += 3) dq[facts.frames * row + i] = 1;
    assert_int_equal(vpd_sim_adjoint(sim, dq, NULL, wanted, 2, &growth, &err), VPD_OK);
    assert_close(dmu, (reach(sim, 0.6 + h) - reach(sim, 0.6 - h)) / (2 * h), 0, 1e-6); // of differences in f64
    assert_true(growth > 1 && growth < 1e6);
    free(dq);
    free(dmass);
    vpd_sim_close(sim);
}

// Three scenes with one friction each are three rollouts.
static void test_batch(void **state) {
    double mu[3] = {0.3, 0.6, 0.9};
    vpd_sim *one = open_sim(1, "f64"), *three = open_sim(3, "f64");
    vpd_sim_facts facts = facts_of(three);
    size_t row = 3 * facts.particles;
    double *q = numbers((facts.frames + 1) * 3 * row);
    vpd_sim_array friction = {"contact.mu", mu, 3};
    vpd_error err = {VPD_OK, ""};
    (void)state;
    assert_int_equal(vpd_sim_rollout(three, &friction, 1, 0, q, NULL, &err), VPD_OK);
    for (size_t b = 0; b < 3; b++) {
        double sum = 0;
        for (size_t i = 0; i < row; i += 3) sum += q[(facts.frames * 3 + b) * row + i];
        assert_close(sum, reach(one, mu[b]), 0, 1e-9); // sums in another order, which bounces amplify
    }
    free(q);
    vpd_sim_close(one);
    vpd_sim_close(three);
}

// A small scene in double on `device`: positions of all frames, and gradients to masses and stiffnesses.
enum { FRAMES = 4, POINTS = 6, NUMBERS = 3 * (FRAMES + 1) * POINTS + 2 * POINTS };

static void run_on(const char *path, const char *device, double out[NUMBERS]) {
    vpd_sim_options options = {.struct_size = sizeof options, .precision = "f64", .device = device};
    double *mass = out + 3 * (FRAMES + 1) * POINTS, *stiffness = mass + POINTS, loss[3 * (FRAMES + 1) * POINTS];
    vpd_sim_array wanted[] = {{"mass", mass, POINTS}, {"spring.k_e", stiffness, POINTS - 1}};
    vpd_sim *sim;
    vpd_error err;
    if (vpd_sim_open(path, &options, &sim, &err)) fail_msg("%s", err.text);
    print_message("device %s: %s\n", device ? device : "NULL", facts_of(sim).device);
    assert_string_equal(facts_of(sim).device_why, "");
    if (vpd_sim_rollout(sim, NULL, 0, 1, out, NULL, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3 * (FRAMES + 1) * POINTS; i++) loss[i] = 1 + .01 * i;
    if (vpd_sim_adjoint(sim, loss, NULL, wanted, 2, NULL, &err)) fail_msg("%s", err.text);
    vpd_sim_close(sim);
}

// cli/sim_device.sh asks for a GPU in VPD_SIM_DEVICE.
static void test_device(void **state) {
    char path[] = "/tmp/vpd_sim_device_XXXXXX";
    const char *device = getenv("VPD_SIM_DEVICE");
    double here[NUMBERS] = {0}, there[NUMBERS] = {0}, size = 0;
    FILE *file = fdopen(mkstemp(path), "w");
    (void)state;
    assert_non_null(file);
    fputs("frames: 4\nsubsteps: 20\ncontacts: {ground: {k_e: 500, k_d: 1, k_f: 3, mu: .4}}\nplanes: [{normal: [0, 0, "
          "1]}]\nobjects: {chain: {grid: {size: [.5, 1, 1], points: [6, 1, 1]}, mass: .3, springs: {k_e: 90, k_d: .2}, "
          "rotation: {axis: [0, 1, 0], angle: 30}, position: [0, 0, .13]}}\n",
          file);
    fclose(file);
    run_on(path, NULL, here);
    run_on(path, device ? device : "cpu:base", there);
    remove(path);
    for (int i = 0; i < NUMBERS; i++) size += fabs(here[i]) / NUMBERS;
    assert_true(size > .01 && here[NUMBERS - 2] != 0 && here[NUMBERS - 1] == 0);     // five springs
    for (int i = 0; i < NUMBERS; i++) assert_close(there[i], here[i], 1e-13, 1e-11); // orders of sums in f64
}

static void test_wrong(void **state) {
    vpd_sim *sim = open_sim(1, NULL), *other = NULL;
    double number = 1, negative[147], other_mass[147];
    vpd_sim_array twice[] = {{"mass", negative, 147}, {"contact.mu", &number, 1}, {"mass", other_mass, 147}};
    vpd_sim_options options = {.struct_size = sizeof options};
    vpd_sim_value value = {.struct_size = sizeof value};
    vpd_error err;
    (void)state;
    for (int i = 0; i < 147; i++) negative[i] = -1;
#define WRONG(call, words)                                                                                             \
    do {                                                                                                               \
        err = (vpd_error){0};                                                                                          \
        if ((call) != VPD_BAD_INPUT || !strstr(err.text, words)) fail_msg("%s: \"%s\"", #call, err.text);              \
    } while (0)
    WRONG(vpd_sim_open(NULL, NULL, &other, &err), "scene: expected an object or array, found NULL");
    WRONG(vpd_sim_open(BALL, NULL, NULL, &err), "out: expected");
    WRONG(vpd_sim_open("none.yaml", NULL, &other, &err), "none.yaml");
    options.precision = "f16";
    WRONG(vpd_sim_open(BALL, &options, &other, &err), "precision: expected f32 or f64, found \"f16\"");
    options = (vpd_sim_options){.struct_size = sizeof options, .scenes = -1};
    WRONG(vpd_sim_open(BALL, &options, &other, &err), "scenes: expected 0 to 1048576, found -1");
    options = (vpd_sim_options){.struct_size = sizeof options, .memory_mib = NAN};
    WRONG(vpd_sim_open(BALL, &options, &other, &err), "memory_mib: expected");
    options = (vpd_sim_options){.struct_size = sizeof options, .device = "quantum"};
    WRONG(vpd_sim_open(BALL, &options, &other, &err), "expected auto, cpu, cpu:ISA, cuda or cuda:NUMBER");
    options = (vpd_sim_options){.struct_size = 1};
    WRONG(vpd_sim_open(BALL, &options, &other, &err), "struct_size");
    WRONG(vpd_sim_get_value(sim, 1000, &value, &err), "value 1000: expected 0 to");
    WRONG(vpd_sim_rollout(NULL, NULL, 0, 0, NULL, NULL, &err), "sim: expected");
    WRONG(vpd_sim_rollout(sim, NULL, 1, 0, NULL, NULL, &err), "arrays: expected");
    WRONG(vpd_sim_rollout(sim, &(vpd_sim_array){"mas", &number, 1}, 1, 0, NULL, NULL, &err),
          "there is no value \"mas\"; did you mean \"mass\"?");
    WRONG(vpd_sim_rollout(sim, &(vpd_sim_array){"mass", &number, 1}, 1, 0, NULL, NULL, &err),
          "mass: expected 147 numbers, found 1");
    WRONG(vpd_sim_rollout(sim, &(vpd_sim_array){"mass", NULL, 147}, 1, 0, NULL, NULL, &err), "mass: expected");
    WRONG(vpd_sim_rollout(sim, &(vpd_sim_array){"mass", negative, 147}, 1, 0, NULL, NULL, &err), "mass");
    WRONG(vpd_sim_rollout(sim, twice, 3, 0, NULL, NULL, &err), "mass: given twice");
    assert_int_equal(vpd_sim_rollout(sim, NULL, 0, 1, NULL, NULL, &err), VPD_OK);
    WRONG(vpd_sim_adjoint(sim, NULL, NULL, twice, 3, NULL, &err), "mass: given twice");
    options = (vpd_sim_options){.struct_size = sizeof options, .memory_mib = 1e-3};
    assert_int_equal(vpd_sim_open(BALL, &options, &other, &err), VPD_OK);
    WRONG(vpd_sim_rollout(other, NULL, 0, 1, NULL, NULL, &err), "memory");
    vpd_sim_close(other);
    vpd_sim_close(sim);
    vpd_sim_close(NULL);
}

int main(void) {
    const struct CMUnitTest on_gpu[] = {cmocka_unit_test(test_device)};
    if (getenv("VPD_SIM_DEVICE")) return cmocka_run_group_tests(on_gpu, NULL, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_batch),
                                       cmocka_unit_test(test_device), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
