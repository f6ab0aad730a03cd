// SPDX-License-Identifier: Apache-2.0
// A run's folder of checkpoints: which files stay, and which one is found.
#include "tests/test.h"

#include "tests/checkpoint_model.h"

#include <sys/wait.h>

typedef struct Setting {
    char folder[64], run[80];
    Model model;
    Error err;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    test_make_folder(s->folder);
    snprintf(s->run, sizeof s->run, "%s/checkpoints", s->folder);
    model_create(&s->model, false);
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

static void save(Setting *s, long step, bool is_best, long keep) {
    CheckpointMeta meta = model_meta(step);
    model_set(&s->model, (float)step);
    assert_status_ok(checkpoint_save_in(s->run, &s->model.set, &s->model.blocks, &meta, is_best, keep, &s->err),
                     s->err);
}

static void write_file(Setting *s, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", s->run, name);
    assert_status_ok(file_write_bytes(path, text, strlen(text), &s->err), s->err);
}

static void expect_files(Setting *s, const char *expected) {
    char text[512] = "";
    FileList list;
    assert_status_ok(file_list(s->run, &list, &s->err), s->err);
    for (size_t i = 0; i < list.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", list.names[i]);
    file_list_free(&list);
    assert_string_equal(text, expected);
}

static void expect_step(Setting *s, const char *path, bool latest, long step, const char *note) {
    CheckpointFound found;
    CheckpointMeta meta;
    assert_status_ok(latest ? checkpoint_find_latest(path, &found, &s->err) : checkpoint_find(path, &found, &s->err),
                     s->err);
    assert_status_ok(checkpoint_resume(found.path, &s->model.set, &s->model.blocks, &meta, &s->err), s->err);
    assert_int_equal(meta.step, step);
    assert_int_equal(model_all_wrong(&s->model, (float)step), 0);
    if (!strstr(found.note, note) || (!*note && *found.note))
        fail_msg("note \"%s\", expected \"%s\"", found.note, note);
}

static void newest_and_best_are_kept(void **state) {
    Setting *s = *state;
    save(s, 10, false, 2);
    save(s, 20, true, 2);
    save(s, 30, false, 2);
    save(s, 40, false, 2);
    save(s, 50, false, 2);
    expect_files(s, "best latest step_00000020.h5 step_00000040.h5 step_00000050.h5 ");
    expect_step(s, s->run, true, 50, "");
    save(s, 60, true, 1);
    expect_files(s, "best latest step_00000060.h5 ");
    save(s, 123456789, false, 0); // keeps one
    expect_files(s, "best latest step_00000060.h5 step_123456789.h5 ");
}

// After a step back, as when somebody resumes from an older file, `latest` counts and not the number.
static void latest_is_the_one_saved_last(void **state) {
    Setting *s = *state;
    save(s, 50, false, 2);
    save(s, 60, false, 2);
    save(s, 20, false, 2);
    expect_step(s, s->run, true, 20, "");
}

static void found_by_what_a_user_names(void **state) {
    Setting *s = *state;
    char path[256];
    save(s, 10, true, 9);
    save(s, 20, false, 9);
    expect_step(s, s->folder, false, 10, "");
    expect_step(s, s->run, false, 10, "");
    snprintf(path, sizeof path, "%s/latest", s->run);
    expect_step(s, path, false, 20, "");
    snprintf(path, sizeof path, "%s/best", s->run);
    expect_step(s, path, false, 10, "");
    snprintf(path, sizeof path, "%s/step_00000020.h5", s->run);
    expect_step(s, path, false, 20, "");
    unlink((snprintf(path, sizeof path, "%s/best", s->run), path));
    expect_step(s, s->folder, false, 20, "");
    assert_int_equal(chdir(s->run), 0);
    expect_step(s, "latest", false, 20, "");
    assert_int_equal(chdir("/"), 0);
}

static void damaged_files_are_passed_over(void **state) {
    Setting *s = *state;
    save(s, 10, false, 9);
    save(s, 20, true, 9);
    save(s, 30, false, 9);
    write_file(s, "step_00000030.h5", "nothing");
    expect_step(s, s->run, true, 20, "step_00000030.h5: expected an HDF5 file");
    write_file(s, "latest", "../../etc/passwd\n");
    expect_step(s, s->run, true, 20, "step_00000030.h5");
    write_file(s, "latest", "");
    write_file(s, "step_00000020.h5", "nothing");
    expect_step(s, s->folder, false, 10, "step_00000020.h5");
    write_file(s, "step_00000010.h5", "nothing");
    CheckpointFound found;
    assert_status_error(checkpoint_find_latest(s->run, &found, &s->err), STATUS_BAD_INPUT, s->err,
                        "expected an undamaged checkpoint, found none");
}

static void nothing_to_find(void **state) {
    Setting *s = *state;
    CheckpointFound found;
    assert_status_error(checkpoint_find_latest(s->run, &found, &s->err), STATUS_BAD_INPUT, s->err, s->run);
    assert_status_error(checkpoint_find(s->folder, &found, &s->err), STATUS_BAD_INPUT, s->err,
                        "was the run ever saved?");
    assert_status_ok(file_make_folders(s->run, &s->err), s->err);
    write_file(s, "step_1.h5", "");
    write_file(s, "notes.txt", "");
    assert_status_error(checkpoint_find(s->folder, &found, &s->err), STATUS_BAD_INPUT, s->err,
                        "was the run ever saved?");
}

// Drafts of processes that are gone are removed; those of running ones, and other people's files, are not.
static void old_drafts_are_removed(void **state) {
    Setting *s = *state;
    char mine[64], dead[64];
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    save(s, 10, false, 1);
    snprintf(dead, sizeof dead, "step_00000020.h5.%ld-0.tmp", (long)child);
    snprintf(mine, sizeof mine, "step_00000020.h5.%ld-0.tmp", (long)getppid());
    write_file(s, dead, "cut");
    write_file(s, mine, "busy");
    write_file(s, "a.tmp", "a user's");
    save(s, 20, false, 1);
    char expected[256];
    snprintf(expected, sizeof expected, "a.tmp latest step_00000020.h5 %s ", mine);
    expect_files(s, expected);
}

static void a_folder_that_cannot_be(void **state) {
    Setting *s = *state;
    CheckpointMeta meta = model_meta(1);
    assert_status_ok(file_write_bytes(s->run, "x", 1, &s->err), s->err);
    assert_status_error(checkpoint_save_in(s->run, &s->model.set, &s->model.blocks, &meta, false, 1, &s->err),
                        STATUS_BAD_INPUT, s->err, s->run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(newest_and_best_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(latest_is_the_one_saved_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(found_by_what_a_user_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_to_find, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_drafts_are_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
