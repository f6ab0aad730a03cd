// SPDX-License-Identifier: Apache-2.0
// Forms, presets, options that are gone, and lengths that one config takes from another.
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

static void the_forms_by_name(void **state) {
    (void)state;
    Config full, paper, published, old;
    assert_status_ok(set(&full, "gnn.form=full"), err);
    assert_status_ok(set(&paper, "gnn.form=paper"), err);
    assert_status_ok(set(&published, "gnn.form=published"), err);
    parse(&old, "gnn: {form: published, nodes: random, decode: particle, moving_flag: \"off\", smooth: \"off\"}");
    assert_status_ok(config_resolve(&old, &err), err);
    assert_true(paper.gnn.form == FORM_PAPER);
    Error none = {0};
    assert_status_ok(config_check_same_model(&paper, &published, &none), none);
    assert_status_ok(config_check_same_model(&paper, &old, &none), none);
    const GnnOptions *f = &full.gnn, *p = &paper.gnn;
    assert_true(f->nodes == NODES_MOVING && f->distance == DISTANCE_APPEARANCE && f->velocity == VELOCITY_NODE &&
                f->decode == DECODE_NODE && f->moving_flag == SWITCH_ON && f->node_extras == SWITCH_ON &&
                f->gap == SWITCH_ON && f->rigid_cue == SWITCH_ON && f->cross_edges == 4 && f->contact_edges == 4 &&
                f->moving_vote == 16);
    assert_true(p->nodes == NODES_RANDOM && p->distance == DISTANCE_POSITION && p->velocity == VELOCITY_NONE &&
                p->decode == DECODE_PARTICLE && p->moving_flag == SWITCH_OFF && p->node_extras == SWITCH_OFF &&
                p->gap == SWITCH_OFF && p->rigid_cue == SWITCH_OFF && p->cross_edges == 0 && p->contact_edges == 0 &&
                p->moving_vote == 0);
    Config flat;
    assert_status_ok(set(&flat, "gnn.graph=flat"), err);
    assert_true(flat.gnn.velocity == VELOCITY_PARTICLE); // it has no nodes
}

static void what_the_form_sets_is_no_option(void **state) {
    (void)state;
    Config config;
    assert_status_ok(set(&config, "gnn.nodes=moving"), err);
    assert_status_error(set(&config, "gnn.nodes=random"), STATUS_BAD_INPUT, err,
                        "gnn.nodes: expected moving, found random; it follows from gnn.form (full)");
    assert_status_error(set(&config, "gnn.velocity=none"), STATUS_BAD_INPUT, err,
                        "gnn.velocity: expected node, found none; it follows from gnn.form (full)");
    assert_status_error(set(&config, "gnn.rigid_cue=off"), STATUS_BAD_INPUT, err,
                        "gnn.rigid_cue: expected on, found off; velocities without rigid registration are gone");
    assert_false(config_is_option("gnn.nodes") || config_is_option("gnn.length_scale"));
    assert_true(config_is_option("gnn.form") && config_is_option("gnn.moving_threshold"));
}

static void options_that_are_gone(void **state) {
    (void)state;
    Config config, plain;
    config_defaults(&plain);
    static const char *const today[] = {
        "train.position_noise=0.0", "train.displacement_penalty=0", "train.beta1=.9", "train.step_weights=[]",
        "model.activation=silu",    "gnn.k_node_to_node=10",        "gnn.smooth=off", "gnn.smooth_width=0.15"};
    static const char *const other[][2] = {
        {"train.position_noise=0.1", "train.position_noise: expected 0, found \"0.1\"; this option is gone"},
        {"train.displacement_penalty=0.01", "the mean displacement as a loss"},
        {"train.beta2=0.95", "Adam's decays are constants"},
        {"train.step_weights=1,2", "has the same weight at all rollout steps"},
        {"model.activation=relu", "SiLU"},
        {"gnn.k_node_to_node=4", "expected 10"},
        {"encoder.inside_share=1", "expected 0.7"},
        {"gnn.smooth=on", "gnn.smooth: expected off, found \"on\"; this option is gone"},
        {"gnn.nodes=farthest", "gnn.nodes: the value farthest is gone: nodes are moving or random"},
        {"gnn.nodes=voxel", "gnn.nodes: the value voxel is gone"}};
    for (size_t i = 0; i < sizeof today / sizeof *today; i++) assert_status_ok(set(&config, today[i]), err);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_status_error(set(&config, other[i][0]), STATUS_BAD_INPUT, err, other[i][1]);
    // The same from a file: a checkpoint's, and one that a user wrote.
    parse(&config, "model: {activation: silu}\ntrain: {position_noise: 0, beta1: 0.9, step_weights: []}");
    char *found = options_to_yaml(config_record, &config, false), *none = options_to_yaml(config_record, &plain, false);
    assert_string_equal(found, none);
    free(found);
    free(none);
    // Weights of another training are as good as any; another activation would give other numbers.
    parse(&config, "train: {position_noise: 0.1, beta2: 0.95, step_weights: [1, 2], rate: 0.001}");
    assert_true(config.train.rate == 0.001);
    const char *relu = "model:\n  activation: relu\n";
    assert_status_error(config_parse(&config, relu, strlen(relu), "old.h5", &err), STATUS_BAD_INPUT, err,
                        "old.h5:2: model.activation: expected silu");
    const char *voxel = "gnn:\n  nodes: voxel\n";
    assert_status_error(config_parse(&config, voxel, strlen(voxel), "old.h5", &err), STATUS_BAD_INPUT, err,
                        "old.h5:2: gnn.nodes: the value voxel is gone");
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
    assert_status_ok(set(&large, "model.preset=large"), err);
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
        cmocka_unit_test(the_forms_by_name),
        cmocka_unit_test(what_the_form_sets_is_no_option),
        cmocka_unit_test(options_that_are_gone),
        cmocka_unit_test(lengths_are_taken_but_a_radius_of_other_particles),
        cmocka_unit_test(lengths_that_nobody_gave_are_dropped),
        cmocka_unit_test(a_preset_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
