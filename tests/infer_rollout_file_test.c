// SPDX-License-Identifier: Apache-2.0
// Rollout files: what is written comes back, what is wrong in a stranger's file is said in one sentence, and a failed
// save leaves the old file.
#include "base/camera.h"
#include "base/file.h"
#include "datasets/h5.h"
#include "files/rollout_file.h"
#include "tests/test.h"

#include <signal.h>
#include <sys/resource.h>

enum { N = 7, D = 5, STEPS = 3, V = 2 };

static float *floats(size_t count, float first) {
    float *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = first + 0.25f * (float)i;
    return out;
}

static uint8_t *bytes(size_t count, unsigned first, unsigned modulus) {
    uint8_t *out = malloc(count);
    for (size_t i = 0; i < count; i++) out[i] = (uint8_t)((first + i) % modulus);
    return out;
}

static uint32_t *ties(size_t count) {
    uint32_t *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = (uint32_t)(5 * i % N);
    return out;
}

static RolloutSet make_set(size_t n, float first) {
    RolloutSet set = {.N = n, .D = D};
    set.positions = floats(3 * n, first);
    set.features = floats(D * n, first + 1);
    set.colour = bytes(3 * n, 9, 251);
    set.labels = calloc(n, sizeof *set.labels);
    set.labels[n - 1] = 40000;
    return set;
}

// Every third particle belongs to one of two bodies, of which the larger number is the largest there is.
static void make_bodies(RolloutSet *now) {
    now->before = floats(3 * now->N, -1);
    now->body = malloc(now->N * sizeof *now->body);
    now->moving = malloc(now->N);
    for (size_t i = 0; i < now->N; i++) {
        now->body[i] = i % 3 ? -1 : i % 2 ? 2 : ROLLOUT_BODIES_MAX - 1;
        now->moving[i] = i % 3 == 0;
    }
}

static void make_cameras(RolloutFile *r) {
    r->V = V;
    r->camera_frames = 1;
    r->H = 48;
    r->W = 64;
    r->intrinsics = malloc(9 * V * sizeof(double));
    r->world_from_camera = malloc(16 * V * sizeof(double));
    r->heldout = bytes(V, 0, 2);
    for (int v = 0; v < V; v++) {
        const double eye[3] = {2, v, 1.5}, target[3] = {0, 0, 0.1}, up[3] = {0, 0, 1};
        camera_intrinsics_from_fov(0.8, 48, 64, r->intrinsics + 9 * v);
        assert_true(camera_look_at(eye, target, up, r->world_from_camera + 16 * v));
    }
}

static void make_surface(RolloutSurface *s) {
    static const int32_t triangle[] = {0, 1, 2, 4, 5, 6}, spring[] = {0, 6, 3, 2};
    *s = (RolloutSurface){.triangles = 2, .springs = 2, .frames = STEPS + 1};
    s->triangle = memcpy(malloc(sizeof triangle), triangle, sizeof triangle);
    s->spring = memcpy(malloc(sizeof spring), spring, sizeof spring);
    s->touching = bytes((STEPS + 1) * N, 1, 2);
}

static void assert_surface_equal(const RolloutSurface *a, const RolloutSurface *b) {
    assert_true(a->triangles == b->triangles && a->springs == b->springs && a->frames == b->frames);
    assert_memory_equal(a->triangle, b->triangle, 3 * a->triangles * sizeof *a->triangle);
    assert_memory_equal(a->spring, b->spring, 2 * a->springs * sizeof *a->spring);
    assert_memory_equal(a->touching, b->touching, a->frames * N);
}

static RolloutFile make_rollout(void) {
    RolloutFile r = {.set_count = 2,
                     .steps = STEPS,
                     .time_step = 0.125,
                     .background = {0.25f, 0.5f, 0.75f},
                     .light = {0.6, 0, -0.8}};
    r.sets[0] = make_set(N, 0);
    r.sets[0].radius = floats(N, 0.125f);
    make_bodies(&r.sets[0]);
    r.sets[1] = make_set(N + 2, 3);
    r.sets[1].ties = ties(N + 2);
    r.positions = floats(STEPS * N * 3, 5);
    r.features = floats(STEPS * N * D, -5);
    r.time = malloc((STEPS + 1) * sizeof(double));
    for (int i = 0; i <= STEPS; i++) r.time[i] = 0.5 + 0.125 * i;
    r.has_bounds = true;
    memcpy(r.bounds, (double[]){-1, -1, 0, 1, 1, 2}, sizeof r.bounds);
    make_cameras(&r);
    r.first_frame = 3;
    r.frame_stride = 1;
    snprintf(r.checkpoint, sizeof r.checkpoint, "runs/a/latest.h5");
    snprintf(r.checkpoint_hash, sizeof r.checkpoint_hash, "xxh3:0123456789abcdef");
    snprintf(r.dataset, sizeof r.dataset, "data/blöcke.h5");
    snprintf(r.episode, sizeof r.episode, "000041");
    r.label_names = strdup("box\nball\n");
    make_surface(&r.surface);
    return r;
}

static void assert_set_equal(const RolloutSet *a, const RolloutSet *b) {
    assert_int_equal(a->N, b->N);
    assert_int_equal(a->D, b->D);
    assert_memory_equal(a->positions, b->positions, a->N * 12);
    assert_memory_equal(a->features, b->features, a->N * a->D * 4);
    assert_memory_equal(a->colour, b->colour, a->N * 3);
    assert_memory_equal(a->labels, b->labels, a->N * 2);
    assert_true(!a->ties == !b->ties);
    if (a->ties) assert_memory_equal(a->ties, b->ties, a->N * 4);
    assert_true(!a->radius == !b->radius && !a->before == !b->before && !a->body == !b->body);
    assert_true(!a->body == !a->moving && !b->body == !b->moving);
    if (a->radius) assert_memory_equal(a->radius, b->radius, a->N * 4);
    if (a->before) assert_memory_equal(a->before, b->before, a->N * 12);
    if (a->body) assert_memory_equal(a->body, b->body, a->N * 4);
    if (a->moving) assert_memory_equal(a->moving, b->moving, a->N);
}

static void assert_rollout_equal(const RolloutFile *a, const RolloutFile *b) {
    assert_int_equal(a->set_count, b->set_count);
    for (int i = 0; i < a->set_count; i++) assert_set_equal(a->sets + i, b->sets + i);
    assert_int_equal(a->steps, b->steps);
    assert_surface_equal(&a->surface, &b->surface);
    assert_memory_equal(a->positions, b->positions, STEPS * N * 12);
    assert_memory_equal(a->features, b->features, STEPS * N * D * 4);
    assert_memory_equal(a->time, b->time, (STEPS + 1) * 8);
    assert_true(a->time_step == b->time_step && a->has_bounds == b->has_bounds);
    assert_memory_equal(a->background, b->background, sizeof a->background);
    assert_memory_equal(a->light, b->light, sizeof a->light);
    assert_memory_equal(a->bounds, b->bounds, sizeof a->bounds);
    assert_true(a->V == b->V && a->H == b->H && a->W == b->W && a->camera_frames == b->camera_frames);
    assert_memory_equal(a->intrinsics, b->intrinsics, 9 * V * 8);
    assert_memory_equal(a->world_from_camera, b->world_from_camera, 16 * V * 8);
    assert_memory_equal(a->heldout, b->heldout, V);
    assert_string_equal(a->checkpoint, b->checkpoint);
    assert_string_equal(a->checkpoint_hash, b->checkpoint_hash);
    assert_string_equal(a->dataset, b->dataset);
    assert_string_equal(a->episode, b->episode);
    assert_string_equal(a->label_names, b->label_names);
    assert_string_equal(a->edit_history, b->edit_history);
    assert_true(a->first_frame == b->first_frame && a->frame_stride == b->frame_stride);
}

// A scene of single particles has contact, but neither triangles nor springs.
static void test_contact_alone(void **state) {
    (void)state;
    char folder[64], path[128];
    Error err;
    RolloutFile written = make_rollout(), read;
    RolloutSurface *s = &written.surface;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    s->triangles = s->springs = 0;
    free(s->triangle), s->triangle = NULL;
    free(s->spring), s->spring = NULL;
    assert_status_ok(rollout_file_write(&written, path, &err), err);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_int_equal(read.surface.frames, STEPS + 1);
    assert_memory_equal(read.surface.touching, s->touching, (STEPS + 1) * N);
    assert_true(!read.surface.triangle && !read.surface.spring);
    rollout_file_free(&read);
    rollout_file_free(&written);
    test_remove_folder(folder);
}

static void test_round_trip(void **state) {
    (void)state;
    char folder[64], path[128], *text;
    size_t length;
    Error err;
    RolloutFile written = make_rollout(), read;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    assert_status_ok(rollout_file_note(&written, "delete label 2", &err), err);
    assert_status_ok(rollout_file_note(&written, "push label 1 by 0.1 0 0", &err), err);
    assert_string_equal(written.edit_history, "delete label 2\npush label 1 by 0.1 0 0\n");
    assert_status_ok(rollout_file_write(&written, path, &err), err);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_rollout_equal(&written, &read);
    assert_true(strncmp(read.generator, "vpd ", 4) == 0 && read.created[0]);
    rollout_file_free(&read);
    assert_status_ok(file_read_all(path, 1 << 24, &text, &length, &err), err);
    assert_status_ok(rollout_file_read_memory(text, length, "memory", &read, &err), err);
    assert_rollout_equal(&written, &read);
    free(text);
    rollout_file_free(&read);
    assert_status_ok(rollout_file_copy(&written, &read, &err), err); // it has memory of its own
    rollout_file_free(&written);
    assert_status_ok(rollout_file_write(&read, path, &err), err);
    assert_status_ok(rollout_file_read(path, &written, &err), err);
    assert_rollout_equal(&written, &read);
    rollout_file_free(&read);
    rollout_file_free(&written);
    test_remove_folder(folder);
}

// Ties hold for the places that they were found for. Another program's changes to these, or a file without what says
// so, leave them out; other changes keep them.
static void test_ties_of_changed_files(void **state) {
    (void)state;
    char folder[64], path[128];
    Error err;
    float x = 7;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    const char *const changed[] = {"now/colour", "now/positions", "past/positions", NULL};
    for (int i = 0; i < 4; i++) {
        RolloutFile written = make_rollout(), read;
        assert_status_ok(rollout_file_write(&written, path, &err), err);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t array = changed[i] ? H5Dopen2(file, changed[i], H5P_DEFAULT) : H5I_INVALID_HID;
        hid_t space = H5Screate_simple(2, (hsize_t[]){1, 1}, NULL), all = changed[i] ? H5Dget_space(array) : space;
        H5Sselect_hyperslab(all, H5S_SELECT_SET, (hsize_t[]){0, 0}, NULL, (hsize_t[]){1, 1}, NULL);
        if (changed[i]) assert_true(H5Dwrite(array, H5T_NATIVE_FLOAT, space, all, H5P_DEFAULT, &x) >= 0);
        else assert_true(H5Adelete(file, "ties_of") >= 0);
        if (changed[i]) H5Sclose(all), H5Dclose(array);
        H5Sclose(space);
        H5Fclose(file);
        assert_status_ok(rollout_file_read(path, &read, &err), err);
        assert_int_equal(read.sets[1].ties != NULL, i == 0);
        rollout_file_free(&read);
        rollout_file_free(&written);
    }
    test_remove_folder(folder);
}

// One set of bare positions, no steps, no cameras, an empty past: the least that is a file.
static void test_least(void **state) {
    (void)state;
    char folder[64], path[128];
    Error err;
    double time = 0;
    RolloutFile least = {.set_count = 2, .time = &time}, read;
    least.sets[0] = (RolloutSet){.N = 1, .positions = floats(3, 1)};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/least.h5", folder);
    assert_status_ok(rollout_file_write(&least, path, &err), err);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_int_equal(read.set_count, 2);
    assert_int_equal(read.sets[0].N, 1);
    assert_int_equal(read.sets[1].N, 0);
    assert_true(!read.intrinsics && !read.positions && read.V == 0 && read.steps == 0 && !read.has_bounds);
    rollout_file_free(&read);
    free(least.sets[0].positions);
    least.sets[0] = (RolloutSet){0};
    assert_status_error(rollout_file_write(&least, path, &err), STATUS_BAD_INPUT, err, "the first not empty");
    assert_status_error(rollout_file_read("/nowhere/x.h5", &read, &err), STATUS_BAD_INPUT, err, "/nowhere/x.h5");
    test_remove_folder(folder);
}

// ---- spoiled files

typedef void Spoil(RolloutFile *rollout);
static void spoil_position(RolloutFile *r) { r->sets[0].positions[4] = NAN; }
static void spoil_rollout(RolloutFile *r) { r->positions[7] = INFINITY; }
static void spoil_feature(RolloutFile *r) { r->sets[1].features[2] = NAN; }
static void spoil_radius(RolloutFile *r) { r->sets[0].radius[1] = -0.5f; }
static void spoil_before(RolloutFile *r) { r->sets[0].before[5] = NAN; }
static void spoil_body(RolloutFile *r) { r->sets[0].body[6] = ROLLOUT_BODIES_MAX; }
static void spoil_still(RolloutFile *r) { r->sets[0].body[1] = -2; }
static void forget_before(RolloutFile *r) {
    free(r->sets[0].before);
    r->sets[0].before = NULL;
}
static void forget_body(RolloutFile *r) {
    free(r->sets[0].body);
    r->sets[0].body = NULL;
}
static void spoil_time(RolloutFile *r) { r->time[2] = r->time[1]; }
static void spoil_focal(RolloutFile *r) { r->intrinsics[9] = -3; }
static void spoil_pose(RolloutFile *r) { r->world_from_camera[16] *= 1.5; }
static void spoil_size(RolloutFile *r) { r->W = 0; }
static void spoil_stride(RolloutFile *r) { r->frame_stride = -1; }
static void spoil_background(RolloutFile *r) { r->background[1] = NAN; }
static void spoil_light(RolloutFile *r) { r->light[1] = 0.5; }
static void no_light(RolloutFile *r) { r->light[0] = INFINITY; }
static void spoil_features(RolloutFile *r) { r->sets[1].D = D - 1; }
static void spoil_ties(RolloutFile *r) { r->sets[1].ties[3] = N; }

static void test_wrong_values(void **state) {
    (void)state;
    const struct Case {
        Spoil *spoil;
        const char *words;
    } cases[] = {
        {spoil_position, "/now/positions: expected finite"},
        {spoil_rollout, "/rollout/positions: expected finite"},
        {spoil_feature, "/past/features: expected finite"},
        {spoil_radius, "/now/radius: expected finite lengths of 0 or more"},
        {spoil_before, "/now/before: expected finite"},
        {spoil_body, "/now/body: expected -1 to 16777215, found 16777216"},
        {spoil_still, "/now/body: expected -1 to 16777215, found -2"},
        {forget_before, "/now: expected before and body, or neither, found body alone"},
        {forget_body, "/now: expected before and body, or neither, found before alone"},
        {spoil_time, "/time: expected finite, strictly increasing"},
        {spoil_focal, "/cameras/intrinsics: expected focal"},
        {spoil_pose, "/cameras/world_from_camera: expected rigid"},
        {spoil_size, "/cameras/size: expected sides"},
        {spoil_stride, "frame_stride: expected a number"},
        {spoil_background, "/background: expected finite"},
        {spoil_light, "/light: expected a vector of length 1, found length 1.11803"},
        {no_light, "/light: expected a vector of length 1, found length inf"},
        {spoil_features, "/past/features: expected 5 features as in now, found 4"},
        {spoil_ties, "/past/ties: expected indices of the 7 present particles, found 7"},
    };
    char folder[64], path[128];
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/bad.h5", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err;
        RolloutFile bad = make_rollout(), read;
        cases[i].spoil(&bad);
        assert_status_ok(rollout_file_write(&bad, path, &err), err);
        assert_status_error(rollout_file_read(path, &read, &err), STATUS_BAD_INPUT, err, cases[i].words);
        assert_true(read.set_count == 0 && !read.time);
        rollout_file_free(&bad);
    }
    test_remove_folder(folder);
}

static void replace_array(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims) {
    float zeros[64] = {0};
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(array >= 0 && H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    H5Dclose(array);
    H5Sclose(space);
}

static void set_format(hid_t file, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Adelete(file, "format");
    H5Tset_size(type, strlen(text));
    hid_t attribute = H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void set_version(hid_t file, uint32_t major) {
    const uint32_t version[2] = {major, 0};
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    assert_true(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_UINT32, version) >= 0);
    H5Aclose(attribute);
}

static void change_file(const char *path, int what) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    if (what == 0) set_format(file, "vpd-dataset");
    if (what == 1) H5Ldelete(file, "now", H5P_DEFAULT);
    if (what == 2) replace_array(file, "rollout/positions", H5T_NATIVE_FLOAT, 3, (hsize_t[]){STEPS, N - 1, 3});
    if (what == 3) replace_array(file, "now/labels", H5T_NATIVE_FLOAT, 1, (hsize_t[]){N});
    if (what == 4) replace_array(file, "time", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){STEPS});
    if (what == 5) {
        H5Ldelete(file, "background", H5P_DEFAULT);
        H5Lcreate_external("/etc/passwd", "/x", file, "background", H5P_DEFAULT, H5P_DEFAULT);
    }
    if (what == 6) H5Adelete(file, "time_step");
    if (what == 7) replace_array(file, "past/ties", H5T_NATIVE_UINT32, 1, (hsize_t[]){N});
    if (what == 8) replace_array(file, "now/body", H5T_NATIVE_INT32, 1, (hsize_t[]){N - 1});
    if (what == 9) replace_array(file, "now/before", H5T_NATIVE_FLOAT, 2, (hsize_t[]){N, 2});
    if (what == 10) set_version(file, ROLLOUT_MAJOR + 1);
    H5Fclose(file);
}

static void test_wrong_structure(void **state) {
    (void)state;
    const char *const words[] = {
        "bad.h5: expected a rollout (format \"vpd-rollout\"), found a data set (format \"vpd-dataset\")",
        "/now: expected a group",
        "/rollout/positions: expected f32 [steps,N,3] = [steps,7,3], found f32 [3,6,3]",
        "/now/labels: expected u16",
        "/time: expected f64 [steps+1] = [4]",
        "/background: expected an object of this file",
        "expected the attribute time_step",
        "/past/ties: expected u32 [N] = [9], found u32 [7]",
        "/now/body: expected i32 [N] = [7], found i32 [6]",
        "/now/before: expected f32 [N,3] = [7,3], found f32 [7,2]",
        "expected format version 1.x to 3.x, found 4.0; use a newer vpd"};
    char folder[64], path[128];
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/bad.h5", folder);
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        Error err;
        RolloutFile good = make_rollout(), read;
        assert_status_ok(rollout_file_write(&good, path, &err), err);
        change_file(path, i);
        assert_status_error(rollout_file_read(path, &read, &err), STATUS_BAD_INPUT, err, words[i]);
        rollout_file_free(&good);
    }
    test_remove_folder(folder);
}

// Files of earlier versions: those of models with moving nodes say what they are, others are read.
static void test_earlier(void **state) {
    static const char gone[] =
        "earlier.h5: made by a model of an earlier version with moving nodes, which is gone; make "
        "it again with \"vpd rollout\"";
    char folder[64], path[128];
    Error err;
    (void)state;
    RolloutFile written = make_rollout(), read;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/earlier.h5", folder);
    assert_status_ok(rollout_file_note(&written, "delete label 2", &err), err);
    assert_status_ok(rollout_file_write(&written, path, &err), err);
    for (int motion = 0; motion < 2; motion++) {
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        if (motion) H5Gclose(H5Gcreate2(file, "motion", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        for (uint32_t major = 1; major <= 2; major++) {
            set_version(file, major);
            H5Fclose(file);
            if (major == 2 && !motion) {
                assert_status_ok(rollout_file_read(path, &read, &err), err);
                assert_rollout_equal(&written, &read);
                rollout_file_free(&read);
            } else assert_status_error(rollout_file_read(path, &read, &err), STATUS_BAD_INPUT, err, gone);
            file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        }
        H5Fclose(file);
    }
    rollout_file_free(&written);
    test_remove_folder(folder);
}

// Cut short anywhere: an error, never a crash, and never a file that is believed.
static void test_cut_short(void **state) {
    (void)state;
    char folder[64], path[128], *text;
    size_t length;
    Error err;
    RolloutFile good = make_rollout(), read;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    assert_status_ok(rollout_file_write(&good, path, &err), err);
    assert_status_ok(file_read_all(path, 1 << 24, &text, &length, &err), err);
    for (size_t cut = 1; cut < length; cut += 97) {
        char *part = malloc(cut + 1);
        memcpy(part, text, cut);
        assert_int_equal(rollout_file_read_memory(part, cut, "part", &read, &err), STATUS_BAD_INPUT);
        free(part);
    }
    free(text);
    rollout_file_free(&good);
    test_remove_folder(folder);
}

// A full disk (here: the largest size of a file) fails the save with status 1 and leaves the old file.
static void test_full_disk(void **state) {
    (void)state;
    char folder[64], path[128];
    Error err;
    RolloutFile good = make_rollout(), read;
    struct rlimit before, small;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    assert_status_ok(rollout_file_write(&good, path, &err), err);
    good.first_frame = 99;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 2000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    Status status = rollout_file_write(&good, path, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(err.text, "out.h5: cannot write"));
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_int_equal(read.first_frame, 3);
    rollout_file_free(&read);
    rollout_file_free(&good);
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_ties_of_changed_files),
        cmocka_unit_test(test_contact_alone), cmocka_unit_test(test_least),
        cmocka_unit_test(test_wrong_values),  cmocka_unit_test(test_wrong_structure),
        cmocka_unit_test(test_earlier),       cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
