// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool append_name(FileList *list, size_t *room, const char *name) {
    if (list->count == *room) {
        size_t more = *room ? 2 * *room : 64;
        char **names = realloc(list->names, more * sizeof *names);
        if (!names) return false;
        list->names = names;
        *room = more;
    }
    char *copy = strdup(name);
    if (copy) list->names[list->count++] = copy;
    return copy;
}

Status file_list(const char *folder, FileList *list, Error *err) {
    *list = (FileList){0};
    size_t room = 0;
    DIR *dir = opendir(folder);
    if (!dir) return file_error(err, folder, "list this folder", errno);
    Status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (!append_name(list, &room, name)) status = file_error(err, folder, "list this folder", ENOMEM);
    }
    closedir(dir);
    if (status != STATUS_OK) file_list_free(list);
    else if (list->count) qsort(list->names, list->count, sizeof *list->names, compare_names);
    return status;
}

void file_list_free(FileList *list) {
    for (size_t i = 0; i < list->count; i++) free(list->names[i]);
    free(list->names);
    *list = (FileList){0};
}
