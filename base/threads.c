// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

static bool read_line(const char *path, char *out, int size) {
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool good = fgets(out, size, file);
    fclose(file);
    return good;
}

static int whole_processors(double quota, double period) {
    if (quota <= 0 || period <= 0) return 0; // -1 in v1: no limit
    double count = (quota + period - 1) / period;
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (int)count;
}

// The quota written in one group's folder; 0 when there is none. v2: "200000 100000" or "max 100000"; v1: two files.
static int folder_quota(const char *folder) {
    char path[PATH_SIZE + 32], text[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    double quota_us, period_us;
    if (read_line(path, text, sizeof text))
        return sscanf(text, "%lf %lf", &quota_us, &period_us) == 2 ? whole_processors(quota_us, period_us) : 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, text, sizeof text)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_line(path, period, sizeof period) ? whole_processors(atof(text), atof(period)) : 0;
}

static int smaller_limit(int a, int b) { return a == 0 ? b : b == 0 || a < b ? a : b; }

// A quota binds the groups below it too, so every folder from the group's own up to the mount counts. In a container
// the group's name may be the host's: folders that are not there count nothing.
static int chain_quota(const char *mount, const char *controller, const char *group) {
    char folder[PATH_SIZE];
    int limit = 0;
    int root = snprintf(folder, sizeof folder, "%s%s", mount, controller);
    if (root >= PATH_SIZE || snprintf(folder + root, sizeof folder - (size_t)root, "%s", group) >= PATH_SIZE - root)
        return 0;
    for (;;) {
        limit = smaller_limit(limit, folder_quota(folder));
        char *slash = strrchr(folder + root, '/');
        if (!slash) return limit;
        *slash = 0;
    }
}

// "cpu" among "cpu,cpuacct"?
static bool has_controller(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, name, length) == 0) return true;
    }
    return false;
}

// One line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1).
static int line_quota(const char *mount, char *line) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *controllers++ = 0;
    *group++ = 0;
    if (!*controllers) return smaller_limit(chain_quota(mount, "", group), chain_quota(mount, "/unified", group));
    if (!has_controller(controllers, "cpu")) return 0;
    char together[128];
    snprintf(together, sizeof together, "/%.100s", controllers);
    return smaller_limit(chain_quota(mount, "/cpu", group), chain_quota(mount, together, group));
}

int threads_cgroup_quota(const char *mount, const char *membership) {
    char line[PATH_SIZE];
    int limit = 0;
    FILE *file = fopen(membership, "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) limit = smaller_limit(limit, line_quota(mount, line));
    fclose(file);
    return limit;
}

int threads_available(void) {
    const char *wanted = getenv("VPD_THREADS");
    int number = wanted ? atoi(wanted) : 0;
    if (number > 0) return number < THREADS_MAX ? number : THREADS_MAX;
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
