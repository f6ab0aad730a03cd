// SPDX-License-Identifier: Apache-2.0
#include "app/output.h"

#include "base/file.h"
#include "datasets/output_kind.h"
#include "infer/video.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Does `path` lie in `folder`, at any depth, or with `direct` in it itself?
static bool lies_in(const char *path, const char *folder, bool direct) {
    char file[PATH_MAX], root[PATH_MAX];
    if (!realpath(path, file) || !realpath(folder, root)) return false;
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(file, root, length) != 0 || file[length] != '/') return false;
    return !direct || !strchr(file + length + 1, '/');
}

// Does the command read the file at `path` when it is given `input`? Of a folder a command reads the data sets in it;
// an import reads everything else.
static bool is_read(const CommandLine *line, const char *input, const char *path, const struct stat *info, bool own,
                    bool dataset) {
    struct stat other;
    if (stat(input, &other)) return false;
    if (!S_ISDIR(other.st_mode)) return other.st_dev == info->st_dev && other.st_ino == info->st_ino;
    bool import = strcmp(line->command->name, "data import") == 0;
    return import ? !own && lies_in(path, input, false) : dataset && lies_in(path, input, true);
}

static Status refuse_input(const char *path, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: the command reads this file, so it cannot also write it; give the output another name", path);
}

Status output_check(const CommandLine *line, const char *path, const char *kinds_written, Error *err) {
    struct stat info;
    char words[OUTPUT_KIND_WORDS];
    if (stat(path, &info) || !S_ISREG(info.st_mode)) return STATUS_OK;
    bool own = output_is_of_kind(path, kinds_written),
         dataset = own && strstr(kinds_written, "vpd-dataset") && output_is_of_kind(path, "vpd-dataset");
    for (int i = 0; i < line->argument_count; i++)
        if (is_read(line, line->arguments[i], path, &info, own, dataset)) return refuse_input(path, err);
    for (int i = 0; i < line->given_count; i++) {
        const FlagValue *given = &line->given[i];
        bool text = given->value && (!strcmp(given->flag->value, "TEXT") || !strcmp(given->flag->value, "NAME"));
        if (given->value && !text && !given->flag->writes && is_read(line, given->value, path, &info, own, dataset))
            return refuse_input(path, err);
    }
    bool forced = false;
    for (int i = 0; i < line->given_count; i++) forced = forced || strcmp(line->given[i].flag->name, "force") == 0;
    bool recorded = dataset && info.st_size > 0;
    if (forced || (own && !recorded)) return STATUS_OK;
    if (recorded)
        return error_set(err, STATUS_BAD_INPUT, "%s: this data set exists; give another name, or --force to replace it",
                         path);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: this file exists and is not %s; give another name, or --force to replace it", path,
                     output_kind_words(kinds_written, words));
}

Status output_check_frames(const CommandLine *line, const char *path, size_t count, Error *err) {
    char name[FILE_PATH_SIZE];
    bool there = file_is_folder(path);
    if (!there) return STATUS_OK;
    Status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && (i < count || there); i++) {
        status = video_frame_path(path, (int)i, name, err);
        if (status == STATUS_OK) status = output_check(line, name, "png", err);
        there = file_exists(name);
    }
    return status;
}

static Status check_ending(const CommandLine *line, const FlagValue *given, Error *err) {
    const bool dataset = !strcmp(given->flag->writes, "vpd-dataset"); // several processes write a folder of them
    const bool folder =
        dataset ? line->ranks != NULL : !strcmp(line->command->name, "rollout") && command_text(line, "split", NULL);
    const char *ending = folder ? NULL : output_missing_ending(given->value, given->flag->writes);
    if (!ending) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected a name that ends in %s, which is what --%s writes",
                     given->value, ending, given->flag->name);
}

Status outputs_check(const CommandLine *line, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; !status && i < line->given_count; i++) {
        const FlagValue *given = &line->given[i];
        if (!given->flag->writes) continue;
        status = output_check(line, given->value, given->flag->writes, err);
        if (status == STATUS_OK) status = check_ending(line, given, err);
    }
    return status;
}
