// SPDX-License-Identifier: Apache-2.0
// Motion is kept episode by episode when a data set changes: files that come, go, move, are touched or look the same.
// And files of motion that are cut short, damaged, or left by a process that was killed.
#include "base/file.h"
#include "tests/infer_world.h"
#include "train/motion_episodes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { FRAMES = 4, PER_FILE = 4, TRAINED = 2, SIDE = 8 };          // episodes of a file, and those of them to train on
enum { FILE_RECORDS = FRAMES * TRAINED, PAGE = 4096, ENTRY = 16 }; // bytes of the header, and of an entry

typedef struct Fixture {
    char folder[64], data[96], list[96], path[96];
    Config config;
    Device *device;
    Vpd *model;
    TrainData train;
    MotionCache cache;
    FILE *said;
    Log log;
} Fixture;

static void run_in(const Fixture *f, const char *command) {
    char all[400];
    snprintf(all, sizeof all, "cd '%s' && %s", f->folder, command);
    if (system(all) != 0) fail_msg("%s", all);
}

// Sizes differ by the length of the video, so that files do.
static void write_file(const Fixture *f, const char *name, int frames, int side) {
    Error err = {0};
    char path[200];
    MovieScene scene = scene_make(frames, 2, side, side, 0);
    scene_finish(&scene);
    snprintf(path, sizeof path, "%s/%s", f->data, name);
    assert_status_ok(scene_write(path, &scene, PER_FILE, &err), err);
    scene_free(&scene);
}

static void open_model(Fixture *f, const char *const *options) {
    Error err = {0};
    vpd_free(f->model);
    world_config(&f->config, options);
    assert_status_ok(vpd_create(&f->config, f->device, &f->model, &err), err);
}

static int set_up(void **state) {
    Error err = {0};
    Fixture *f = calloc(1, sizeof *f);
    test_make_folder(f->folder);
    snprintf(f->data, sizeof f->data, "%s/data", f->folder);
    snprintf(f->list, sizeof f->list, "%s/list.txt", f->folder);
    snprintf(f->path, sizeof f->path, "%s/motion.bin", f->folder);
    assert_int_equal(mkdir(f->data, 0777), 0);
    write_file(f, "a.h5", FRAMES, SIDE);
    write_file(f, "b.h5", FRAMES, SIDE);
    run_in(f, "touch -d 2001-02-03 data/a.h5 && touch -d 2002-02-03 data/b.h5");
    assert_status_ok(device_open("cpu", 1, &f->device, &err), err);
    open_model(f, (const char *[]){"model.T=2", "train.rollout=1", "train.rollout_from=0", NULL});
    f->said = tmpfile();
    f->log = log_open(f->said, false);
    *state = f;
    return 0;
}

static void close_data(Fixture *f) {
    motion_cache_close(&f->cache);
    train_data_close(&f->train);
    f->train = (TrainData){0};
}

static int tear_down(void **state) {
    Fixture *f = *state;
    close_data(f);
    vpd_free(f->model);
    device_close(f->device);
    fclose(f->said);
    test_remove_folder(f->folder);
    free(f);
    return 0;
}

// As a new run does.
static void open_data(Fixture *f, const char *data) {
    MotionEpisode *episodes;
    Error err = {0};
    close_data(f);
    snprintf(f->config.data.path, sizeof f->config.data.path, "%s", data);
    assert_status_ok(train_data_open(&f->config, NULL, NULL, &f->train, &err), err);
    assert_status_ok(motion_episodes(&f->train, &episodes, &err), err);
    int count = dataset_episode_count(f->train.dataset);
    assert_status_ok(motion_cache_open(&f->cache, f->path, f->model, count, episodes, &f->log, &err), err);
    free(episodes);
}

// ---- records that tell of what they are

// Of an episode's file, whatever its folder, its name and a frame.
static double tag_of(const Fixture *f, int episode, int frame) {
    const EpisodeInfo *info = dataset_episode(f->train.dataset, episode);
    const char *file = strrchr(info->file, '/');
    char text[300];
    int length = snprintf(text, sizeof text, "%s %s %d", file, info->name, frame);
    return (double)(XXH3_64bits(text, (size_t)length) >> 32);
}

static void keep(MotionCache *cache, int episode, int frame, double tag) {
    Error err = {0};
    MotionSeen seen = {.light = {tag}};
    assert_status_ok(motion_field_create(5, &seen.field, &err), err);
    seen.field.position[3] = (real)tag;
    assert_status_ok(motion_cache_keep_seen(cache, (VideoFrame){episode, frame, 1}, &seen, &err), err);
    motion_field_free(&seen.field);
}

// Whether there is a record; it must be the right one.
static bool find(MotionCache *cache, int episode, int frame, double tag) {
    const MotionSeen *seen;
    if (!motion_cache_find_seen(cache, (VideoFrame){episode, frame, 1}, &seen)) return false;
    assert_true(seen->light[0] == tag && seen->field.count == 5 && seen->field.position[3] == (real)tag);
    return true;
}

static void fill(Fixture *f) {
    for (int i = 0; i < f->train.episode_count; i++) {
        int e = f->train.episodes[i].episode;
        for (int k = 0; k < dataset_episode(f->train.dataset, e)->F; k++) keep(&f->cache, e, k, tag_of(f, e, k));
    }
}

// The number of records of the data set, of files whose path ends like this.
static int found(Fixture *f, const char *end) {
    int count = 0;
    for (int i = 0; i < f->train.episode_count; i++) {
        int e = f->train.episodes[i].episode;
        const EpisodeInfo *info = dataset_episode(f->train.dataset, e);
        const char *file = info->file + strlen(info->file) - strlen(end);
        for (int k = 0; k < info->F; k++) count += find(&f->cache, e, k, tag_of(f, e, k)) && !strcmp(file, end);
    }
    return count;
}

static uint64_t hash_of_file(const Fixture *f) {
    char *bytes;
    size_t count;
    Error err = {0};
    assert_status_ok(file_read_all(f->path, (size_t)1 << 30, &bytes, &count, &err), err);
    uint64_t hash = XXH3_64bits(bytes, count);
    free(bytes);
    return hash;
}

static off_t size_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

// ---- changes of the data

static void files_come_and_go(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    assert_int_equal(found(f, ""), 0);
    fill(f);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS);
    // One more, before the others.
    write_file(f, "A.h5", FRAMES, SIDE);
    run_in(f, "touch -d 2003-02-03 data/A.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion.bin: motion of 4 of 6 episodes is kept, that of the others is measured"));
    assert_true(found(f, "") == 2 * FILE_RECORDS && found(f, "/A.h5") == 0);
    fill(f);
    // One less changes no byte, and it may come back.
    uint64_t hash = hash_of_file(f);
    run_in(f, "mv data/a.h5 .");
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS && hash_of_file(f) == hash);
    run_in(f, "mv a.h5 data");
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 3 * FILE_RECORDS);
    // It is gone when its room has been given away.
    run_in(f, "mv data/a.h5 .");
    write_file(f, "c.h5", FRAMES, SIDE);
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 4 of 6 episodes is kept"));
    fill(f);
    run_in(f, "mv a.h5 data");
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 6 of 8 episodes is kept") && found(f, "") == 3 * FILE_RECORDS);
}

static void only_what_was_touched_is_measured(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    off_t first = size_of(f->path);
    for (int i = 0; i < 20; i++) {
        run_in(f, i % 2 ? "touch -d '2003-01-01 00:00:00.001' data/a.h5" : "touch -d 2003-01-01 data/a.h5");
        open_data(f, f->data);
        assert_true(test_said(f->said, "motion of 2 of 4 episodes is kept"));
        assert_true(found(f, "/a.h5") == 0 && found(f, "/b.h5") == FILE_RECORDS);
        fill(f);
        assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
    }
    assert_true(size_of(f->path) < 2 * first); // old motion's room is used again
}

static void places_and_order_do_not_matter(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    uint64_t hash = hash_of_file(f);
    run_in(f, "printf 'data/b.h5\\ndata/a.h5\\n' >list.txt");
    open_data(f, f->list);
    assert_int_equal(found(f, "/a.h5"), FILE_RECORDS);
    assert_int_equal(found(f, "/b.h5"), FILE_RECORDS);
    run_in(f, "mv data moved && ln -s moved data");
    open_data(f, f->data);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
    run_in(f, "mkdir x && mv moved/a.h5 x && ln -s ../x/a.h5 moved/a.h5");
    open_data(f, f->data);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
    assert_true(test_said(f->said, "") && hash_of_file(f) == hash);
    // Another name of the file: its records are found too, though their tags are those of the old name.
    run_in(f, "mv moved/b.h5 moved/c.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, ""));
}

static void a_copy_serves_a_run_with_more_data(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    run_in(f, "mkdir more && cp --sparse=never motion.bin more");
    write_file(f, "c.h5", FRAMES + 2, SIDE);
    snprintf(f->path, sizeof f->path, "%s/more/motion.bin", f->folder);
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 4 of 6 episodes is kept") && found(f, "") == 2 * FILE_RECORDS);
    fill(f);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS + TRAINED * (FRAMES + 2));
}

static void larger_pictures_have_slots_of_their_own(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    write_file(f, "c.h5", FRAMES, 16 * SIDE);
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 4 of 6 episodes is kept") && found(f, "") == 2 * FILE_RECORDS);
    fill(f);
    run_in(f, "rm data/b.h5");
    open_data(f, f->data);
    assert_true(found(f, "") == 2 * FILE_RECORDS);
}

static void other_views_are_other_motion(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    f->config.data.input_views = (IntList){.v = {0}, .count = 1};
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 0 of 4 episodes is kept") && found(f, "") == 0);
    fill(f);
    f->config.data.input_views.v[0] = 1;
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 0 of 4 episodes is kept") && found(f, "") == 0);
    f->config.data.input_views.count = 0;
    open_data(f, f->data);
    fill(f);
    f->config.data.input_views = (IntList){.v = {0, 1}, .count = 2}; // as is the default
    test_said(f->said, "");
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS);
}

// ---- files that look the same: b has the size, time, names and numbers of a, but other pictures

static void files_that_look_the_same_are_told_apart(void **state) {
    Fixture *f = *state;
    run_in(f, "touch -d 2001-02-03 data/?.h5");
    open_data(f, f->data);
    fill(f);
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS); // whose tags are right
    run_in(f, "printf 'b.h5\\na.h5\\n' >data/list.txt");
    snprintf(f->list, sizeof f->list, "%s/data/list.txt", f->folder);
    open_data(f, f->list);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
    write_file(f, "c.h5", FRAMES, SIDE);
    run_in(f, "touch -d 2001-02-03 data/?.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 4 of 6 episodes is kept") && found(f, "") == 2 * FILE_RECORDS);
    fill(f);
    run_in(f, "mv data moved");
    snprintf(f->data, sizeof f->data, "%s/moved", f->folder);
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "") == 3 * FILE_RECORDS);
    // Alone it could be either.
    run_in(f, "rm moved/a.h5 moved/c.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 0 of 2 episodes is kept") && found(f, "") == 0);
    fill(f);
    write_file(f, "a.h5", FRAMES, SIDE);
    run_in(f, "touch -d 2001-02-03 moved/?.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, "motion of 0 of 4 episodes is kept") && found(f, "") == 0);
}

static void a_file_may_be_listed_twice(void **state) {
    Fixture *f = *state;
    run_in(f, "printf 'data/a.h5\\ndata/b.h5\\ndata/a.h5\\n' >list.txt");
    for (int i = 0; i < 3; i++) {
        open_data(f, f->list);
        assert_true(test_said(f->said, "") && f->train.episode_count == 3 * TRAINED);
        assert_int_equal(found(f, ""), i ? 3 * FILE_RECORDS : 0);
        fill(f);
        assert_int_equal(found(f, ""), 3 * FILE_RECORDS);
    }
}

// ---- files of motion that something happened to

static void read_bytes(const char *path, void *out, size_t count, off_t at) {
    int file = open(path, O_RDONLY);
    assert_int_equal(pread(file, out, count, at), count);
    close(file);
}

static void write_bytes(const char *path, const void *bytes, size_t count, off_t at) {
    int file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, bytes, count, at), count);
    close(file);
}

// A process that is killed after it wrote a new table, but not the header that names it.
static void a_kill_leaves_the_old_table(void **state) {
    Fixture *f = *state;
    char header[PAGE];
    open_data(f, f->data);
    fill(f);
    read_bytes(f->path, header, PAGE, 0);
    write_file(f, "c.h5", FRAMES, SIDE);
    run_in(f, "touch data/a.h5");
    for (int i = 0; i < 3; i++) {
        open_data(f, f->data);
        assert_true(test_said(f->said, "motion of 2 of 6 episodes is kept") && found(f, "/b.h5") == FILE_RECORDS);
        write_bytes(f->path, header, PAGE, 0);
    }
    run_in(f, "rm data/c.h5 && touch -d 2001-02-03 data/a.h5");
    open_data(f, f->data);
    assert_true(test_said(f->said, "") && found(f, "/b.h5") == FILE_RECORDS);
    fill(f);
    assert_int_equal(found(f, ""), 2 * FILE_RECORDS);
}

static void a_file_cut_short_is_filled_again(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    off_t size = size_of(f->path), table = PAGE + 2 * TRAINED * ENTRY;
    const off_t left[] = {0, 1, 30, PAGE - 1, PAGE, table - 1, table, table + 1, size / 2, size - 1};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        motion_cache_close(&f->cache);
        assert_int_equal(truncate(f->path, left[i]), 0);
        open_data(f, f->data);
        int there = found(f, "");
        assert_true(left[i] < size / 2 ? there == 0 : there >= FILE_RECORDS - 1 && there < 2 * FILE_RECORDS);
        test_said(f->said, "");
        fill(f);
        open_data(f, f->data);
        assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS);
    }
}

// No part of header and table can be changed unnoticed.
static void a_damaged_table_is_not_used(void **state) {
    Fixture *f = *state;
    open_data(f, f->data);
    fill(f);
    for (off_t at = 0; at < PAGE + 2 * TRAINED * ENTRY; at = at == 54 ? PAGE : at + 3) {
        char byte;
        read_bytes(f->path, &byte, 1, at);
        byte ^= 16;
        write_bytes(f->path, &byte, 1, at);
        open_data(f, f->data);
        assert_true(test_said(f->said, "damaged") && found(f, "") == 0);
        fill(f);
        open_data(f, f->data);
        assert_true(test_said(f->said, "") && found(f, "") == 2 * FILE_RECORDS);
    }
}

// ---- many changes, one after the other

enum { KINDS = 24, ROUNDS = 100, LONGEST = 5 };

static int frames_of(int kind) { return 1 + kind % LONGEST; }

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

// What the file should have, and a data set of some kinds of episodes.
typedef struct Rounds {
    uint64_t random;
    bool kept[KINDS], written[KINDS][LONGEST];
    int count, kind[KINDS];
    MotionEpisode episode[KINDS];
} Rounds;

// Some of the kinds in any order, some of them twice. Kinds that are left out are lost when there are new ones.
static void draw_data(Rounds *r) {
    bool there[KINDS] = {false}, fresh = false;
    r->count = 1 + (int)draw(&r->random, KINDS);
    for (int e = 0; e < r->count; e++) {
        int kind = e > 0 && draw(&r->random, 3) == 0 ? r->kind[e - 1] : (int)draw(&r->random, KINDS);
        r->kind[e] = kind;
        r->episode[e] = (MotionEpisode){(uint64_t)kind, (size_t)(64 << (kind % 9)), frames_of(kind)};
        there[kind] = true;
        fresh |= !r->kept[kind];
    }
    for (int k = 0; k < KINDS && fresh; k++) {
        if (!there[k] || !r->kept[k]) memset(r->written[k], 0, sizeof r->written[k]);
        r->kept[k] = there[k];
    }
}

static void check_records(const Rounds *r, MotionCache *cache) {
    for (int e = 0; e < r->count; e++)
        for (int i = 0; i < frames_of(r->kind[e]); i++)
            assert_true(find(cache, e, i, 100 * r->kind[e] + i) || !r->written[r->kind[e]][i]);
}

// Half of them. Twins may have blocks of their own in this run.
static void write_records(Rounds *r, MotionCache *cache) {
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < frames_of(k); i++) {
            if (draw(&r->random, 2)) continue;
            for (int e = 0; e < r->count; e++) {
                if (r->kind[e] != k) continue;
                keep(cache, e, i, 100 * k + i);
                r->written[k][i] = true;
            }
        }
}

static void any_sequence_of_changes(void **state) {
    Fixture *f = *state;
    Rounds r = {.random = 5};
    off_t largest = 0, all = 0;
    for (int round = 0; round < ROUNDS; round++) {
        Error err = {0};
        draw_data(&r);
        motion_cache_close(&f->cache);
        assert_status_ok(motion_cache_open(&f->cache, f->path, f->model, r.count, r.episode, NULL, &err), err);
        check_records(&r, &f->cache);
        write_records(&r, &f->cache);
        check_records(&r, &f->cache);
        largest = size_of(f->path) > largest ? size_of(f->path) : largest;
    }
    for (int e = 0; e < r.count; e++) assert_false(find(&f->cache, e, frames_of(r.kind[e]), 0)); // no such frame
    for (int k = 0; k < KINDS; k++) all += (off_t)frames_of(k) * 90000;
    assert_true(largest < 3 * all); // room is used again
}

int main(void) {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_come_and_go),
        TEST(only_what_was_touched_is_measured),
        TEST(places_and_order_do_not_matter),
        TEST(a_copy_serves_a_run_with_more_data),
        TEST(larger_pictures_have_slots_of_their_own),
        TEST(other_views_are_other_motion),
        TEST(files_that_look_the_same_are_told_apart),
        TEST(a_file_may_be_listed_twice),
        TEST(a_kill_leaves_the_old_table),
        TEST(a_file_cut_short_is_filled_again),
        TEST(a_damaged_table_is_not_used),
        TEST(any_sequence_of_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
