// SPDX-License-Identifier: Apache-2.0
// Presets, forms and options that are gone, and lengths that one config takes from another.
#include "model/config.h"
#include "tests/test.h"

static Error err;

static void parse(Config *config, const char *yaml) {
    config_defaults(config);
    assert_status_ok(config_parse(config, yaml, strlen(yaml), "test.yaml", &err), err);
}

static Status set(Config *config, const char *pair) {
    config_defaults(config);
    Status status = config_set(config, 1, &pair, &err);
    return status == STATUS_OK ? config_resolve(config, &err) : status;
}

static long motion_steps(const char *more) {
    Config config;
    const char *const pairs[] = {"train.steps=600", more};
    config_defaults(&config);
    assert_status_ok(config_set(&config, 2, pairs, &err), err);
    assert_status_ok(config_resolve(&config, &err), err);
    return config.train.motion_steps;
}

static void bodies_learn_motion_first(void **state) {
    (void)state;
    assert_int_equal(motion_steps("model.preset=tiny"), 420);
    assert_int_equal(motion_steps("train.init=a.h5"), 420);
    assert_int_equal(motion_steps("train.init_motion=a.h5"), 0);
    assert_int_equal(motion_steps("train.motion_steps=0"), 0);
    assert_int_equal(motion_steps("train.motion_steps=7"), 7);
    assert_int_equal(motion_steps("train.steps=1"), 0);
    assert_int_equal(motion_steps("gnn.graph=hierarchical"), 0);
    assert_int_equal(motion_steps("model.T=1"), 0);
}

// What checkpoints of the paper's form said while there was another.
static const char *const of_paper =
    "gnn: {form: paper, graph: hierarchical, gap: \"off\", cross_edges: 0, contact_edges: 0, "
    "moving_vote: 0, rotation: false, nodes: random, distance: position, "
    "decode: particle, moving_flag: \"off\", node_extras: \"off\", velocity: none, "
    "rigid_cue: \"off\", moving_length: 0.3, decode_width: 0.1}";

static void the_forms_that_were(void **state) {
    (void)state;
    Config paper, now, bodies, plain;
    Error none = {0};
    parse(&paper, of_paper);
    assert_status_ok(config_resolve(&paper, &err), err);
    assert_status_ok(set(&now, "gnn.graph=hierarchical"), err);
    assert_status_ok(config_check_same_model(&paper, &now, &none), none);
    parse(&bodies, "gnn: {graph: bodies, moving_vote: 16}");
    assert_status_ok(config_resolve(&bodies, &err), err);
    config_defaults(&plain);
    assert_status_ok(config_resolve(&plain, &err), err);
    assert_status_ok(config_check_same_model(&bodies, &plain, &none), none);
    assert_true(plain.gnn.graph == GRAPH_BODIES);
    static const char *const full[] = {"gnn: {graph: hierarchical, form: full, nodes: moving}",
                                       "gnn: {graph: hierarchical, form: paper, cross_edges: 4}"};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        assert_status_error(config_parse(&plain, full[i], strlen(full[i]), "old.h5", &err), STATUS_BAD_INPUT, err,
                            "a model of the full form must be trained anew, gnn.graph=bodies");
}

static void a_form_is_no_option(void **state) {
    (void)state;
    Config config;
    static const char *const forms[] = {"gnn.form=paper", "gnn.form=published", "gnn.form=full"};
    for (size_t i = 0; i < 3; i++)
        assert_status_error(set(&config, forms[i]), STATUS_BAD_INPUT, err,
                            "this option is gone: the paper's form is gnn.graph=hierarchical or flat");
    config_defaults(&config);
    char *yaml = options_to_yaml(config_record, &config);
    assert_null(strstr(yaml, "form:"));
    free(yaml);
    assert_false(config_is_option("gnn.form") || config_is_option("gnn.nodes") || config_is_option("gnn.length_scale"));
    assert_true(config_is_option("gnn.graph") && config_is_option("gnn.moving_threshold"));
}

static void options_that_are_gone(void **state) {
    (void)state;
    Config config, plain;
    config_defaults(&plain);
    static const char *const today[] = {"train.position_noise=0.0", "train.displacement_penalty=0",
                                        "train.beta1=.9",           "train.step_weights=[]",
                                        "model.activation=silu",    "gnn.k_node_to_node=10",
                                        "gnn.smooth=off",           "gnn.smooth_width=0.15",
                                        "gnn.rotation=false",       "gnn.gap=on",
                                        "gnn.decode_width=0.1",     "train.flow_term=0",
                                        "train.nearest_term=0.0",   "train.contact_starts=0",
                                        "train.motion_particles=0", "gnn.moving_vote=16",
                                        "gnn.moving_vote=0",        "data.stride=1"};
    static const char *const other[][2] = {
        {"train.position_noise=0.1", "train.position_noise: expected 0, found \"0.1\"; this option is gone"},
        {"train.displacement_penalty=0.01", "the mean displacement as a loss"},
        {"train.beta2=0.95", "Adam's decays are constants"},
        {"train.step_weights=1,2", "has the same weight at all rollout steps"},
        {"model.activation=relu", "SiLU"},
        {"gnn.k_node_to_node=4", "expected 10"},
        {"encoder.inside_share=1", "expected 0.7"},
        {"gnn.rotation=true", "bodies rotate"},
        {"train.flow_term=0.1", "bodies learn motion in windows (train.motion_steps), other graphs from pixels"},
        {"train.nearest_term=0.02", "bodies learn motion in windows"},
        {"train.contact_starts=0.5", "set train.busy_starts for pictures"},
        {"train.motion_particles=1024", "windows have no particles; set train.windows"},
        {"data.stride=2", "data.stride: expected 1, found \"2\"; this option is gone"},
        {"gnn.smooth=on", "gnn.smooth: expected off, found \"on\"; this option is gone"},
        {"gnn.nodes=farthest",
         "gnn.nodes: expected auto|random, found \"farthest\"; this option is gone: nodes are random"}};
    for (size_t i = 0; i < sizeof today / sizeof *today; i++) assert_status_ok(set(&config, today[i]), err);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_status_error(set(&config, other[i][0]), STATUS_BAD_INPUT, err, other[i][1]);
    // The same from a file: a checkpoint's, and one that a user wrote.
    parse(&config, "model: {activation: silu}\ntrain: {position_noise: 0, beta1: 0.9, step_weights: []}");
    char *found = options_to_yaml(config_record, &config), *none = options_to_yaml(config_record, &plain);
    assert_string_equal(found, none);
    free(found);
    free(none);
    // Weights of another training are as good as any; another activation would give other numbers.
    parse(&config, "data: {stride: 3}\ntrain: {position_noise: 0.1, beta2: 0.95, step_weights: [1, 2], flow_term: 0.1, "
                   "rate: 0.001}");
    assert_true(config.train.rate == 0.001);
    const char *relu = "model:\n  activation: relu\n";
    assert_status_error(config_parse(&config, relu, strlen(relu), "old.h5", &err), STATUS_BAD_INPUT, err,
                        "old.h5:2: model.activation: expected silu");
    const char *voxel = "gnn:\n  nodes: voxel\n";
    assert_status_error(config_parse(&config, voxel, strlen(voxel), "old.h5", &err), STATUS_BAD_INPUT, err,
                        "old.h5:2: gnn.nodes: expected auto|random");
    char folder[64], path[96];
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/noisy.yaml", folder);
    FILE *file = fopen(path, "w");
    fputs("train:\n  position_noise: 0.1\n", file);
    fclose(file);
    assert_status_error(config_load(&config, path, ORIGIN_FILE, &err), STATUS_BAD_INPUT, err,
                        "noisy.yaml:2: train.position_noise: expected 0");
    test_remove_folder(folder);
}

static void lengths_are_taken_but_a_radius_of_other_particles(void **state) {
    (void)state;
    Config from, same, more;
    parse(&from, "data: {extent: 2}\nencoder: {N: 1024}\ngnn: {length_scale: 0.1}\nrenderer: {radius: 0.09}");
    parse(&same, "encoder: {N: 1024}\n");
    parse(&more, "encoder: {N: 8192}\n");
    config_take_lengths(&same, &from);
    config_take_lengths(&more, &from);
    assert_true(same.data.extent == 2 && same.gnn.length_scale == 0.1 && same.renderer.radius == 0.09);
    assert_true(more.data.extent == 2 && more.gnn.length_scale == 0.1 && more.renderer.radius == 0);
}

static void lengths_that_nobody_gave_are_dropped(void **state) {
    (void)state;
    Config config;
    assert_status_ok(set(&config, "renderer.radius=0.09"), err);
    config.data.extent = config.gnn.length_scale = 2;
    config_set_origin(&config, &config.data.extent, ORIGIN_DATA);
    config_set_origin(&config, &config.gnn.length_scale, ORIGIN_CHECKPOINT);
    config_drop_lengths(&config);
    assert_true(config.data.extent == 0 && config.gnn.length_scale == 0 && config.renderer.radius == 0.09);
    config_set_origin(&config, &config.renderer.radius, ORIGIN_DATA);
    config_drop_lengths(&config);
    assert_true(config.renderer.radius == 0);
}

static void a_preset_of_rows(void **state) {
    (void)state;
    Config large, tiny;
    const char *const pairs[] = {"gnn.graph=hierarchical", "model.preset=large"}; // bodies have rollouts of their own
    config_defaults(&large);
    assert_status_ok(config_set(&large, 2, pairs, &err), err);
    assert_true(large.encoder.N == 131072 && large.gnn.M == 4096 && large.train.checkpoint_steps);
    assert_true(large.train.rollout.count == 1 && large.train.rollout.v[0] == 16);
    assert_status_ok(set(&tiny, "model.preset=tiny"), err);
    assert_true(tiny.encoder.N == 4096 && tiny.model.C == 64 && !tiny.train.checkpoint_steps);
    const char *const back[] = {"model.preset=tiny"};
    assert_status_ok(config_set(&large, 1, back, &err), err); // what only the other preset set is at its default again
    assert_false(large.train.checkpoint_steps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_forms_that_were),
        cmocka_unit_test(a_form_is_no_option),
        cmocka_unit_test(bodies_learn_motion_first),
        cmocka_unit_test(options_that_are_gone),
        cmocka_unit_test(lengths_are_taken_but_a_radius_of_other_particles),
        cmocka_unit_test(lengths_that_nobody_gave_are_dropped),
        cmocka_unit_test(a_preset_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
