// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/listing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int by_number(const void *a, const void *b) {
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

// Keeps the names that pass, sorted.
static void keep(FileList *list, const char *prefix, const char *suffix, bool pictures) {
    static const char *const ENDINGS[] = {".png", ".jpg", ".jpeg", ".tif", ".tiff",
                                          ".npy", ".bin", ".webp", ".exr", ".npz"};
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        char *name = list->names[i];
        bool good = !prefix || strncmp(name, prefix, strlen(prefix)) == 0;
        good = good && (!suffix || name_ends(name, suffix));
        bool picture = false;
        for (size_t k = 0; k < sizeof ENDINGS / sizeof *ENDINGS; k++) picture = picture || name_ends(name, ENDINGS[k]);
        if (good && (picture || !pictures)) list->names[kept++] = name;
        else free(name);
    }
    list->count = kept;
    if (kept) qsort(list->names, kept, sizeof *list->names, by_number);
}

Status list_names(const char *folder, const char *prefix, const char *suffix, FileList *out, Error *err) {
    Status status = file_list(folder, out, err);
    if (!status) keep(out, prefix, suffix, false);
    return status;
}

Status list_pictures(const char *folder, FileList *out, Error *err) {
    Status status = file_list(folder, out, err);
    if (!status) keep(out, NULL, NULL, true);
    return status;
}

long name_number(const char *name) {
    const char *end = name + strlen(name);
    while (end > name && !isdigit((unsigned char)end[-1])) end--;
    const char *begin = end;
    while (begin > name && isdigit((unsigned char)begin[-1])) begin--;
    return end - begin > 0 && end - begin < 18 ? strtol(begin, NULL, 10) : -1;
}

void name_stem(const char *name, char *out, size_t size) {
    const char *dot = strrchr(name, '.');
    snprintf(out, size, "%.*s", (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
}

bool has_file(const char *folder, const char *name) {
    char path[FILE_PATH_SIZE];
    return file_join(path, sizeof path, folder, name, NULL) == STATUS_OK && file_exists(path) && !file_is_folder(path);
}

bool find_depth_picture(const char *folder, const char *stem, const char *ending, char *out, size_t size) {
    const char *const endings[] = {ending, ".png", ".npy", ".npz", ".exr", ".tiff"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(out, size, "%s%s", stem, endings[i]);
        if (has_file(folder, out)) return true;
    }
    snprintf(out, size, "%s%s", stem, ending);
    return false;
}

bool has_folder(const char *folder, const char *name) {
    char path[FILE_PATH_SIZE];
    return file_join(path, sizeof path, folder, name, NULL) == STATUS_OK && file_is_folder(path);
}

bool first_folder(const char *folder, const char *const *names, char out[FILE_PATH_SIZE]) {
    for (; *names; names++) {
        if (has_folder(folder, *names)) return file_join(out, FILE_PATH_SIZE, folder, *names, NULL) == STATUS_OK;
    }
    return false;
}

bool first_file(const char *folder, const char *const *names, char out[FILE_PATH_SIZE]) {
    for (; *names; names++) {
        if (has_file(folder, *names)) return file_join(out, FILE_PATH_SIZE, folder, *names, NULL) == STATUS_OK;
    }
    return false;
}

int find_episode(const char *path, bool (*is_one)(const char *folder), int wanted, char out[FILE_PATH_SIZE]) {
    FileList list = {0};
    int count = 0;
    if (!file_is_folder(path)) return 0;
    if (is_one(path)) {
        if (wanted == 0) file_join(out, FILE_PATH_SIZE, "", path, NULL);
        return 1;
    }
    if (list_names(path, NULL, NULL, &list, NULL) != STATUS_OK) return 0;
    for (size_t i = 0; i < list.count; i++) {
        char inside[FILE_PATH_SIZE];
        bool good = file_join(inside, sizeof inside, path, list.names[i], NULL) == STATUS_OK;
        if (good && file_is_folder(inside) && is_one(inside) && count++ == wanted) memcpy(out, inside, sizeof inside);
    }
    file_list_free(&list);
    return count;
}
