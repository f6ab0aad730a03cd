// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/json.h"
#include "tests/test.h"

static void test_lines(void **state) {
    (void)state;
    char *text = NULL;
    size_t length;
    Error err;
    FILE *out = open_memstream(&text, &length);
    assert_status_ok(
        json_write_line(out, json_pack("{s:i,s:o,s:o}", "step", 3, "loss", json_finite(0.1f), "bad", json_finite(NAN)),
                        &err),
        err);
    assert_status_ok(json_write_line(out, json_pack("{s:s}", "a", "b\nc"), &err), err);
    fclose(out);
    assert_string_equal(text, "{\"step\":3,\"loss\":0.100000001,\"bad\":null}\n{\"a\":\"b\\nc\"}\n");
    free(text);
    assert_status_error(json_write_line(stderr, NULL, &err), STATUS_FAILED, err, "cannot write JSON");
}

static void test_texts(void **state) {
    (void)state;
    static const char *const cases[][2] = {{NULL, ""}, {"b\xC3\xA4lle", "b\xC3\xA4lle"}, {"b\xE4lle", "b?lle"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *text = json_text(cases[i][0]);
        assert_string_equal(json_string_value(text), cases[i][1]);
        json_decref(text);
    }
}

static void test_full_disk(void **state) {
    (void)state;
    Error err;
    FILE *full = fopen("/dev/full", "w");
    setvbuf(full, NULL, _IONBF, 0);
    assert_status_error(json_write_line(full, json_pack("{s:i}", "a", 1), &err), STATUS_FAILED, err, "No space left");
    fclose(full);
}

static void test_read(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {{"{\"a\": 1, \"a\": 2}", "a.json:1:"},
                 {"{\"a\": 1", "not valid JSON"},
                 {"", "a.json:1:0"},
                 {"{}\n\n {", "a.json:3:2"},
                 {"{\"a\": NaN}", "not valid JSON"}};
    char folder[64], path[96];
    Error err;
    json_t *json;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.json", folder);
    assert_status_error(json_read_file(path, 100, &json, &err), STATUS_BAD_INPUT, err, "No such file");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_status_ok(file_write_bytes(path, cases[i].text, strlen(cases[i].text), &err), err);
        assert_status_error(json_read_file(path, 100, &json, &err), STATUS_BAD_INPUT, err, cases[i].words);
        assert_null(json);
    }
    assert_status_ok(file_write_bytes(path, "{\"a\": 1}", 8, &err), err);
    assert_status_ok(json_read_file(path, 100, &json, &err), err);
    assert_int_equal(json_integer_value(json_object_get(json, "a")), 1);
    json_decref(json);
    assert_status_error(json_read_file(path, 7, &json, &err), STATUS_BAD_INPUT, err, "at most 7 bytes");
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_full_disk), cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
