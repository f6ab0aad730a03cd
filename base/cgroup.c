// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 1024 };

typedef struct Walk {
    const char *mount, *controller;
    CgroupVisit *visit;
    void *owner;
} Walk;

bool cgroup_read(const char *folder, const char *name, char *out, int size) {
    char path[PATH_SIZE + 64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool good = fgets(out, size, file);
    fclose(file);
    if (good) out[strcspn(out, "\n")] = 0;
    return good;
}

static void walk_up(const Walk *walk, const char *below, const char *group) {
    char folder[PATH_SIZE];
    int root = snprintf(folder, sizeof folder, "%s%s", walk->mount, below);
    if (root >= PATH_SIZE || snprintf(folder + root, sizeof folder - (size_t)root, "%s", group) >= PATH_SIZE - root)
        return;
    for (;;) {
        walk->visit(walk->owner, folder);
        char *slash = strrchr(folder + root, '/');
        if (!slash) return;
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
static void visit_line(const Walk *walk, char *line) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    *controllers++ = 0;
    *group++ = 0;
    if (!*controllers) {
        walk_up(walk, "", group);
        walk_up(walk, "/unified", group);
    } else if (has_controller(controllers, walk->controller)) {
        char alone[64], together[128];
        snprintf(alone, sizeof alone, "/%.60s", walk->controller);
        snprintf(together, sizeof together, "/%.100s", controllers);
        walk_up(walk, alone, group);
        walk_up(walk, together, group);
    }
}

void cgroup_each(const char *mount, const char *membership, const char *controller, CgroupVisit *visit, void *owner) {
    Walk walk = {mount, controller, visit, owner};
    char line[PATH_SIZE];
    FILE *file = fopen(membership, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) visit_line(&walk, line);
    fclose(file);
}
