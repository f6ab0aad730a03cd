// SPDX-License-Identifier: Apache-2.0
#include "base/memory_room.h"

#include "base/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE_SIZE = 256, PATH_SIZE = 512 };

// The number behind "KEY" in a file of "KEY  NUMBER [kB]" lines; -1 when there is none.
static double number_in(const char *folder, const char *name, const char *key) {
    char path[PATH_SIZE], line[LINE_SIZE];
    size_t length = strlen(key);
    double number = -1;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return -1;
    FILE *file = fopen(path, "r");
    while (file && number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0) number = atof(line + length) * (strstr(line, " kB") ? 1024 : 1);
    if (file) fclose(file);
    return number;
}

static double number_of(const char *folder, const char *name) {
    char text[64];
    return cgroup_read(folder, name, text, sizeof text) && text[0] >= '0' && text[0] <= '9' ? atof(text) : -1;
}

// Memory that a group may still use; reclaimable pages of files count as free.
static void visit_group(void *owner, const char *folder) {
    double *room = owner;
    bool two = number_of(folder, "memory.current") >= 0;
    double limit = number_of(folder, two ? "memory.max" : "memory.limit_in_bytes"),
           used = number_of(folder, two ? "memory.current" : "memory.usage_in_bytes"),
           files = number_in(folder, "memory.stat", two ? "inactive_file " : "total_inactive_file ") +
                   number_in(folder, "memory.stat", two ? "active_file " : "total_active_file ");
    if (limit < 0 || used < 0) return;
    *room = fmin(*room, fmax(limit - used + fmax(files, 0), 0));
}

static void keep_smaller(double room, const char *name, double *smallest, const char **limit) {
    if (room >= *smallest) return;
    *smallest = room;
    if (limit) *limit = name;
}

double memory_room_of(const char *proc, const char *mount, const char **limit) {
    char self[PATH_SIZE];
    double smallest = INFINITY, group = INFINITY, swap = fmax(number_in(proc, "meminfo", "SwapFree:"), 0),
           free_bytes = number_in(proc, "meminfo", "MemAvailable:");
    if (limit) *limit = "this machine";
    if (free_bytes >= 0) keep_smaller(free_bytes + swap, "this machine", &smallest, limit);
    snprintf(self, sizeof self, "%.480s/self/cgroup", proc);
    cgroup_each(mount, self, "memory", visit_group, &group);
    keep_smaller(group + swap, "the limit of this process's control group", &smallest, limit);
    struct rlimit most;
    double held = number_in(proc, "self/status", "VmSize:");
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY && held >= 0)
        keep_smaller(fmax((double)most.rlim_cur - held, 0), "ulimit -v", &smallest, limit);
    return smallest;
}

double memory_room(const char **limit) { return memory_room_of("/proc", "/sys/fs/cgroup", limit); }
