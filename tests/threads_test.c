// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/threads.h"
#include "tests/test.h"

#include <omp.h>
#include <sched.h>

// Writes `text` to folder/name, making folders on the way.
static void put(const char *folder, const char *name, const char *text) {
    char path[256];
    Error err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(file_write_bytes(path, text, strlen(text), &err), err);
}

static int quota(const char *folder) {
    char membership[128];
    snprintf(membership, sizeof membership, "%s/self", folder);
    return threads_cgroup_quota(folder, membership);
}

static void test_version_2(void **state) {
    (void)state;
    char folder[64];
    test_make_folder(folder);
    put(folder, "self", "0::/app/job\n");
    assert_int_equal(quota(folder), 0);
    put(folder, "app/job/cpu.max", "max 100000\n");
    assert_int_equal(quota(folder), 0);
    put(folder, "app/job/cpu.max", "400000 100000\n");
    assert_int_equal(quota(folder), 4);
    put(folder, "app/cpu.max", "250000 100000\n"); // the group above is tighter: 2.5, so 3
    assert_int_equal(quota(folder), 3);
    put(folder, "cpu.max", "50000 100000\n"); // half a processor is still one thread
    assert_int_equal(quota(folder), 1);
    put(folder, "self", "0::/not/visible/here\n"); // in a container: the mount is the group
    assert_int_equal(quota(folder), 1);
    test_remove_folder(folder);
}

static void test_version_1(void **state) {
    (void)state;
    char folder[64];
    test_make_folder(folder);
    put(folder, "self", "5:memory:/box\n4:cpu,cpuacct:/box\n3:cpuset:/\n");
    put(folder, "cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    put(folder, "cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(folder), 0);
    put(folder, "cpu,cpuacct/box/cpu.cfs_quota_us", "600000\n");
    assert_int_equal(quota(folder), 6);
    put(folder, "cpu/cpu.cfs_quota_us", "200000\n");
    put(folder, "cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(folder), 2);
    put(folder, "self", "3:cpuset:/box\nnonsense\n\n:::\n");
    assert_int_equal(quota(folder), 0);
    test_remove_folder(folder);
}

static void test_foreign_files(void **state) {
    (void)state;
    char folder[64];
    test_make_folder(folder);
    put(folder, "self", "0::/\n");
    static const char *const texts[] = {"", "\n", "abc def\n", "100000\n", "1e30 1\n", "-5 100000\n", "100000 0\n"};
    for (int i = 0; i < 7; i++) {
        put(folder, "cpu.max", texts[i]);
        assert_int_equal(quota(folder), i == 4 ? THREADS_MAX : 0);
    }
    assert_int_equal(threads_cgroup_quota(folder, "/no/such/file"), 0);
    test_remove_folder(folder);
}

static void test_available(void **state) {
    (void)state;
    unsetenv("VPD_THREADS");
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    int count = threads_available();
    assert_in_range(count, 1, CPU_COUNT(&old));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &old)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(threads_available(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    setenv("VPD_THREADS", "3", 1);
    assert_int_equal(threads_available(), 3);
    setenv("VPD_THREADS", "many", 1);
    assert_int_equal(threads_available(), count);
    static const char *const wrong[] = {"many", "0", "-1", "2x", "1025"};
    Error err;
    for (int i = 0; i < 5; i++) {
        setenv("VPD_THREADS", wrong[i], 1);
        assert_status_error(threads_check_environment(&err), STATUS_BAD_INPUT, err, "VPD_THREADS: expected an integer");
    }
    setenv("VPD_THREADS", "2", 1);
    assert_status_ok(threads_check_environment(&err), err);
    unsetenv("VPD_THREADS");
    assert_status_ok(threads_check_environment(&err), err);
}

static void test_use(void **state) {
    (void)state;
    int counted = 0;
    assert_int_equal(threads_use(3), 3);
#pragma omp parallel reduction(+ : counted)
    counted++;
    assert_int_equal(counted, 3);
    assert_int_equal(threads_use(0), threads_available());
    assert_int_equal(omp_get_max_threads(), threads_available());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_version_1), cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_available), cmocka_unit_test(test_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
