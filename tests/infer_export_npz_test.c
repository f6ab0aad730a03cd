// SPDX-License-Identifier: Apache-2.0
// Rollouts exported as npz: every array has the numbers that went in.
#include "tests/infer_export.h"

#include <zlib.h>

// The data of an entry, by the archive's list at its end; its header is compared.
static const char *entry(const char *file, size_t length, const char *name, const char *header, size_t bytes) {
    const char *end = file + length - 22, *end64 = file + number(end - 12, 8);
    assert_int_equal(number(end, 4), 0x06054b50);
    assert_int_equal(number(end64, 4), 0x06064b50);
    const char *at = file + number(end64 + 48, 8);
    for (uint64_t i = 0; i < number(end64 + 32, 8); i++) {
        size_t name_bytes = number(at + 28, 2), extra = number(at + 30, 2);
        assert_int_equal(number(at, 4), 0x02014b50);
        if (strlen(name) == name_bytes && !strncmp(at + 46, name, name_bytes)) {
            const char *wide = at + 46 + name_bytes + 4, *local = file + number(wide + 16, 8);
            size_t size = number(wide, 8);
            const char *data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
            assert_int_equal(number(local, 4), 0x04034b50);
            assert_int_equal(crc32(0, (const Bytef *)data, (uInt)size), number(at + 16, 4));
            size_t header_bytes = 10 + number(data + 8, 2);
            assert_int_equal(header_bytes % 64, 0);
            assert_int_equal(size, header_bytes + bytes);
            if (strncmp(data + 10, header, strlen(header)) != 0) fail_msg("%s: %.100s", name, data + 10);
            return data + header_bytes;
        }
        at += 46 + name_bytes + extra;
    }
    return NULL;
}

static void npz(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_rollout(STEPS, true);
    assert_status_ok(export_npz(&r, place("a.npz"), &err), err);
    char *file = read_all(place("a.npz"), &length);
    const char *x = entry(file, length, "positions.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,5,3), }",
                          4 * N * 12);
    for (size_t step = 0; step <= STEPS; step++)
        assert_memory_equal(x + step * N * 12, rollout_positions(&r, step), N * 12);
    const char *f = entry(file, length, "features.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,5,2), }",
                          4 * N * D * 4);
    assert_memory_equal(f, r.sets[0].features, N * D * 4);
    assert_memory_equal(f + N * D * 4, r.features, 3 * N * D * 4);
    const char *labels =
        entry(file, length, "labels.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }", 10);
    assert_memory_equal(labels, r.sets[0].labels, 10);
    assert_non_null(entry(file, length, "moving.npy", "{'descr': '|b1'", N));
    assert_memory_equal(entry(file, length, "time.npy", "{'descr': '<f8'", 32), r.time, 32);
    assert_null(entry(file, length, "bounds.npy", "", 0));
    free(file);
    rollout_file_free(&r);

    r = make_rollout(0, false);
    assert_status_ok(export_npz(&r, place("b.npz"), &err), err);
    file = read_all(place("b.npz"), &length);
    x = entry(file, length, "positions.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,5,3), }", N * 12);
    assert_memory_equal(x, r.sets[0].positions, N * 12);
    assert_null(entry(file, length, "features.npy", "", 0));
    free(file);
    assert_status_error(export_npz(&r, "/dev/null/a.npz", &err), STATUS_BAD_INPUT, err, "/dev/null/a.npz");
    rollout_file_free(&r);
}

static void npz_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    assert_status_ok(export_npz(&r, place("s.npz"), &err), err);
    char *file = read_all(place("s.npz"), &length);
    assert_memory_equal(
        entry(file, length, "triangles.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (1,3), }", 12),
        r.surface.triangle, 12);
    assert_memory_equal(
        entry(file, length, "springs.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (2,2), }", 16),
        r.surface.spring, 16);
    assert_non_null(
        entry(file, length, "touching.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,5), }", 4 * N));
    free(file);
    rollout_file_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npz),
        cmocka_unit_test(npz_surface),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
