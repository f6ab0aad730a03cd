// SPDX-License-Identifier: Apache-2.0
#include "tests/test.h"

#include "files/safetensors.h"

#include "base/file.h"
#include "base/random.h"

static const float weights[6] = {1, -2, 3.5f, 0, 1e-30f, 4};
static const double numbers[2] = {0.1, -5};
static const uint16_t halves[3] = {0x3C00, 0xC000, 0x0001};
static const SafetensorsArray arrays[] = {
    {"gnn.edge.weight0", SAFETENSORS_F32, 2, {2, 3}, weights},
    {"a \"quoted\" n\xc3\xa4me", SAFETENSORS_F64, 1, {2}, numbers},
    {"halves", SAFETENSORS_F16, 3, {1, 3, 1}, halves},
    {"nothing", SAFETENSORS_F32, 2, {0, 7}, weights},
    {"one", SAFETENSORS_F32, 0, {0}, weights},
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };
static const SafetensorsText texts[] = {{"format", "vpd"}, {"config", "a: 1\nb: \"x\"\n"}};

typedef struct Setting {
    char folder[64], path[96];
    Error err;
    char *bytes;
    size_t size;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    test_make_folder(s->folder);
    snprintf(s->path, sizeof s->path, "%s/a.safetensors", s->folder);
    assert_status_ok(safetensors_write(s->path, arrays, ARRAYS, texts, 2, &s->err), s->err);
    assert_status_ok(file_read_all(s->path, 1 << 20, &s->bytes, &s->size, &s->err), s->err);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Setting *s = *state;
    test_remove_folder(s->folder);
    free(s->bytes);
    free(s);
    return 0;
}

static const SafetensorsArray *find_array(const SafetensorsFile *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (!strcmp(file->arrays[i].name, name)) return &file->arrays[i];
    return NULL;
}

static void what_is_written_is_read(void **state) {
    Setting *s = *state;
    SafetensorsFile file;
    assert_status_ok(safetensors_read(s->path, &file, &s->err), s->err);
    assert_int_equal(file.count, ARRAYS);
    for (int i = 0; i < ARRAYS; i++) {
        const SafetensorsArray *wanted = &arrays[i], *found = find_array(&file, wanted->name);
        assert_non_null(found);
        assert_int_equal(found->type, wanted->type);
        assert_int_equal(found->rank, wanted->rank);
        size_t bytes = safetensors_type_bytes(wanted->type);
        for (int d = 0; d < wanted->rank; d++) {
            assert_int_equal(found->dims[d], wanted->dims[d]);
            bytes *= wanted->dims[d];
        }
        assert_memory_equal(found->data, wanted->data, bytes);
    }
    assert_int_equal(file.text_count, 2);
    assert_string_equal(file.texts[1].key, "config");
    assert_string_equal(file.texts[1].value, texts[1].value);
    safetensors_free(&file);
    safetensors_free(&file); // an empty one
}

static void layout_is_the_documented_one(void **state) {
    Setting *s = *state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"vpd\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}";
    const SafetensorsArray one = {"x", SAFETENSORS_F32, 2, {2, 3}, weights};
    assert_status_ok(safetensors_write(s->path, &one, 1, texts, 1, &s->err), s->err);
    char *bytes;
    size_t size, length = (sizeof header - 1 + 7) / 8 * 8;
    assert_status_ok(file_read_all(s->path, 1 << 20, &bytes, &size, &s->err), s->err);
    assert_int_equal(size, 8 + length + 24);
    assert_int_equal((unsigned char)bytes[0] | bytes[1] << 8, length);
    assert_memory_equal(bytes + 8, header, sizeof header - 1);
    for (size_t i = 8 + sizeof header - 1; i < 8 + length; i++) assert_int_equal(bytes[i], ' ');
    assert_memory_equal(bytes + 8 + length, weights, 24);
    free(bytes);
}

// A file of this header and `data_bytes` zeros.
static Status parse(const char *header, size_t data_bytes, Error *err) {
    SafetensorsFile file;
    size_t length = strlen(header), size = 8 + length + data_bytes;
    unsigned char *bytes = calloc(1, size);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    Status status = safetensors_parse(bytes, size, "a.safetensors", &file, err);
    safetensors_free(&file);
    free(bytes);
    return status;
}

static void wrong_headers(void **state) {
    (void)state;
    Error err = {0};
    static const struct {
        const char *header, *words;
    } rows[] = {
        {"[1]", "a JSON object"},
        {"{\"x\":3}", "x: expected an object"},
        {"{\"\":{}}", "a name of 1 to 255 bytes"},
        {"{", "not valid JSON"},
        {"{\"x\":{},\"x\":{}}", "not valid JSON"},
        {"{\"__metadata__\":3}", "an object of texts"},
        {"{\"__metadata__\":{\"a\":3}}", "texts alone"},
        {"{\"x\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}", "found I64"},
        {"{\"x\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,16]}}", "dtype F16, F32 or F64"},
        {"{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,16]}}", "a shape"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,4],\"data_offsets\":[0,16]}}", "a shape of at most 8"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}", "0 or more"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[4.0],\"data_offsets\":[0,16]}}", "0 or more"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", "that memory holds"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,16]}}", "12 bytes within the 16"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[4,20]}}", "16 bytes within the 16"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}", "cut short"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0]}}", "two data_offsets"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "bytes that belong to none"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", "a hole or an overlap"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"y\":{\"dtype\":\"F32\",\"shape\":[2],"
         "\"data_offsets\":[8,16]}}",
         "y: expected arrays one behind the other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_status_error(parse(rows[i].header, 16, &err), STATUS_BAD_INPUT, err, rows[i].words);
    assert_status_ok(parse("{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}  ", 16, &err), err);
    assert_status_ok(parse("{}", 0, &err), err);
}

static void cut_and_foreign_files(void **state) {
    Setting *s = *state;
    SafetensorsFile file;
    for (size_t size = 0; size < s->size; size++) {
        char *exact = malloc(size + 1); // so that ASan sees reading beyond the end
        memcpy(exact, s->bytes, size);
        char *end = realloc(exact, size ? size : 1);
        assert_status_error(safetensors_parse(end, size, "cut", &file, &s->err), STATUS_BAD_INPUT, s->err, "cut: ");
        free(end);
    }
    assert_status_error(safetensors_read(s->folder, &file, &s->err), STATUS_BAD_INPUT, s->err, s->folder);
    assert_status_error(safetensors_read("/nowhere", &file, &s->err), STATUS_BAD_INPUT, s->err, "/nowhere");
    assert_status_error(safetensors_read("/bin/sh", &file, &s->err), STATUS_BAD_INPUT, s->err, "is it another format");
}

// Whatever is changed: an error, or arrays that lie within the file.
static void changed_files(void **state) {
    Setting *s = *state;
    for (uint32_t i = 0; i < 20000; i++) {
        Random4 r = random4((RandomKey){.purpose = RANDOM_TEST}, i);
        SafetensorsFile file;
        char *copy = malloc(s->size);
        memcpy(copy, s->bytes, s->size);
        copy[r.v[0] % s->size] = (char)r.v[1];
        copy[r.v[2] % s->size] = "0123456789[]{},:\""[r.v[3] % 17];
        if (safetensors_parse(copy, s->size, "changed", &file, &s->err) == STATUS_OK) {
            for (size_t j = 0; j < file.count; j++) {
                size_t bytes = safetensors_type_bytes(file.arrays[j].type);
                for (int d = 0; d < file.arrays[j].rank; d++) bytes *= file.arrays[j].dims[d];
                const char *start = file.arrays[j].data;
                assert_true(start >= copy && bytes <= (size_t)(copy + s->size - start));
            }
            safetensors_free(&file);
        } else {
            assert_int_equal(s->err.status, STATUS_BAD_INPUT);
        }
        free(copy);
    }
}

static void a_full_disk_and_bad_names(void **state) {
    Setting *s = *state;
    assert_status_error(safetensors_write("/dev/null/x", arrays, ARRAYS, texts, 2, &s->err), STATUS_BAD_INPUT, s->err,
                        "/dev/null/x");
    const SafetensorsArray bad = {"\xff\xfe", SAFETENSORS_F32, 1, {2}, weights};
    assert_status_error(safetensors_write(s->path, &bad, 1, NULL, 0, &s->err), STATUS_FAILED, s->err, "UTF-8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layout_is_the_documented_one, set_up, tear_down),
        cmocka_unit_test(wrong_headers),
        cmocka_unit_test_setup_teardown(cut_and_foreign_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_and_bad_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
