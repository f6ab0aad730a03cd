// SPDX-License-Identifier: Apache-2.0
#include "base/module.h"

#include "base/version.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder of the file that contains this code: the program or libvpd.so.
static bool own_folder(char folder[PATH_MAX]) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((void *)(uintptr_t)own_folder, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    if (!realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", folder))
        return false; // the program's path is unknown
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return slash;
}

bool module_find(const char *file, char folder[PATH_MAX], char path[MODULE_PATH_SIZE]) {
    static const char *const places[] = {"", "/../" VPD_LIBRARY_FOLDER};
    if (!own_folder(folder)) snprintf(folder, PATH_MAX, "?");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, MODULE_PATH_SIZE, "%s%s/%s", folder, places[i], file);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

Status module_load(const char *path, const char *symbol, const void **out, Error *err) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return error_set(err, STATUS_FAILED, "%s: cannot be loaded: %s", path, dlerror());
    *out = dlsym(library, symbol);
    return *out ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: expected the symbol %s, found none", path, symbol);
}

Status module_check_version(const char *path, const char *version, const char *commit, Error *err) {
    if (strcmp(version, version_number()) == 0 && strcmp(commit, version_commit()) == 0) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "%s: expected the module of version %s (%s), found that of %s (%s); build both together", path,
                     version_number(), version_commit(), version, commit);
}
