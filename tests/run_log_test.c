// SPDX-License-Identifier: Apache-2.0
// JSON lines and TensorBoard events: exact bytes, and what a resumed run keeps.
#include "tests/test.h"

#include "base/file.h"
#include "base/json.h"
#include "train/run_log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

typedef struct Setting {
    char folder[64], metrics[96];
    RunLog log;
    Error err;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    test_make_folder(s->folder);
    snprintf(s->metrics, sizeof s->metrics, "%s/metrics.jsonl", s->folder);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Setting *s = *state;
    run_log_close(&s->log);
    test_remove_folder(s->folder);
    free(s);
    return 0;
}

static void write_line(Setting *s, long step, double loss) {
    run_log_begin(&s->log, "train", step);
    run_log_number(&s->log, "loss", loss);
    assert_status_ok(run_log_end(&s->log, &s->err), s->err);
}

static void expect_metrics(Setting *s, const char *expected) {
    char *text;
    size_t length;
    assert_status_ok(file_read_all(s->metrics, 1 << 20, &text, &length, &s->err), s->err);
    assert_string_equal(text, expected);
    free(text);
}

static bool hear(void *owner, const char *json) {
    snprintf(owner, 256, "%s", json);
    return strstr(json, "\"step\":2") != NULL;
}

static void a_listener_hears_lines_and_ends_the_run(void **state) {
    Setting *s = *state;
    char heard[256];
    assert_status_ok(run_log_open(&s->log, s->folder, -1, true, &s->err), s->err);
    s->log.listener = (RunListener){heard, hear};
    write_line(s, 1, 0.5);
    assert_string_equal(heard, "{\"step\":1,\"kind\":\"train\",\"loss\":0.5}");
    assert_false(s->log.asked_to_end);
    write_line(s, 2, 0.25);
    write_line(s, 3, 0.125);
    assert_string_equal(heard, "{\"step\":3,\"kind\":\"train\",\"loss\":0.125}");
    assert_true(s->log.asked_to_end);
}

static void lines_hold_what_was_given(void **state) {
    Setting *s = *state;
    assert_status_ok(run_log_open(&s->log, s->folder, -1, true, &s->err), s->err);
    run_log_begin(&s->log, "train", 7);
    run_log_number(&s->log, "loss", 0.1f);
    run_log_number(&s->log, "gradient_norm", INFINITY);
    run_log_integer(&s->log, "peak_bytes", 5000000000);
    run_log_numbers(&s->log, "loss_at", 3, (double[]){0.5, NAN, 2});
    run_log_text(&s->log, "note", "a \"word\"\n");
    assert_status_ok(run_log_end(&s->log, &s->err), s->err);
    run_log_begin(&s->log, "eval", 7);
    assert_status_ok(run_log_end(&s->log, &s->err), s->err);
    expect_metrics(
        s, "{\"step\":7,\"kind\":\"train\",\"loss\":0.100000001,\"gradient_norm\":null,\"peak_bytes\":5000000000,"
           "\"loss_at\":[0.5,null,2.0],\"note\":\"a \\\"word\\\"\\n\"}\n{\"step\":7,\"kind\":\"eval\"}\n");
}

static void a_resumed_run_has_no_duplicates(void **state) {
    Setting *s = *state;
    assert_status_ok(run_log_open(&s->log, s->folder, -1, true, &s->err), s->err);
    for (long step = 10; step <= 50; step += 10) write_line(s, step, (double)step);
    run_log_close(&s->log);
    FILE *file = fopen(s->metrics, "a");
    fputs("not JSON {\"step\":1}\n{\"step\":20,\"cut", file); // killed here
    fclose(file);
    assert_status_ok(run_log_open(&s->log, s->folder, 30, true, &s->err), s->err);
    write_line(s, 40, 4);
    expect_metrics(s,
                   "{\"step\":10,\"kind\":\"train\",\"loss\":10.0}\n{\"step\":20,\"kind\":\"train\",\"loss\":20.0}\n"
                   "{\"step\":30,\"kind\":\"train\",\"loss\":30.0}\n{\"step\":40,\"kind\":\"train\",\"loss\":4.0}\n");
    run_log_close(&s->log);
    assert_status_ok(run_log_open(&s->log, s->folder, 0, true, &s->err), s->err); // from the start again
    expect_metrics(s, "");
}

static void another_run_is_not_mixed_in(void **state) {
    Setting *s = *state;
    assert_status_ok(run_log_open(&s->log, s->folder, -1, true, &s->err), s->err);
    run_log_close(&s->log);
    assert_status_ok(run_log_open(&s->log, s->folder, -1, true, &s->err), s->err); // nothing was logged yet
    write_line(s, 1, 1);
    run_log_close(&s->log);
    assert_status_error(run_log_open(&s->log, s->folder, -1, true, &s->err), STATUS_BAD_INPUT, s->err, "--resume");
    assert_null(s->log.lines);
    expect_metrics(s, "{\"step\":1,\"kind\":\"train\",\"loss\":1.0}\n");
}

static void places_that_cannot_be(void **state) {
    Setting *s = *state;
    char path[160];
    assert_status_ok(file_write_bytes(s->metrics, "", 0, &s->err), s->err);
    snprintf(path, sizeof path, "%s/below", s->metrics);
    assert_status_error(run_log_open(&s->log, path, -1, true, &s->err), STATUS_BAD_INPUT, s->err, s->metrics);
}

// The kernel stops both files at 4 KiB: an error, status 1; what was there stays readable and a resumed run mends the
// end.
static void a_full_disk(void **state) {
    Setting *s = *state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {4096, 4096};
        signal(SIGXFSZ, SIG_IGN);
        Status status = run_log_open(&s->log, s->folder, -1, true, &s->err);
        setrlimit(RLIMIT_FSIZE, &small);
        for (long step = 1; status == STATUS_OK && step < 1000; step++) {
            run_log_begin(&s->log, "train", step);
            run_log_text(&s->log, "note", "some text that fills the file of lines sooner than the file of events");
            status = run_log_end(&s->log, &s->err);
        }
        _exit(status == STATUS_FAILED && strstr(s->err.text, "File too large") ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_status_ok(run_log_open(&s->log, s->folder, 1000000, true, &s->err), s->err);
    char *text;
    size_t length;
    assert_status_ok(file_read_all(s->metrics, 1 << 20, &text, &length, &s->err), s->err);
    assert_true(length > 3000 && text[length - 1] == '\n');
    free(text);
}

// ---- TensorBoard

static void crc_known_values(void **state) {
    (void)state;
    // RFC 3720, B.4
    unsigned char bytes[32] = {0};
    assert_int_equal(tensorboard_crc32c(bytes, 32), 0x8A9136AA);
    memset(bytes, 0xFF, 32);
    assert_int_equal(tensorboard_crc32c(bytes, 32), 0x62A8AB43);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    assert_int_equal(tensorboard_crc32c(bytes, 32), 0x46DD794E);
    assert_int_equal(tensorboard_crc32c("123456789", 9), 0xE3069283);
}

static size_t read_events(Setting *s, char **bytes) {
    size_t size;
    assert_status_ok(file_read_all(s->log.events.path, 1 << 20, bytes, &size, &s->err), s->err);
    return size;
}

// Written once, and read then by tensorboard 2.21 (event_accumulator): version, restart at 31, loss 0.5 at 300, a 1 x 2
// picture.
static void events_known_bytes(void **state) {
    Setting *s = *state;
    static const unsigned char start[] = {
        0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa3, 0x7f, 0x4b, 0x22, 0x09, 0x00, 0x00, 0x00, 0xc0, 0x0b,
        0x5a, 0xd6, 0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e, 0x2e, 0x45, 0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32,
        0x4c, 0xa9, 0xa4, 0x64, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6d, 0x53, 0x2b, 0x09, 0x09, 0x00,
        0x00, 0x00, 0xc0, 0x0b, 0x5a, 0xd6, 0x41, 0x10, 0x1f, 0x3a, 0x02, 0x08, 0x01, 0x51, 0xf1, 0x5c, 0x73, 0x21,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7b, 0xec, 0xf6, 0x09, 0x00, 0x00, 0x40, 0xc0, 0x0b, 0x5a,
        0xd6, 0x41, 0x10, 0xac, 0x02, 0x2a, 0x13, 0x0a, 0x11, 0x0a, 0x0a, 0x74, 0x72, 0x61, 0x69, 0x6e, 0x2f, 0x6c,
        0x6f, 0x73, 0x73, 0x15, 0x00, 0x00, 0x00, 0x3f, 0xce, 0xf8, 0x60, 0x9d,
    };
    unsigned char grey[2] = {0, 255};
    Image image = {.H = 1, .W = 2, .channels = 1, .type = PIXEL_U8, .pixels = grey};
    TensorBoard *board = &s->log.events;
    assert_status_ok(tensorboard_open(board, s->folder, 1.5e9, 31, &s->err), s->err);
    assert_status_ok(tensorboard_scalar(board, 1.5e9 + 1, 300, "train/loss", 0.5, &s->err), s->err);
    assert_status_ok(tensorboard_image(board, 1.5e9 + 2, 300, "truth", &image, &s->err), s->err);
    assert_status_ok(tensorboard_flush(board, &s->err), s->err);
    char *bytes;
    size_t size = read_events(s, &bytes);
    const char *keep = getenv("VPD_KEEP_EVENTS"); // a path: for looking at the file with TensorBoard
    if (keep) assert_status_ok(file_write_bytes(keep, bytes, size, &s->err), s->err);
    assert_true(size > sizeof start);
    assert_memory_equal(bytes, start, sizeof start);
    // The PNG's bytes are zlib's affair; the record around them is ours.
    uint64_t length;
    uint32_t crc;
    memcpy(&length, bytes + sizeof start, 8);
    assert_int_equal(sizeof start + 12 + length + 4, size);
    memcpy(&crc, bytes + sizeof start + 8, 4);
    assert_int_equal(crc, tensorboard_masked_crc(bytes + sizeof start, 8));
    memcpy(&crc, bytes + size - 4, 4);
    assert_int_equal(crc, tensorboard_masked_crc(bytes + sizeof start + 12, length));
    // A changed bit is seen.
    bytes[size - 6] ^= 1;
    assert_int_not_equal(crc, tensorboard_masked_crc(bytes + sizeof start + 12, length));
    free(bytes);
}

static void two_files_at_one_time(void **state) {
    Setting *s = *state;
    TensorBoard other;
    assert_status_ok(tensorboard_open(&s->log.events, s->folder, 1.5e9, -1, &s->err), s->err);
    assert_status_ok(tensorboard_open(&other, s->folder, 1.5e9, -1, &s->err), s->err);
    assert_string_not_equal(other.path, s->log.events.path);
    tensorboard_close(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_hold_what_was_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_listener_hears_lines_and_ends_the_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_resumed_run_has_no_duplicates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_run_is_not_mixed_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_that_cannot_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk, set_up, tear_down),
        cmocka_unit_test(crc_known_values),
        cmocka_unit_test_setup_teardown(events_known_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_files_at_one_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
