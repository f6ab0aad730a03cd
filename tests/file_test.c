// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { CAP = 1000 };

typedef struct Place {
    char folder[64], path[128];
} Place;

static int setup(void **state) {
    Place *place = calloc(1, sizeof *place);
    test_make_folder(place->folder);
    snprintf(place->path, sizeof place->path, "%s/a.txt", place->folder);
    *state = place;
    return 0;
}

static int teardown(void **state) {
    Place *place = *state;
    test_remove_folder(place->folder);
    free(place);
    return 0;
}

static bool holds(const char *path, const char *wanted) {
    char *text;
    size_t length;
    Error err;
    if (file_read_all(path, CAP, &text, &length, &err) != STATUS_OK) return false;
    bool same = length == strlen(wanted) && memcmp(text, wanted, length + 1) == 0;
    free(text);
    return same;
}

static size_t count_files(const char *folder) {
    FileList list;
    Error err;
    assert_status_ok(file_list(folder, &list, &err), err);
    size_t count = list.count;
    file_list_free(&list);
    return count;
}

static void test_read_and_write(void **state) {
    Place *place = *state;
    Error err;
    assert_false(file_exists(place->path));
    assert_status_ok(file_write_bytes(place->path, "hello", 5, &err), err);
    assert_true(file_exists(place->path));
    assert_true(holds(place->path, "hello"));
    assert_status_ok(file_write_bytes(place->path, "", 0, &err), err);
    assert_true(holds(place->path, ""));
    assert_int_equal(count_files(place->folder), 1);
}

// A published file is as readable as any other the user makes.
static void test_mode(void **state) {
    Place *place = *state;
    Error err;
    struct stat info;
    mode_t mask = umask(027);
    assert_status_ok(file_write_bytes(place->path, "x", 1, &err), err);
    umask(mask);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_guarded_open(void **state) {
    Place *place = *state;
    char fifo[96];
    Error err;
    int fd = 7;
    assert_status_error(file_check(place->path, CAP, &err), STATUS_BAD_INPUT, err, "a.txt: cannot open: No such file");
    assert_status_error(file_check(place->folder, CAP, &err), STATUS_BAD_INPUT, err, "expected a file, found a folder");
    assert_status_error(file_check("/dev/zero", CAP, &err), STATUS_BAD_INPUT, err, "expected a regular file");
    snprintf(fifo, sizeof fifo, "%s/fifo", place->folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    alarm(5); // a guard that waits for a writer would hang here
    assert_status_error(file_open(fifo, CAP, &fd, NULL, &err), STATUS_BAD_INPUT, err, "expected a regular file");
    alarm(0);
    assert_int_equal(fd, -1);
    assert_status_ok(file_write_bytes(place->path, "", 0, &err), err);
    assert_int_equal(truncate(place->path, CAP), 0);
    assert_status_ok(file_check(place->path, CAP, &err), err);
    assert_int_equal(truncate(place->path, CAP + 1), 0);
    assert_status_error(file_check(place->path, CAP, &err), STATUS_BAD_INPUT, err, "at most 1000 bytes, found 1001");
}

static Status write_half_then_fail(const char *temporary, void *context, Error *err) {
    FILE *file = fopen(temporary, "wb");
    fputs("half", file);
    fclose(file);
    *(int *)context += 1;
    return error_set(err, STATUS_FAILED, "the disk is full");
}

static void test_failed_write_leaves_the_old_file(void **state) {
    Place *place = *state;
    Error err;
    int calls = 0;
    assert_status_ok(file_write_bytes(place->path, "old", 3, &err), err);
    Status status = file_write_atomic(place->path, write_half_then_fail, &calls, &err);
    assert_int_equal(status, STATUS_FAILED);
    assert_string_equal(err.text, "the disk is full");
    assert_int_equal(calls, 1);
    assert_true(holds(place->path, "old"));
    assert_int_equal(count_files(place->folder), 1);
}

static void test_drafts(void **state) {
    Place *place = *state;
    FileDraft draft = {0}, other = {0};
    Error err;
    file_draft_abandon(&draft); // empty: nothing happens
    assert_status_ok(file_draft_begin(&draft, place->path, &err), err);
    assert_status_ok(file_draft_begin(&other, place->path, &err), err);
    assert_string_not_equal(draft.temporary, other.temporary);
    assert_false(file_exists(place->path));
    FILE *file = fopen(draft.temporary, "wb");
    fputs("one", file);
    fclose(file);
    file_draft_abandon(&other);
    assert_status_ok(file_draft_commit(&draft, &err), err);
    file_draft_abandon(&draft); // committed: nothing happens
    assert_true(holds(place->path, "one"));
    assert_int_equal(count_files(place->folder), 1);
}

static void test_bad_targets(void **state) {
    Place *place = *state;
    char path[256], longest[FILE_PATH_SIZE + 10];
    Error err;
    assert_status_error(file_write_bytes(place->folder, "x", 1, &err), STATUS_BAD_INPUT, err, "no regular file");
    assert_status_error(file_write_bytes("/dev/null", "x", 1, &err), STATUS_BAD_INPUT, err, "/dev/null: cannot write");
    assert_status_ok(file_write_bytes(place->path, "x", 1, &err), err);
    snprintf(path, sizeof path, "%s/folder/b.txt", place->path); // would lie in a file
    assert_status_error(file_write_bytes(path, "x", 1, &err), STATUS_BAD_INPUT, err, "cannot write: Not a directory");
    unlink(place->path);
    assert_status_error(file_write_bytes("/proc/nothing.txt", "x", 1, &err), STATUS_BAD_INPUT, err, "cannot write");
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_status_error(file_write_bytes(longest, "x", 1, &err), STATUS_BAD_INPUT, err, "too long");
    assert_int_equal(count_files(place->folder), 0);
}

// A size limit on files stands in for a full disk: the write fails half way.
static void test_full_disk(void **state) {
    Place *place = *state;
    static char bytes[100000];
    struct rlimit old, small;
    Error err;
    assert_status_ok(file_write_bytes(place->path, "old", 3, &err), err);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){50000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    Status status = file_write_bytes(place->path, bytes, sizeof bytes, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(err.text, "a.txt: cannot write: File too large"));
    assert_true(holds(place->path, "old"));
    assert_int_equal(count_files(place->folder), 1);
    assert_int_equal(file_error(&err, "x", "write", ENOSPC), STATUS_FAILED);
    assert_string_equal(err.text, "x: cannot write: No space left on device");
}

static void test_folders(void **state) {
    Place *place = *state;
    char deep[256];
    Error err;
    snprintf(deep, sizeof deep, "%s/a/b//c/", place->folder);
    assert_status_ok(file_make_folders(deep, &err), err);
    assert_status_ok(file_make_folders(deep, &err), err);
    assert_true(file_is_folder(deep));
    snprintf(deep, sizeof deep, "%s/d/e/file.txt", place->folder);
    assert_status_ok(file_write_bytes(deep, "x", 1, &err), err);
    assert_status_ok(file_make_parent("file.txt", &err), err);
    assert_status_error(file_make_folders(deep, &err), STATUS_BAD_INPUT, err, "cannot make this folder: File exists");
    snprintf(deep, sizeof deep, "%s/d/e/file.txt/f", place->folder);
    assert_status_error(file_make_folders(deep, &err), STATUS_BAD_INPUT, err, "cannot make this folder");
}

static void test_list(void **state) {
    Place *place = *state;
    static const char *const names[] = {"b", "a10", "a2", "Z", ".hidden"};
    static const char *const sorted[] = {".hidden", "Z", "a10", "a2", "b"};
    FileList list;
    Error err;
    for (int i = 0; i < 5; i++) {
        snprintf(place->path, sizeof place->path, "%s/%s", place->folder, names[i]);
        assert_status_ok(file_write_bytes(place->path, "", 0, &err), err);
    }
    assert_status_ok(file_list(place->folder, &list, &err), err);
    assert_int_equal(list.count, 5);
    for (int i = 0; i < 5; i++) assert_string_equal(list.names[i], sorted[i]);
    file_list_free(&list);
    file_list_free(&list);
    assert_status_error(file_list("/no/such", &list, &err), STATUS_BAD_INPUT, err, "/no/such: cannot list");
    file_list_free(&list);
}

static void test_join(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"a", "/b", "/b"}, {"/", "b", "/b"}};
    char out[16];
    Error err;
    for (int i = 0; i < 5; i++) {
        assert_status_ok(file_join(out, sizeof out, cases[i][0], cases[i][1], &err), err);
        assert_string_equal(out, cases[i][2]);
    }
    assert_status_error(file_join(out, sizeof out, "0123456789", "abcdef", &err), STATUS_BAD_INPUT, err, "too long");
}

// Names in a stranger's file may not lead out of its folder, by dots, by links or by an absolute path.
static void test_folder_of_a_file(void **state) {
    static const char *const cases[][2] = {{"a/b.txt", "a"},   {"b.txt", "."}, {"/b.txt", "/"},
                                           {"/a/b/c", "/a/b"}, {"./b", "."},   {"a/", "a"}};
    char out[FILE_PATH_SIZE], path[FILE_PATH_SIZE + 3];
    Error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_status_ok(file_folder(out, cases[i][0], &err), err);
        assert_string_equal(out, cases[i][1]);
    }
    memset(path, 'a', sizeof path);
    memcpy(path + FILE_PATH_SIZE, "/b", 3);
    assert_status_error(file_folder(out, path, &err), STATUS_BAD_INPUT, err, "too long");
}

static void test_resolve_beneath(void **state) {
    Place *place = *state;
    char inner[128], out[FILE_PATH_SIZE], link[160];
    Error err;
    assert_status_ok(file_write_bytes(place->path, "x", 1, &err), err);
    snprintf(inner, sizeof inner, "%s/in", place->folder);
    assert_status_ok(file_make_folders(inner, &err), err);
    snprintf(link, sizeof link, "%s/good", inner);
    assert_status_ok(file_write_bytes(link, "x", 1, &err), err);
    assert_status_ok(file_resolve_beneath(out, inner, "good", &err), err);
    assert_status_ok(file_resolve_beneath(out, inner, "../in/good", &err), err);
    assert_status_error(file_resolve_beneath(out, inner, "../a.txt", &err), STATUS_BAD_INPUT, err,
                        "expected a file beneath");
    assert_status_error(file_resolve_beneath(out, inner, "/etc/passwd", &err), STATUS_BAD_INPUT, err, "beneath");
    assert_status_error(file_resolve_beneath(out, inner, "gone", &err), STATUS_BAD_INPUT, err, "No such file");
    snprintf(link, sizeof link, "%s/link", inner);
    assert_int_equal(symlink("../a.txt", link), 0);
    assert_status_error(file_resolve_beneath(out, inner, "link", &err), STATUS_BAD_INPUT, err, "beneath");
    // A folder whose name only begins like the allowed one.
    snprintf(link, sizeof link, "%s/in2", place->folder);
    assert_status_ok(file_write_bytes(link, "x", 1, &err), err);
    assert_status_error(file_resolve_beneath(out, inner, "../in2", &err), STATUS_BAD_INPUT, err, "beneath");
}

// The comparison the other tests rest on must see a wrong byte, a missing one and one too many.
static void test_planted_error(void **state) {
    Place *place = *state;
    Error err;
    assert_status_ok(file_write_bytes(place->path, "abc", 3, &err), err);
    assert_true(holds(place->path, "abc"));
    assert_false(holds(place->path, "abx"));
    assert_false(holds(place->path, "ab"));
    assert_false(holds(place->path, "abcd"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_read_and_write),
        WITH_FOLDER(test_mode),
        WITH_FOLDER(test_guarded_open),
        WITH_FOLDER(test_failed_write_leaves_the_old_file),
        WITH_FOLDER(test_drafts),
        WITH_FOLDER(test_bad_targets),
        WITH_FOLDER(test_full_disk),
        WITH_FOLDER(test_folders),
        WITH_FOLDER(test_list),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_folder_of_a_file),
        WITH_FOLDER(test_resolve_beneath),
        WITH_FOLDER(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
