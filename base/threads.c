// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include "base/cgroup.h"

#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int whole_processors(double quota, double period) {
    if (quota <= 0 || period <= 0) return 0; // -1 in v1: no limit
    double count = (quota + period - 1) / period;
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (int)count;
}

static int smaller_limit(int a, int b) { return a == 0 ? b : b == 0 || a < b ? a : b; }

// The quota written in one group's folder. v2: "200000 100000" or "max 100000"; v1: two files.
static void visit_quota(void *owner, const char *folder) {
    int *limit = owner, here = 0;
    char text[64], period[64];
    double quota_us, period_us;
    if (cgroup_read(folder, "cpu.max", text, sizeof text))
        here = sscanf(text, "%lf %lf", &quota_us, &period_us) == 2 ? whole_processors(quota_us, period_us) : 0;
    else if (cgroup_read(folder, "cpu.cfs_quota_us", text, sizeof text) &&
             cgroup_read(folder, "cpu.cfs_period_us", period, sizeof period))
        here = whole_processors(atof(text), atof(period));
    *limit = smaller_limit(*limit, here);
}

int threads_cgroup_quota(const char *mount, const char *membership) {
    int limit = 0;
    cgroup_each(mount, membership, "cpu", visit_quota, &limit);
    return limit;
}

// 0 when the variable is not set, -1 when it is no such number.
static int number_in_environment(void) {
    const char *wanted = getenv("VPD_THREADS");
    char *end;
    if (!wanted || !*wanted) return 0;
    long number = strtol(wanted, &end, 10);
    return *end || number < 1 || number > THREADS_MAX ? -1 : (int)number;
}

Status threads_check_environment(Error *err) {
    if (number_in_environment() >= 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "the environment variable VPD_THREADS: expected an integer from 1 to %d, found \"%.40s\"",
                     THREADS_MAX, getenv("VPD_THREADS"));
}

int threads_available(void) {
    int number = number_in_environment();
    if (number > 0) return number;
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    count = smaller_limit(count, threads_cgroup_quota("/sys/fs/cgroup", "/proc/self/cgroup"));
    return count > 0 ? count : 1;
}

int threads_use(int count) {
    if (count <= 0) count = threads_available();
    if (count > THREADS_MAX) count = THREADS_MAX;
    omp_set_num_threads(count);
    return count;
}
