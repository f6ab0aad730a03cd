// SPDX-License-Identifier: Apache-2.0
// Motion that training keeps: the same bits from its file as from the frames, in turned worlds too, across runs; and
// files that are damaged, or of other data or options. tests/train_motion_table_test.c has data sets that change.
#include "base/vector.h"
#include "tests/flow_movie.h"
#include "train/motion_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

enum { T = 2, EPISODES = 3, FRAMES = 12, EPISODE = 2 };
static const VideoFrame present = {.episode = EPISODE, .frame = 6, .stride = 1};

typedef struct Fixture {
    Movie movie;
    Device *device;
    Vpd *model;
    Tape tape;
    Workspace workspace;
    MotionCache cache;
    MotionEpisode episodes[EPISODES];
    char folder[64], path[96];
    FILE *said;
    Log log;
} Fixture;

static void open_model(Fixture *f, const char *const *options) {
    Config config;
    Error err = {0};
    vpd_free(f->model);
    scene_config(&config, options);
    assert_status_ok(vpd_create(&config, f->device, &f->model, &err), err);
}

static void open_cache(Fixture *f) {
    Error err = {0};
    motion_cache_close(&f->cache);
    assert_status_ok(motion_cache_open(&f->cache, f->path, f->model, EPISODES, f->episodes, &f->log, &err), err);
}

static void setup(Fixture *f) {
    Error err = {0};
    memset(f, 0, sizeof *f);
    movie_make(&f->movie);
    assert_status_ok(device_open("cpu", 2, &f->device, &err), err);
    open_model(f, NULL);
    tape_init(&f->tape, f->device);
    test_make_folder(f->folder);
    snprintf(f->path, sizeof f->path, "%s/motion.bin", f->folder);
    f->said = tmpfile();
    f->log = log_open(f->said, false);
    for (uint64_t e = 0; e < EPISODES; e++)
        f->episodes[e] = (MotionEpisode){17 + e, MOVIE_VIEWS * MOVIE_PIXELS, FRAMES};
    open_cache(f);
}

static void teardown(Fixture *f) {
    motion_cache_close(&f->cache);
    workspace_free(&f->workspace);
    tape_free(&f->tape);
    vpd_free(f->model);
    device_close(f->device);
    fclose(f->said);
    test_remove_folder(f->folder);
}

// What the cache has seen at a frame whose pictures are those of the movie from `first` on.
static const MotionSeen *see(Fixture *f, int first, const double *turn, VideoFrame of) {
    Observation history = movie_part(&f->movie, first, T);
    static MotionSeen seen;
    Error err = {0};
    history.turn = turn;
    tape_reset(&f->tape);
    assert_status_ok(motion_cache_seen(&f->cache, &f->tape, f->model, &history, of, &seen, &err), err);
    return &seen;
}

static MotionSeen copy_of(const MotionSeen *seen) {
    MotionSeen out = *seen;
    Error err = {0};
    assert_status_ok(motion_field_copy(&seen->field, &out.field, &err), err);
    out.moving = malloc(seen->frames * seen->flag_bytes);
    memcpy(out.moving, seen->moving, seen->frames * seen->flag_bytes);
    return out;
}

static bool same_field(const MotionField *a, const MotionField *b) {
    return a->count == b->count && !memcmp(a->position, b->position, MOTION_FIELD_WIDTH * a->count * sizeof(real));
}

static bool same(const MotionSeen *a, const MotionSeen *b) {
    return same_field(&a->field, &b->field) && a->frames == b->frames && a->flag_bytes == b->flag_bytes &&
           !memcmp(a->moving, b->moving, a->frames * a->flag_bytes) && !memcmp(a->light, b->light, sizeof a->light);
}

static const double LIGHT[3] = {0.48, -0.6, -0.64};

// What a step takes from the cache is what the frames show, whatever their pictures are and however they are turned.
static void a_frame_is_seen_once(void **state) {
    (void)state;
    static Fixture f;
    static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    Error err = {0};
    MotionSeen own;
    Observation history;
    setup(&f);
    history = movie_part(&f.movie, 0, T);
    assert_status_ok(vpd_observe(&f.tape, f.model, &history, &own, &err), err);
    assert_true(own.field.count > 542 && own.field.count <= motion_seen_points() && own.moving && own.frames == T);
    assert_true(same(&own, see(&f, 0, turn, present)));
    assert_true(same(&own, see(&f, 0, NULL, present)) && same(&own, see(&f, 2, NULL, present)));
    VideoFrame later = present;
    later.frame++;
    assert_false(same(&own, see(&f, 2, NULL, later))); // the planted difference
    assert_true(same(&own, see(&f, 2, NULL, present)));
    open_cache(&f); // the next run
    assert_true(same(&own, see(&f, 2, NULL, present)));
    memcpy(own.light, LIGHT, sizeof own.light);
    assert_status_ok(motion_cache_keep_seen(&f.cache, present, &own, &err), err);
    assert_true(same(&own, see(&f, 2, NULL, present)));
    assert_true(test_said(f.said, ""));
    motion_seen_free(&own);
    teardown(&f);
}

static void encode(Fixture *f, const Observation *history, const MotionSeen *seen, Scene *scene) {
    SceneInput input = {history, seen, {3, 0, 0}};
    Error err = {0};
    size_t at;
    assert_status_ok(vpd_place(&f->tape, f->model, &f->workspace, 1, &input, &scene, &at, &err), err);
    assert_status_ok(vpd_encode(&f->tape, f->model, 1, &input, &scene, &err), err);
}

static void an_encoding_takes_what_was_seen(void **state) {
    (void)state;
    static Fixture f;
    const double a = 0.7, turns[2][9] = {{cos(a), -sin(a), 0, sin(a), cos(a), 0, 0, 0, 1},
                                         {cos(a), sin(a), 0, sin(a), -cos(a), 0, 0, 0, 1}};
    Scene scene;
    setup(&f);
    for (int i = 0; i < 2; i++) {
        const MotionSeen *seen = see(&f, 0, turns[i], present);
        Observation history = movie_part(&f.movie, 0, T);
        size_t moving = 0;
        history.turn = turns[i];
        encode(&f, &history, seen, &scene);
        for (size_t n = 0; n < scene_present(&scene)->x->rows; n++) moving += scene.moving[n] > 0;
        assert_true(moving > 10);
        // Of nothing that moves, in a light that turns with the scene.
        MotionSeen still = copy_of(seen);
        memcpy(still.light, LIGHT, sizeof still.light);
        memset(still.moving, 0, still.frames * still.flag_bytes);
        encode(&f, &history, &still, &scene);
        for (size_t n = 0; n < scene_present(&scene)->x->rows; n++) assert_true(scene.moving[n] == 0);
        for (int c = 0; c < 3; c++) assert_close(scene.light[c], vector_dot(turns[i] + 3 * c, LIGHT), 0, 1e-12);
        motion_seen_free(&still);
    }
    teardown(&f);
}

// Training steps the scene that the encoder made.
static void bodies_have_the_rate_of_their_frames(void **state) {
    (void)state;
    static Fixture f;
    Scene scene;
    setup(&f);
    Observation history = movie_part(&f.movie, 0, T);
    f.model->config.data.time_step = 0.04;
    history.time_step = 0.08;
    encode(&f, &history, see(&f, 0, NULL, present), &scene);
    assert_true(scene.bodies.count > 0 && scene.bodies.scale == (real)0.25);
    teardown(&f);
}

static void change_byte(const char *path, off_t at) {
    int file = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static off_t size_of(const char *path) {
    int file = open(path, O_RDONLY);
    off_t size = lseek(file, 0, SEEK_END);
    close(file);
    return size;
}

static void a_damaged_record_is_measured_again(void **state) {
    (void)state;
    static Fixture f;
    setup(&f);
    MotionSeen own = copy_of(see(&f, 0, NULL, present));
    off_t size = size_of(f.path);
    size_t record =
        sizeof(MotionRecord) + own.field.count * MOTION_FIELD_WIDTH * sizeof(real) + own.frames * own.flag_bytes;
    // The byte 8 is the episode's key: a record of another one is missing.
    const off_t begin = size - (off_t)record, wrong[] = {begin, begin + 16, begin + 20, begin + 60, size - 1};
    change_byte(f.path, begin + 8);
    assert_true(same(&own, see(&f, 0, NULL, present)) && test_said(f.said, ""));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        change_byte(f.path, wrong[i]);
        assert_true(same(&own, see(&f, 0, NULL, present)));
        assert_true(test_said(f.said, "motion at episode 2, frame 6 is damaged; it is measured again"));
        assert_true(same(&own, see(&f, 2, NULL, present)) && test_said(f.said, ""));
    }
    assert_int_equal(truncate(f.path, size - 1), 0);
    assert_true(same(&own, see(&f, 0, NULL, present)) && test_said(f.said, "damaged"));
    motion_seen_free(&own);
    teardown(&f);
}

// Other pictures under the same name show that nothing was taken from the file.
static void of_other_data(Fixture *f) {
    MotionSeen own = copy_of(see(f, 0, NULL, present));
    assert_true(test_said(f->said, ""));
    open_cache(f);
    assert_true(same(&own, see(f, 2, NULL, present)) && test_said(f->said, ""));
    f->episodes[EPISODE].data++;
    open_cache(f);
    assert_true(test_said(f->said, "motion of 2 of 3 episodes is kept, that of the others is measured"));
    assert_false(same(&own, see(f, 2, NULL, present)));
    motion_seen_free(&own);
}

static void a_foreign_file_is_emptied(void **state) {
    (void)state;
    static Fixture f;
    setup(&f);
    of_other_data(&f);
    f.episodes[EPISODE].frames--;
    open_cache(&f);
    assert_true(test_said(f.said, "motion of 2 of 3 episodes is kept"));
    f.episodes[EPISODE].pixels--;
    open_cache(&f);
    assert_true(test_said(f.said, "motion of 2 of 3 episodes is kept"));
    open_model(&f, (const char *[]){"train.seed=7", NULL}); // of which fields know nothing
    open_cache(&f);
    assert_true(test_said(f.said, ""));
    open_model(&f, (const char *[]){"gnn.colour_length=0.5", NULL});
    open_cache(&f);
    assert_true(
        test_said(f.said, "made with other options or another version of the program; motion is measured again"));
    open_model(&f, (const char *[]){"data.extent=2.5", "gnn.colour_length=0.5", NULL});
    open_cache(&f);
    assert_true(test_said(f.said, "made with data.extent 2 m, this run has 2.5 m; motion is measured again"));
    change_byte(f.path, 20);
    open_cache(&f);
    assert_true(test_said(f.said, "damaged, or made by another version of the program; motion is measured again"));
    open_cache(&f);
    assert_true(test_said(f.said, ""));
    teardown(&f);
}

// A process that still has the file open writes to it after another one has given the blocks to other data.
static void records_of_another_process(void **state) {
    (void)state;
    static Fixture f;
    setup(&f);
    MotionSeen own = copy_of(see(&f, 0, NULL, present));
    MotionCache first = f.cache;
    f.cache = (MotionCache){0};
    for (int e = 0; e < EPISODES; e++) f.episodes[e].data += 100;
    open_cache(&f);
    assert_true(test_said(f.said, "motion of 0 of 3 episodes is kept"));
    assert_false(same(&own, see(&f, 2, NULL, present)));
    MotionCache second = f.cache;
    f.cache = first;
    see(&f, 0, NULL, present);
    assert_true(same(&own, see(&f, 0, NULL, present)));
    first = f.cache;
    f.cache = second;
    assert_false(same(&own, see(&f, 2, NULL, present)));
    motion_cache_close(&first);
    motion_seen_free(&own);
    teardown(&f);
}

enum { SUMS = 6 };

// Sums over a field: motion, the absolute values of its gradient, points, and the numbers of their bodies from -1 on.
static void sums_of(const MotionField *field, double sum[SUMS]) {
    for (int c = 0; c < SUMS; c++) sum[c] = 0;
    sum[4] = (double)field->count;
    for (size_t i = 0; i < field->count; i++) sum[5] += 1 + (double)field->body[i];
    for (size_t i = 0; i < 3 * field->count; i++) sum[i % 3] += (double)field->motion[i];
    for (size_t i = 0; i < 9 * field->count; i++) sum[3] += fabs((double)field->gradient[i]);
}

// Files are kept as long as MOTION_VERSION is the same. Whoever changes these numbers raises it.
static void these_are_the_numbers_of_this_version(void **state) {
    (void)state;
    static Fixture f;
    const double seen_sum[SUMS] = {59.1998256, 23.5598423, -17.656405, 124.168872, 1106, 590};
    double seen[SUMS];
    setup(&f);
    sums_of(&see(&f, 0, NULL, present)->field, seen);
    assert_int_equal(MOTION_VERSION, 19);
    // Instruction sets agree to all digits; 1e-5: roundings of other compilers.
    for (int c = 0; c < SUMS; c++) assert_close(seen[c], seen_sum[c], 0, 1e-5);
    teardown(&f);
}

static void limit_files(rlim_t most) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = most ? most : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// A file that may not grow stands for a full disk: of a new file the table fits, or nothing does; or some bytes of a
// record do.
static void a_full_disk_is_no_end(void **state) {
    (void)state;
    static Fixture f;
    VideoFrame later = present;
    later.frame++;
    setup(&f);
    MotionSeen own = copy_of(see(&f, 0, NULL, present));
    off_t size = size_of(f.path);
    const rlim_t most[] = {4096 + EPISODES * 16, 3000, (rlim_t)size - 1000};
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(unlink(f.path), 0);
        limit_files(most[i]);
        open_cache(&f);
        bool same_as_own = same(&own, see(&f, 0, NULL, present)), more = see(&f, 0, NULL, later)->field.count > 30;
        limit_files(0);
        assert_true(same_as_own && more);
        char text[2000] = "";
        rewind(f.said);
        text[fread(text, 1, sizeof text - 1, f.said)] = 0;
        const char *first = strstr(text, i < 2 ? "cannot write (File too large)" : "cannot write (No space left");
        assert_true(first && !strstr(first + 1, "cannot write")); // once
        assert_true(test_said(f.said, "motion.bin"));
        open_cache(&f); // nothing that was cut short is taken
        assert_false(same(&own, see(&f, 2, NULL, present)));
        assert_true(test_said(f.said, ""));
    }
    motion_seen_free(&own);
    teardown(&f);
}

// What a file has is read though nothing can be added to it.
static void a_full_disk_keeps_what_it_has(void **state) {
    (void)state;
    static Fixture f;
    setup(&f);
    MotionSeen own = copy_of(see(&f, 0, NULL, present));
    f.episodes[0].data = 99;
    signal(SIGXFSZ, SIG_IGN);
    limit_files(4096);
    open_cache(&f);
    bool kept = same(&own, see(&f, 2, NULL, present)),
         other = !same(&own, see(&f, 2, NULL, (VideoFrame){.frame = 6, .stride = 1}));
    limit_files(0);
    assert_true(kept && other);
    assert_true(test_said(f.said, "cannot write"));
    open_cache(&f);
    assert_true(same(&own, see(&f, 2, NULL, present)));
    assert_true(test_said(f.said, "motion of 2 of 3 episodes is kept"));
    motion_seen_free(&own);
    teardown(&f);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    static Fixture f;
    Error err = {0};
    MotionCache cache;
    setup(&f);
    assert_status_error(motion_cache_open(&cache, f.folder, f.model, EPISODES, f.episodes, NULL, &err),
                        STATUS_BAD_INPUT, err, f.folder);
    assert_true(!cache.is_open && !cache.block);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_seen_once),
        cmocka_unit_test(an_encoding_takes_what_was_seen),
        cmocka_unit_test(bodies_have_the_rate_of_their_frames),
        cmocka_unit_test(a_damaged_record_is_measured_again),
        cmocka_unit_test(a_foreign_file_is_emptied),
        cmocka_unit_test(records_of_another_process),
        cmocka_unit_test(these_are_the_numbers_of_this_version),
        cmocka_unit_test(a_full_disk_is_no_end),
        cmocka_unit_test(a_full_disk_keeps_what_it_has),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
