// SPDX-License-Identifier: Apache-2.0
// Data sets of many files: the index that is kept of them, what makes a record stale, and files that change.
#include "base/file.h"
#include "datasets/dataset_private.h"
#include "datasets/stored.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { FILES = 203, EPISODES = 2 };

static char many[128], index_file[160];

static void write_good(void) {
    Error err = {0};
    Scene scene = scene_make(3, 3, 6, 8, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, EPISODES, &err), err);
    scene_free(&scene);
}

// FILES names of one file, which has two episodes.
static int set_up_many(void **state) {
    set_up(state);
    snprintf(many, sizeof many, "%s/many", folder);
    snprintf(index_file, sizeof index_file, "%s/.vpd-index", many);
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_int_equal(mkdir(many, 0777), 0);
    write_good();
    for (int i = 0; i < FILES; i++) {
        char name[192];
        snprintf(name, sizeof name, "%s/%03d.h5", many, i);
        assert_int_equal(link(path, name), 0);
    }
    return 0;
}

// A file of its own in place of a link.
static void write_file(int number, void (*change)(Scene *)) {
    Error err = {0};
    char name[192];
    Scene scene = scene_make(3, 3, 6, 8, 0);
    if (change) change(&scene);
    scene_finish(&scene);
    snprintf(name, sizeof name, "%s/%03d.h5", many, number);
    unlink(name);
    assert_status_ok(scene_write(name, &scene, EPISODES, &err), err);
    scene_free(&scene);
}

static void same_doubles(const double *a, const double *b, size_t count) {
    assert_true((a == NULL) == (b == NULL));
    if (a) assert_memory_equal(a, b, count * sizeof *a);
}

static void same_episode(const EpisodeInfo *a, const EpisodeInfo *b) {
    size_t F = (size_t)a->F, V = (size_t)a->V, O = (size_t)a->O;
    assert_true(a->F == b->F && a->V == b->V && a->H == b->H && a->W == b->W && a->A == b->A && a->O == b->O);
    assert_true(a->split == b->split && a->has_mask == b->has_mask && a->moving_cameras == b->moving_cameras);
    assert_true(a->depth_is_u16 == b->depth_is_u16 && a->even_time == b->even_time);
    assert_true(a->depth_scale == b->depth_scale && a->time_step == b->time_step); // NOLINT: copies
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->source, b->source);
    assert_string_equal(a->scene, b->scene);
    same_doubles(a->intrinsics, b->intrinsics, 9 * V);
    same_doubles(a->world_from_camera, b->world_from_camera, 16 * V);
    same_doubles(a->time, b->time, F);
    same_doubles(a->bounds, b->bounds, 6);
    same_doubles(a->object_position, b->object_position, 3 * F * O);
    same_doubles(a->object_quaternion, b->object_quaternion, 4 * F * O);
    assert_memory_equal(a->actions, b->actions, F * (size_t)a->A * sizeof(float));
    assert_int_equal(a->heldout_count, b->heldout_count);
    if (a->heldout_count)
        assert_memory_equal(a->heldout_views, b->heldout_views, (size_t)a->heldout_count * sizeof(int));
    assert_int_equal(a->property_count, b->property_count);
    if (a->property_count)
        assert_memory_equal(a->properties, b->properties, (size_t)a->property_count * sizeof(Property));
}

// The data set of many files against a file that was read without an index.
static void check_good(const char *name) {
    Dataset *dataset = open_good(name), *one = open_good(path);
    Frames frames = {0}, wanted = {0};
    Error err = {0};
    int last = FILES * EPISODES - 1;
    assert_int_equal(dataset_info(dataset)->file_count, FILES);
    assert_int_equal(dataset_episode_count(dataset), FILES * EPISODES);
    for (int e = 0; e <= last; e++) same_episode(dataset_episode(one, e % EPISODES), dataset_episode(dataset, e));
    assert_string_equal(dataset_info(dataset)->name, dataset_info(one)->name);
    assert_int_equal(dataset_info(dataset)->split_count[SPLIT_TRAIN],
                     FILES * dataset_info(one)->split_count[SPLIT_TRAIN]);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.episode = last, .count = 3}, &frames, &err), err);
    assert_status_ok(dataset_read_frames(one, (FrameRequest){.episode = EPISODES - 1, .count = 3}, &wanted, &err), err);
    assert_memory_equal(frames.rgb, wanted.rgb, (size_t)3 * 3 * 3 * 6 * 8);
    assert_memory_equal(frames.depth, wanted.depth, (size_t)3 * 3 * 6 * 8 * sizeof(float));
    assert_memory_equal(frames.mask, wanted.mask, (size_t)3 * 3 * 6 * 8 * sizeof(uint16_t));
    assert_non_null(dataset_episode(dataset, last)->stored); // read without HDF5
    frames_free(&frames);
    frames_free(&wanted);
    dataset_close(one);
    dataset_close(dataset);
}

static struct timespec index_time(void) {
    struct stat info;
    assert_int_equal(stat(index_file, &info), 0);
    return info.st_mtim;
}

static bool index_was_written(struct timespec before) {
    struct timespec now = index_time();
    return now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec;
}

static void test_kept(void **state) {
    (void)state;
    check_good(many);
    struct timespec first = index_time();
    check_good(many);
    assert_false(index_was_written(first));
    Dataset *dataset = open_good(many);
    assert_string_equal(dataset_info(dataset)->index, index_file);
    dataset_close(dataset);
    dataset = open_good(path); // few files need none
    assert_null(dataset_info(dataset)->index);
    dataset_close(dataset);
}

static void more_frames(Scene *scene) { scene->info.F = 2; }

static void test_changed_files(void **state) {
    (void)state;
    char name[192];
    check_good(many);
    struct timespec first = index_time();
    write_file(7, more_frames);
    snprintf(name, sizeof name, "%s/%03d.h5", many, 9);
    unlink(name);
    Dataset *dataset = open_good(many);
    assert_int_equal(dataset_info(dataset)->file_count, FILES - 1);
    assert_int_equal(dataset_episode(dataset, 7 * EPISODES)->F, 2);
    assert_int_equal(dataset_episode(dataset, 8 * EPISODES)->F, 3);
    assert_true(index_was_written(first));
    dataset_close(dataset);
}

// Bytes written over the index at a place; 0 bytes: cut off there.
static void damage(long at, const void *bytes, size_t count) {
    FILE *file = fopen(index_file, "r+");
    assert_non_null(file);
    if (count == 0) assert_int_equal(ftruncate(fileno(file), at), 0);
    fseek(file, at, SEEK_SET);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void test_damaged_index(void **state) {
    (void)state;
    static const struct {
        long at;
        size_t count;
    } cases[] = {{0, 4}, {8, 1}, {20, 4}, {64, 8}, {72, 1}, {600, 1}, {5000, 8}, {0, 0}, {40, 0}, {3000, 0}};
    check_good(many);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timespec first = index_time();
        damage(cases[i].at, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", cases[i].count);
        check_good(many);
        assert_true(index_was_written(first));
    }
}

static void test_places(void **state) {
    (void)state;
    char cached[256];
    Dataset *dataset;
    assert_int_equal(mkdir(index_file, 0777), 0); // nothing can be written there
    check_good(many);
    dataset = open_good(many);
    snprintf(cached, sizeof cached, "%s/vpd/index-", folder);
    assert_ptr_equal(strstr(dataset_info(dataset)->index, cached), dataset_info(dataset)->index);
    dataset_close(dataset);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    dataset = open_good(many);
    assert_string_equal(dataset_info(dataset)->index, "");
    assert_non_null(strstr(dataset_info(dataset)->index_missing, "no regular file"));
    dataset_close(dataset);
}

// An old index in the folder, as a copy of the data leaves it, does not hide the one in the cache.
static void test_old_index(void **state) {
    (void)state;
    char old[192];
    snprintf(old, sizeof old, "%s/old", folder);
    check_good(many);
    assert_int_equal(rename(index_file, old), 0);
    write_file(7, NULL); // changes the times of all links
    assert_int_equal(mkdir(index_file, 0777), 0);
    check_good(many); // writes to the cache
    assert_int_equal(rmdir(index_file), 0);
    assert_int_equal(rename(old, index_file), 0);
    struct timespec before = index_time();
    Dataset *dataset = open_good(many);
    assert_non_null(strstr(dataset_info(dataset)->index, "/vpd/index-"));
    assert_false(index_was_written(before));
    dataset_close(dataset);
}

static void use_copy(int number, const char *source) {
    char command[600];
    snprintf(command, sizeof command, "rm -f %s/%03d.h5 && cp '%s' %s/%03d.h5", many, number, source, many, number);
    assert_int_equal(system(command), 0);
}

static void test_list(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset = NULL;
    char list[192], beside[256];
    snprintf(list, sizeof list, "%s/list.txt", folder);
    snprintf(beside, sizeof beside, "%s.vpd-index", list);
    FILE *file = fopen(list, "w");
    fprintf(file, "# files\n\n  %s/%03d.h5  \r\n", many, 0);
    for (int i = 1; i < FILES; i++) fprintf(file, "many/%03d.h5\n", i);
    fclose(file);
    check_good(list);
    assert_true(file_exists(beside));
    check_good(list);
    assert_true(dataset_is_list(list) && !dataset_is_list(path) && !dataset_is_list(many));
    file = fopen(list, "a");
    fprintf(file, "many/absent.h5\n");
    fclose(file);
    assert_status_error(dataset_open(list, &dataset, &err), STATUS_BAD_INPUT, err, "list.txt:206: ");
    use_copy(7, "README.md");
    file = fopen(list, "w");
    fprintf(file, "many/000.h5\n# few\nmany/007.h5\n");
    fclose(file);
    assert_status_error(dataset_open(list, &dataset, &err), STATUS_BAD_INPUT, err, "list.txt:3: ");
    assert_non_null(strstr(err.text, "many/007.h5: expected an HDF5 file"));
    file = fopen(list, "w");
    fprintf(file, "# nothing\n");
    fclose(file);
    assert_status_error(dataset_open(list, &dataset, &err), STATUS_BAD_INPUT, err, "one path a line, found no path");
}

// Comments and empty lines do not count towards the limit.
static void test_long_list(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset = NULL;
    char list[192];
    snprintf(list, sizeof list, "%s/list.txt", folder);
    FILE *file = fopen(list, "w");
    for (int i = 0; i < 100000; i++) fprintf(file, i % 2 ? "\n" : " # comment\n");
    fprintf(file, "\n\tmany/000.h5\n");
    fclose(file);
    dataset = open_good(list);
    assert_int_equal(dataset_info(dataset)->file_count, 1);
    dataset_close(dataset);
    file = fopen(list, "a");
    for (int i = 0; i < 100000; i++) fprintf(file, "many/000.h5\n");
    fclose(file);
    assert_status_error(dataset_open(list, &dataset, &err), STATUS_BAD_INPUT, err,
                        "expected at most 100000 files, found 100001");
}

static void test_bad_files(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset = NULL;
    use_copy(150, "tests/reference/hostile/hdf5_crashes.h5");
    assert_status_error(dataset_open(many, &dataset, &err), STATUS_BAD_INPUT, err, "150.h5: expected an HDF5 file");
    assert_non_null(strstr(err.text, "crashes"));
    use_copy(60, "README.md"); // the first of two in the order of names is told
    assert_status_error(dataset_open(many, &dataset, &err), STATUS_BAD_INPUT, err, "060.h5: expected an HDF5 file");
    assert_false(file_exists(index_file));
}

// Without missing_depth, which the others have.
static void test_mixed_roots(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset = NULL;
    char name[192];
    write_file(11, NULL);
    snprintf(name, sizeof name, "%s/011.h5", many);
    h5_lock();
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(file, "missing_depth"), H5Fclose(file);
    h5_unlock();
    for (int again = 0; again < 2; again++) // from the files, then from the index
        assert_status_error(dataset_open(many, &dataset, &err), STATUS_BAD_INPUT, err,
                            "011.h5: expected the same missing_depth");
}

static void test_changes_while_open(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    char name[192];
    Dataset *dataset = open_good(many);
    FrameRequest request = {.episode = 20 * EPISODES, .count = 1};
    write_file(20, more_frames);
    assert_status_error(dataset_read_frames(dataset, request, &frames, &err), STATUS_BAD_INPUT, err,
                        "020.h5: expected the file that was opened");
    snprintf(name, sizeof name, "%s/020.h5", many);
    unlink(name);
    assert_status_error(dataset_read_frames(dataset, request, &frames, &err), STATUS_BAD_INPUT, err,
                        "020.h5: cannot open");
    frames_free(&frames);
    dataset_close(dataset);
}

// Another file of the same size and time of modification, as "cp -p" and "rsync -t" leave it; then one that may have
// the number of the file that it replaces.
static void test_replaced_while_open(void **state) {
    (void)state;
    static const char *const ways[] = {"mv ../other 020.h5", "rm 020.h5 && cp -p ../other 020.h5"};
    FrameRequest request = {.episode = 20 * EPISODES, .count = 1};
    for (size_t i = 0; i < 2; i++) {
        Error err = {0};
        Frames frames = {0};
        char command[600];
        Dataset *dataset = open_good(many);
        snprintf(command, sizeof command, "cd %s && cp -p 020.h5 ../other && %s", many, ways[i]);
        assert_int_equal(system(command), 0);
        assert_status_error(dataset_read_frames(dataset, request, &frames, &err), STATUS_BAD_INPUT, err,
                            "020.h5: expected the file that was opened");
        frames_free(&frames);
        dataset_close(dataset);
    }
}

// Mode, and other names of the file, are no part of it.
static void test_touched_while_open(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    char command[600];
    Dataset *dataset = open_good(many);
    struct timespec first = index_time();
    snprintf(command, sizeof command, "cd %s && chmod a-w 020.h5 && ln 020.h5 ../another", many);
    assert_int_equal(system(command), 0);
    FrameRequest request = {.episode = 20 * EPISODES, .count = 1};
    assert_status_ok(dataset_read_frames(dataset, request, &frames, &err), err);
    dataset_close(dataset);
    check_good(many);
    assert_false(index_was_written(first));
    frames_free(&frames);
}

// All files get a user block: 1024 bytes before what HDF5 wrote.
static void test_user_block(void **state) {
    (void)state;
    Error err = {0};
    char command[600];
    Frames frames = {0}, wanted = {0};
    FrameRequest request = {.episode = 0, .count = 3};
    Dataset *one = open_good(path);
    assert_status_ok(dataset_read_frames(one, request, &wanted, &err), err);
    dataset_close(one);
    snprintf(
        command, sizeof command,
        "cd %s && { head -c 1024 /dev/zero && cat 000.h5; } >../block && for f in *.h5; do ln -f ../block $f; done",
        many);
    assert_int_equal(system(command), 0);
    Dataset *dataset = open_good(many);
    assert_null(dataset_episode(dataset, 0)->stored); // read through HDF5
    assert_status_ok(dataset_read_frames(dataset, request, &frames, &err), err);
    assert_memory_equal(frames.rgb, wanted.rgb, (size_t)3 * 3 * 3 * 6 * 8);
    assert_memory_equal(frames.depth, wanted.depth, (size_t)3 * 3 * 6 * 8 * sizeof(float));
    frames_free(&frames);
    frames_free(&wanted);
    dataset_close(dataset);
}

// Bytes of the pictures are damaged before the data set is opened: the checksum of the image tells.
static void test_damaged_image(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    Dataset *dataset = open_good(many);
    long at = (long)dataset_episode(dataset, 0)->stored->places[0].at + 5;
    dataset_close(dataset);
    FILE *file = fopen(path, "r+");
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 16, file);
    fclose(file);
    dataset = open_good(many);
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.episode = 0, .count = 1}, &frames, &err),
                        STATUS_BAD_INPUT, err,
                        "000.h5:/episodes/000000/rgb: the image of frame 0, view 0 does not match");
    frames_free(&frames);
    dataset_close(dataset);
}

// Processes that open the same folder at once all get it, and one whole index stays.
static void test_race(void **state) {
    (void)state;
    enum { PROCESSES = 3 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        Dataset *dataset;
        Error err;
        bool good =
            dataset_open(many, &dataset, &err) == STATUS_OK && dataset_episode_count(dataset) == FILES * EPISODES;
        _exit(!good);
    }
    for (int i = 0, state_of; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &state_of, 0), children[i]);
        assert_int_equal(state_of, 0);
    }
    struct timespec first = index_time();
    check_good(many);
    assert_false(index_was_written(first));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_files, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_index, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_places, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_old_index, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_long_list, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_files, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_mixed_roots, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_changes_while_open, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_replaced_while_open, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_touched_while_open, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_user_block, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_image, set_up_many, tear_down),
        cmocka_unit_test_setup_teardown(test_race, set_up_many, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
