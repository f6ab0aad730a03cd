// SPDX-License-Identifier: Apache-2.0
// Damaged, cut, foreign and made-up checkpoints: each is one sentence and status 2, and the model stays as it was.
#include "tests/test.h"

#include "datasets/h5.h"
#include "files/checkpoint_arrays.h"
#include "tests/checkpoint_model.h"

#include <sys/stat.h>

// HDF5 forgets memory when it gives up on a damaged file.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

typedef struct Setting {
    char folder[64], path[128], other[128];
    Model model;
    Error err;
    char *bytes;
    size_t size;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    CheckpointMeta meta = model_meta(1234);
    test_make_folder(s->folder);
    snprintf(s->path, sizeof s->path, "%s/a.h5", s->folder);
    snprintf(s->other, sizeof s->other, "%s/b.h5", s->folder);
    model_create(&s->model, false);
    model_set(&s->model, 1);
    assert_status_ok(checkpoint_save(s->path, &s->model.set, &s->model.blocks, &meta, &s->err), s->err);
    assert_status_ok(file_read_all(s->path, 1 << 24, &s->bytes, &s->size, &s->err), s->err);
    model_set(&s->model, 50);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Setting *s = *state;
    model_free(&s->model);
    test_remove_folder(s->folder);
    free(s->bytes);
    free(s);
    return 0;
}

static void write_other(Setting *s, const char *bytes, size_t size) {
    FILE *file = fopen(s->other, "wb");
    assert_true(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static Status load_other(Setting *s) {
    return checkpoint_resume(s->other, &s->model.set, &s->model.blocks, NULL, &s->err);
}

static void expect_refused(Setting *s, const char *words) {
    assert_status_error(load_other(s), STATUS_BAD_INPUT, s->err, words);
    assert_int_equal(model_all_wrong(&s->model, 50), 0);
    assert_null(strchr(s->err.text, '\n'));
}

static void cut_files(void **state) {
    Setting *s = *state;
    for (size_t i = 0; i < 40; i++) {
        write_other(s, s->bytes, s->size * i / 40);
        expect_refused(s, "b.h5");
    }
    write_other(s, s->bytes, s->size - 1);
    expect_refused(s, "b.h5");
}

// For time: what readers do with changed bits under sanitizers is fuzz_checkpoint_replay's too.
#ifdef __SANITIZE_ADDRESS__
enum { BETWEEN_CHANGES = 5 * 97 };
#else
enum { BETWEEN_CHANGES = 97 };
#endif

// A changed bit is found, or lies where nothing is stored: then everything still reads as it was.
static void changed_bits(void **state) {
    Setting *s = *state;
    size_t found = 0, harmless = 0;
    for (size_t at = 0; at < s->size; at += BETWEEN_CHANGES) {
        s->bytes[at] ^= 1 << at % 8;
        write_other(s, s->bytes, s->size);
        s->bytes[at] ^= 1 << at % 8;
        Status status = load_other(s);
        if (status == STATUS_OK) {
            assert_int_equal(model_all_wrong(&s->model, 1), 0);
            model_set(&s->model, 50);
            harmless++;
        } else {
            assert_int_equal(status, STATUS_BAD_INPUT);
            assert_int_equal(model_all_wrong(&s->model, 50), 0);
            found++;
        }
    }
    print_message("%zu changes found, %zu without effect\n", found, harmless);
    assert_true(found > 100);
}

// The planted error: one weight replaced by another number, everything else in order.
static void a_changed_weight_is_found(void **state) {
    Setting *s = *state;
    float wrong = 9;
    write_other(s, s->bytes, s->size);
    h5_lock();
    hid_t file = H5Fopen(s->other, H5F_ACC_RDWR, H5P_DEFAULT),
          array = H5Dopen2(file, "parameters/gnn.edge.weight00", H5P_DEFAULT);
    H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &wrong);
    H5Dclose(array);
    H5Fclose(file);
    h5_unlock();
    expect_refused(s, "/parameters: expected checksum ");
    assert_status_ok(checkpoint_load(s->other, &s->model.set, CHECKPOINT_EMA, &s->err), s->err);
    assert_status_error(checkpoint_verify(s->other, &s->err), STATUS_BAD_INPUT, s->err,
                        "/parameters: expected checksum ");
}

static void foreign_files(void **state) {
    Setting *s = *state;
    static const char text[] = "train:\n  steps: 3\n";
    expect_refused(s, "No such file");
    write_other(s, text, sizeof text - 1);
    expect_refused(s, "expected an HDF5 file, found a text file");
    write_other(s, text, 0);
    expect_refused(s, "expected an HDF5 file");
    unlink(s->other);
    assert_int_equal(mkdir(s->other, 0777), 0);
    expect_refused(s, "expected a file, found a folder");
    assert_int_equal(rmdir(s->other), 0);
    assert_int_equal(mkfifo(s->other, 0666), 0); // must not wait for a writer
    expect_refused(s, "regular file");
}

// ---- a whole file, changed through HDF5

typedef void Change(hid_t file);

static hid_t new_array(hid_t file, const char *path, hid_t type, int rank, hsize_t size, hid_t list) {
    const hsize_t dims[8] = {size, 1, 1, 1, 1, 1, 1, 1};
    H5Ldelete(file, path, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t array = H5Dcreate2(file, path, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sclose(space);
    return array;
}

static void replace_array(hid_t file, hid_t type, int rank, hsize_t size) {
    H5Dclose(new_array(file, "parameters/gnn.edge.bias0", type, rank, size, H5P_DEFAULT));
}

static void set_text(hid_t file, const char *name, const char *text) {
    H5Adelete(file, name);
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void set_numbers(hid_t file, const char *name, hsize_t count, const double *values) {
    H5Adelete(file, name);
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t attribute = H5Acreate2(file, name, floor(*values) == *values ? H5T_STD_I64LE : H5T_IEEE_F64LE, space,
                                 H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, values);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void other_format(hid_t f) { set_text(f, "format", "vpd-dataset"); }
static void long_format(hid_t f) {
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    set_text(f, "format", text);
}
static void variable_format(hid_t f) {
    const char *text = "vpd-checkpoint";
    H5Adelete(f, "format");
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t attribute = H5Acreate2(f, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, &text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}
static void no_format(hid_t f) { H5Adelete(f, "format"); }
static void later_version(hid_t f) { set_numbers(f, "format_version", 2, (double[]){2, 7}); }
static void short_version(hid_t f) { set_numbers(f, "format_version", 1, (double[]){1}); }
static void other_contents(hid_t f) { set_text(f, "contents", "everything"); }
static void negative_step(hid_t f) { set_numbers(f, "step", 1, (double[]){-5}); }
static void broken_step(hid_t f) { set_numbers(f, "step", 1, (double[]){0.5}); }
static void changed_step(hid_t f) { set_numbers(f, "step", 1, (double[]){99}); }
static void endless_time(hid_t f) { set_numbers(f, "time_step", 1, (double[]){INFINITY}); }
static void no_config(hid_t f) { H5Ldelete(f, "config", H5P_DEFAULT); }
static void huge_config(hid_t f) { H5Dclose(new_array(f, "config", H5T_STD_U8LE, 1, 1ull << 40, H5P_DEFAULT)); }
static void no_weights(hid_t f) {
    H5Ldelete(f, "parameters", H5P_DEFAULT);
    H5Ldelete(f, "ema", H5P_DEFAULT);
}
static void soft_group(hid_t f) {
    H5Ldelete(f, "parameters", H5P_DEFAULT);
    H5Lcreate_soft("/ema", f, "parameters", H5P_DEFAULT, H5P_DEFAULT);
}
static void external_array(hid_t f) {
    H5Ldelete(f, "parameters/gnn.edge.bias0", H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/x", f, "parameters/gnn.edge.bias0", H5P_DEFAULT, H5P_DEFAULT);
}
static void array_for_group(hid_t f) { H5Dclose(new_array(f, "parameters", H5T_IEEE_F32LE, 1, 4, H5P_DEFAULT)); }
static void group_for_array(hid_t f) {
    H5Ldelete(f, "parameters/gnn.edge.bias0", H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "parameters/gnn.edge.bias0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}
static void a_cycle(hid_t f) { H5Lcreate_hard(f, "/parameters", f, "parameters/again", H5P_DEFAULT, H5P_DEFAULT); }
static void doubles(hid_t f) { replace_array(f, H5T_IEEE_F64LE, 1, 17); }
static void integers(hid_t f) { replace_array(f, H5T_STD_I32LE, 1, 17); }
static void texts(hid_t f) { replace_array(f, H5T_C_S1, 1, 17); }
static void rank_8(hid_t f) { replace_array(f, H5T_IEEE_F32LE, 8, 17); }
static void never_stored(hid_t f) { replace_array(f, H5T_IEEE_F32LE, 1, 1ull << 40); }
static void unfilled(hid_t f) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE);
    H5Dclose(new_array(f, "parameters/gnn.edge.bias0", H5T_IEEE_F32LE, 1, 17, list));
    H5Pclose(list);
}
static void stored_elsewhere(hid_t f) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(list, "/etc/hostname", 0, 68);
    H5Dclose(new_array(f, "parameters/gnn.edge.bias0", H5T_IEEE_F32LE, 1, 17, list));
    H5Pclose(list);
}
static void many_names_for_one_array(hid_t f) {
    char name[64];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "parameters/x%d", i);
        H5Lcreate_hard(f, "/parameters/encoder.down0.conv0.weight", f, name, H5P_DEFAULT, H5P_DEFAULT);
    }
}
static void not_a_number(hid_t f) {
    float values[17] = {[16] = NAN};
    hid_t array = new_array(f, "parameters/gnn.edge.bias0", H5T_IEEE_F32LE, 1, 17, H5P_DEFAULT);
    H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(array);
}
static void no_checksum(hid_t f) { H5Adelete(f, "checksum"); }
static void set_record(hid_t f, const char *text, bool sign) {
    char checksum[CHECKSUM_TEXT_SIZE];
    hid_t run = H5Gopen2(f, "run", H5P_DEFAULT);
    set_text(run, "record", text);
    checkpoint_run_checksum(text, checksum);
    if (sign) set_text(run, "checksum", checksum);
    H5Gclose(run);
}
static void changed_record(hid_t f) { set_record(f, "{\"data\":{},\"evaluated\":true}", false); }
static void record_of_nothing(hid_t f) { set_record(f, "{\"data\":{},\"evaluated\":true}", true); }
static void record_of_brackets(hid_t f) {
    char text[4000];
    memset(text, '[', sizeof text);
    text[sizeof text - 1] = 0;
    set_record(f, text, true);
}
static void long_record(hid_t f) {
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    set_record(f, text, true);
}
static void array_for_run(hid_t f) { H5Dclose(new_array(f, "run", H5T_IEEE_F32LE, 1, 4, H5P_DEFAULT)); }

static void made_up_files(void **state) {
    Setting *s = *state;
    static const struct {
        const char *words;
        Change *change;
    } rows[] = {
        {"b.h5: expected a checkpoint (format \"vpd-checkpoint\"), found a data set (format \"vpd-dataset\")",
         other_format},
        {"attribute format", long_format},
        {"attribute format to be a text of fixed length", variable_format},
        {"an HDF5 file of another program", no_format},
        {"expected format_version 1.x, found 2.7", later_version},
        {"expected format_version 1.x", short_version},
        {"found \"everything\"", other_contents},
        {"attribute step", negative_step},
        {"attribute step", broken_step},
        {"expected checksum", changed_step},
        {"attribute time_step", endless_time},
        {"/config", no_config},
        {"/config", huge_config},
        {"found neither", no_weights},
        {"found a soft link", soft_group},
        {"/parameters", external_array},
        {"/parameters: expected a group", array_for_group},
        {"found another object", group_for_array},
        {"/again: expected an array", a_cycle},
        {"found another type or rank", doubles},
        {"found another type or rank", integers},
        {"found another type or rank", texts},
        {"found another type or rank", rank_8},
        {"declares more values", never_stored},
        {"gnn.edge.bias0: declares 68 bytes", unfilled},
        {"external storage", stored_elsewhere},
        {"declares more values", many_names_for_one_array},
        {"gnn.edge.bias0: expected finite values", not_a_number},
        {"the attribute checksum", no_checksum},
        {"/run: expected checksum", changed_record},
        {"/run: expected attribute record to hold a run's record", record_of_nothing},
        {"/run: expected attribute record to hold a run's record", record_of_brackets},
        {"attribute record", long_record},
        {"/run: expected a group", array_for_run},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_other(s, s->bytes, s->size);
        h5_lock();
        hid_t file = H5Fopen(s->other, H5F_ACC_RDWR, H5P_DEFAULT);
        rows[i].change(file);
        assert_true(H5Fclose(file) >= 0);
        h5_unlock();
        expect_refused(s, rows[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cut_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_weight_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(made_up_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
