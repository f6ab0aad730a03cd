// SPDX-License-Identifier: Apache-2.0
// One checkpoint file: what goes in comes out, for other layouts of the blocks too, and what does not fit is told at
// once.
#include "tests/test.h"

#include "base/version.h"
#include "files/half.h"
#include "files/safetensors.h"
#include "tests/checkpoint_model.h"

#include <sys/stat.h>

typedef struct Setting {
    char folder[64], path[128], other[128];
    Model model;
    CheckpointMeta meta;
    Error err;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    test_make_folder(s->folder);
    snprintf(s->path, sizeof s->path, "%s/a.h5", s->folder);
    snprintf(s->other, sizeof s->other, "%s/b", s->folder);
    model_create(&s->model, false);
    model_set(&s->model, 1);
    s->meta = model_meta(1234);
    assert_status_ok(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &s->meta, &s->err), s->err);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Setting *s = *state;
    model_free(&s->model);
    test_remove_folder(s->folder);
    free(s);
    return 0;
}

static void all_blocks_come_back(void **state) {
    Setting *s = *state;
    Model other;
    CheckpointMeta meta;
    model_create(&other, true);
    model_set(&other, 100);
    assert_status_ok(checkpoint_resume(s->path, &other.set, &other.blocks, &meta, &s->err), s->err);
    assert_int_equal(model_all_wrong(&other, 1), 0);
    // The comparison itself must be able to fail.
    assert_true(model_all_wrong(&other, 2) > 0);
    assert_int_equal(meta.step, 1234);
    model_free(&other);
}

static void weights_are_chosen(void **state) {
    Setting *s = *state;
    Parameters *set = &s->model.set;
    model_fill(set, set->values, 100);
    assert_status_ok(checkpoint_load(s->path, set, CHECKPOINT_EMA, &s->err), s->err);
    assert_int_equal(model_wrong(set, set->values, 4), 0);
    assert_status_ok(checkpoint_load(s->path, set, CHECKPOINT_RAW, &s->err), s->err);
    assert_int_equal(model_wrong(set, set->values, 1), 0);
}

static void a_run_without_average_or_moments(void **state) {
    Setting *s = *state;
    Parameters *set = &s->model.set;
    CheckpointMeta meta;
    assert_status_ok(checkpoint_save(s->path, set, &(CheckpointBlocks){0}, &s->meta, &s->err), s->err);
    assert_status_ok(checkpoint_load(s->path, set, CHECKPOINT_EMA, &s->err), s->err);
    assert_status_ok(checkpoint_read_meta(s->path, &meta, &s->err), s->err);
    assert_int_equal(model_wrong(set, set->values, 1), 0);
    assert_false(meta.has_ema || meta.has_moments || meta.publication);
    assert_status_error(checkpoint_resume(s->path, set, &s->model.blocks, NULL, &s->err), STATUS_BAD_INPUT, s->err,
                        "/moments");
    const CheckpointBlocks average = {.ema = s->model.blocks.ema};
    assert_status_error(checkpoint_resume(s->path, set, &average, NULL, &s->err), STATUS_BAD_INPUT, s->err, "/ema");
}

static void meta_comes_back(void **state) {
    Setting *s = *state;
    CheckpointMeta meta;
    assert_status_ok(checkpoint_read_meta(s->path, &meta, &s->err), s->err);
    char *before = options_to_yaml(config_record, &s->meta.config);
    char *after = options_to_yaml(config_record, &meta.config);
    assert_string_equal(before, after);
    assert_true(meta.config.renderer.radius == 1.0 / 3);
    assert_string_equal(meta.config.data.path, s->meta.config.data.path);
    assert_true(meta.best_score == 23.5 && meta.time_step == 0.04 && meta.seconds == 12.25);
    assert_string_equal(meta.commit, version_commit());
    assert_int_equal(strlen(meta.hash), 16);
    assert_true(meta.has_ema && meta.has_moments && !meta.publication && !meta.is_half);
    assert_int_equal(meta.version[0], CHECKPOINT_VERSION_MAJOR);
    assert_true(!meta.evaluated && meta.data.episodes == 0);
    s->meta.evaluated = true;
    s->meta.data = (DataRecord){3, 72, 0.04, "0123456789abcdef", "1", "2", "3", "4"};
    assert_status_ok(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &s->meta, &s->err), s->err);
    assert_status_ok(checkpoint_read_meta(s->path, &meta, &s->err), s->err);
    assert_true(meta.evaluated);
    char differences[200];
    assert_int_equal(data_record_differences(&s->meta.data, &meta.data, differences, sizeof differences), 0);
    meta.data.cameras[0] = 'x';
    assert_int_equal(data_record_differences(&s->meta.data, &meta.data, differences, sizeof differences), 1);
    assert_string_equal(differences, "cameras");
    free(before);
    free(after);
    s->meta.best_score = NAN;
    assert_status_ok(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &s->meta, &s->err), s->err);
    assert_status_ok(checkpoint_read_meta(s->path, &meta, &s->err), s->err);
    assert_true(isnan(meta.best_score));
}

// A checkpoint that is older than an option was trained without it.
static void options_that_came_later_are_off(void **state) {
    Setting *s = *state;
    Config now, old;
    const char text[] = "gnn:\n  L: 3\n";
    config_defaults(&now);
    config_defaults_of_checkpoint(&old);
    assert_status_ok(config_parse(&now, text, strlen(text), "now", &s->err), s->err);
    assert_status_ok(config_parse(&old, text, strlen(text), "old", &s->err), s->err);
    assert_status_ok(config_resolve(&now, &s->err), s->err);
    assert_status_ok(config_resolve(&old, &s->err), s->err);
    assert_true(now.gnn.graph == GRAPH_BODIES && old.gnn.graph == GRAPH_HIERARCHICAL);
    assert_true(old.encoder.moving_share == 0 && now.encoder.moving_share > 0);
    assert_true(old.gnn.L == 3); // what it names it has
}

// Numbers of particles, nodes and samples are no part of the weights; widths are.
static void amounts_may_differ(void **state) {
    Setting *s = *state;
    Config checkpoint, wanted;
    const char *const more[] = {"encoder.N=8192", "gnn.M=300", "renderer.S=20"}, *const wider[] = {"model.C=80"};
    config_defaults(&checkpoint);
    config_defaults(&wanted);
    assert_status_ok(config_set(&wanted, 3, more, &s->err), s->err);
    assert_int_equal(config_check_same_model(&checkpoint, &wanted, &s->err), STATUS_BAD_INPUT);
    assert_non_null(strstr(s->err.text, "(3 differences)"));
    config_take_amounts(&checkpoint, &wanted);
    s->err = (Error){0};
    assert_status_ok(config_check_same_model(&checkpoint, &wanted, &s->err), s->err);
    assert_status_ok(config_set(&wanted, 1, wider, &s->err), s->err);
    assert_int_equal(config_check_same_model(&checkpoint, &wanted, &s->err), STATUS_BAD_INPUT);
    assert_string_equal(s->err.text, "the config does not fit the checkpoint (1 difference): model.C: 128 the "
                                     "checkpoint, 80 the config");
    s->err = (Error){0};
}

static size_t read_bytes(const char *path, char **bytes) {
    Error err;
    size_t size;
    assert_status_ok(file_read_all(path, 1 << 24, bytes, &size, &err), err);
    return size;
}

static void same_content_same_bytes(void **state) {
    Setting *s = *state;
    char *first, *second;
    size_t size = read_bytes(s->path, &first);
    sleep(1); // a time of creation would differ now
    Model other;
    model_create(&other, true);
    model_set(&other, 1);
    assert_status_ok(checkpoint_save(s->other, &other.set, &other.blocks, &s->meta, &s->err), s->err);
    assert_int_equal(read_bytes(s->other, &second), size);
    assert_memory_equal(first, second, size);
    model_free(&other);
    free(first);
    free(second);
}

static void all_differences_at_once(void **state) {
    Setting *s = *state;
    static const ModelShape shapes[] = {
        {"encoder.down0.conv0.weight", 4, {3, 3, 3, 5}},
        {"encoder.down0.conv0.bias", 1, {6}},
        {"gnn.edge.weight0", 3, {7, 9, 1}},
        {"gnn.edge.weight00", 2, {1, 1}},
        {"gnn.edge.bias1", 1, {17}},
        {"renderer.bias", 3, {2, 3, 400}},
    };
    Device device = model_device();
    Parameters set;
    model_build(&set, &device, shapes, 6, false);
    model_fill(&set, set.values, 50);
    static const char *const expected[] = {
        "a.h5:/ema: the weights do not fit the config's model (4 differences): ",
        "encoder.down0.conv0.bias: expected f32 [6], found f32 [5]; ",
        "gnn.edge.bias0: expected no such array, found f32 [17]; ",
        "gnn.edge.bias1: expected f32 [17], found nothing; ",
        "gnn.edge.weight0: expected f32 [7,9,1], found f32 [7,9]",
    };
    for (int i = 0; i < 5; i++)
        assert_status_error(checkpoint_load(s->path, &set, CHECKPOINT_EMA, &s->err), STATUS_BAD_INPUT, s->err,
                            expected[i]);
    assert_int_equal(model_wrong(&set, set.values, 50), 0);
    parameters_free(&set);
}

static void many_differences_are_counted(void **state) {
    Setting *s = *state;
    Device device = model_device();
    Parameters set;
    parameters_init(&set, &device);
    for (int i = 0; i < 100; i++)
        parameters_add(&set, INIT_ZERO, 0, 1, (size_t[]){3}, "some.long.name.of.a.parameter%d", i);
    assert_status_ok(parameters_allocate(&set, 1, &s->err), s->err);
    assert_status_error(checkpoint_load(s->path, &set, CHECKPOINT_RAW, &s->err), STATUS_BAD_INPUT, s->err,
                        "(106 differences)");
    assert_non_null(strstr(s->err.text, "; and "));
    parameters_free(&set);
}

static void publication_holds_the_average_alone(void **state) {
    Setting *s = *state;
    Parameters *set = &s->model.set;
    CheckpointMeta meta;
    for (int half = 0; half < 2; half++) {
        assert_status_ok(checkpoint_export_publication(s->path, CHECKPOINT_EMA, half, s->other, &s->err), s->err);
        model_fill(set, set->values, 50);
        assert_status_ok(checkpoint_load(s->other, set, CHECKPOINT_EMA, &s->err), s->err);
        assert_status_ok(checkpoint_read_meta(s->other, &meta, &s->err), s->err);
        assert_int_equal(model_wrong(set, set->values, 4), 0); // halves hold these numbers
        assert_true(meta.publication && meta.has_ema && !meta.has_moments && meta.is_half == half);
        assert_status_error(checkpoint_load(s->other, set, CHECKPOINT_RAW, &s->err), STATUS_BAD_INPUT, s->err,
                            "for publication");
        assert_status_error(checkpoint_resume(s->other, set, &s->model.blocks, NULL, &s->err), STATUS_BAD_INPUT, s->err,
                            "train.init");
    }
    // Paths of the machine that trained it are not published.
    assert_status_ok(checkpoint_read_meta(s->path, &meta, &s->err), s->err);
    assert_non_null(strstr(meta.config.data.path, "odd"));
    assert_status_ok(checkpoint_read_meta(s->other, &meta, &s->err), s->err);
    assert_string_equal(meta.config.data.path, "");
    assert_string_equal(meta.config.train.out, "");
    assert_string_equal(meta.config.train.init, "");
    assert_string_equal(meta.config.train.init_motion, "");
    // 16 bits are half the size (where weights outweigh HDF5's blocks).
    struct stat half_info, info;
    assert_status_ok(checkpoint_export_publication(s->path, CHECKPOINT_EMA, false, s->path, &s->err), s->err);
    assert_true(stat(s->other, &half_info) == 0 && stat(s->path, &info) == 0 && half_info.st_size < info.st_size);
}

static void half_refuses_what_it_cannot_hold(void **state) {
    Setting *s = *state;
    model_fill(&s->model.set, s->model.blocks.ema, 70000);
    assert_status_ok(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &s->meta, &s->err), s->err);
    assert_status_error(checkpoint_export_publication(s->path, CHECKPOINT_EMA, true, s->other, &s->err),
                        STATUS_BAD_INPUT, s->err, "65504");
    assert_int_equal(access(s->other, F_OK), -1);
}

static void nan_is_not_saved(void **state) {
    Setting *s = *state;
    char *before, *after;
    size_t size = read_bytes(s->path, &before);
    model_fill(&s->model.set, s->model.blocks.m, NAN);
    assert_status_error(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &s->meta, &s->err), STATUS_FAILED,
                        s->err, "not finite");
    assert_int_equal(read_bytes(s->path, &after), size);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

static const SafetensorsArray *find_array(const SafetensorsFile *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (!strcmp(file->arrays[i].name, name)) return &file->arrays[i];
    return NULL;
}

static const char *text_of(const SafetensorsFile *file, const char *key) {
    for (size_t i = 0; i < file->text_count; i++)
        if (!strcmp(file->texts[i].key, key)) return file->texts[i].value;
    return "";
}

static void safetensors_hold_weights_and_config(void **state) {
    Setting *s = *state;
    for (int half = 0; half < 2; half++) {
        SafetensorsFile file;
        assert_status_ok(checkpoint_export_safetensors(s->path, CHECKPOINT_EMA, half, s->other, &s->err), s->err);
        assert_status_ok(safetensors_read(s->other, &file, &s->err), s->err);
        assert_int_equal(file.count, MODEL_COUNT);
        for (int i = 0; i < MODEL_COUNT; i++) {
            const SafetensorsArray *array = find_array(&file, model_shapes[i].name);
            assert_non_null(array);
            assert_int_equal(array->rank, model_shapes[i].rank);
            assert_memory_equal(array->dims, model_shapes[i].dims, (size_t)array->rank * sizeof *array->dims);
            assert_int_equal(array->type, half ? SAFETENSORS_F16 : SAFETENSORS_F32);
            uint16_t bits;
            float value;
            memcpy(&bits, (const char *)array->data, sizeof bits);
            memcpy(&value, array->data, sizeof value);
            assert_true((half ? half_to_float(bits) : value) == model_value(array->name, 0, 4));
        }
        assert_string_equal(text_of(&file, "weights"), "ema");
        assert_string_equal(text_of(&file, "step"), "1234");
        assert_string_equal(text_of(&file, "gnn.length_scale"), "0.1");
        assert_string_equal(text_of(&file, "data.path"), "\"\"");
        assert_null(strstr(text_of(&file, "config"), "/tmp"));
        assert_non_null(strstr(text_of(&file, "config"), "length_scale: 0.1"));
        safetensors_free(&file);
    }
    assert_status_ok(checkpoint_export_safetensors(s->path, CHECKPOINT_RAW, false, s->other, &s->err), s->err);
    SafetensorsFile file;
    assert_status_ok(safetensors_read(s->other, &file, &s->err), s->err);
    assert_string_equal(text_of(&file, "weights"), "raw");
    safetensors_free(&file);
}

static void unwritable_places(void **state) {
    Setting *s = *state;
    char below[160];
    const char *const places[] = {"/dev/null/at/all.h5", "/dev/full", s->folder, below};
    snprintf(below, sizeof below, "%s/x.h5", s->path); // beneath a file
    for (int i = 0; i < 4; i++)
        assert_status_error(checkpoint_save(places[i], &s->model.set, &s->model.blocks, &s->meta, &s->err),
                            STATUS_BAD_INPUT, s->err, places[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_blocks_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weights_are_chosen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_without_average_or_moments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(meta_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_that_came_later_are_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(amounts_may_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(same_content_same_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_differences_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_differences_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(publication_holds_the_average_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_refuses_what_it_cannot_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nan_is_not_saved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(safetensors_hold_weights_and_config, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unwritable_places, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
