// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5.h"

#include <stdio.h>
#include <string.h>

// The formats of this program's files, described for messages, and the commands that write them.
static const struct {
    const char *format, *words, *source;
} kinds[] = {
    {"vpd-dataset", "a data set", "\"vpd data import\" or the program in docs/data.md makes one"},
    {"vpd-checkpoint", "a checkpoint", "\"vpd train\" makes one"},
    {"vpd-rollout", "a rollout", "\"vpd rollout\" makes one"},
    {"vpd-particles", "particles without steps", "\"vpd rollout\" makes them"},
};

// `index` of the kind, or their number when it is none of them.
static size_t find_kind(const char *format) {
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i].format, format) != 0) i++;
    return i;
}

Status h5_check_format(const H5Place *file, const char *wanted, const char *also, Error *err) {
    enum { COUNT = sizeof kinds / sizeof *kinds };
    char format[512], found[128];
    bool there = false;
    Status status = h5_attribute_text(file, "format", false, format, sizeof format, &there, err);
    if (status == STATUS_OK && !there) snprintf(format, sizeof format, "none");
    if (status || strcmp(format, wanted) == 0 || (also && strcmp(format, also) == 0)) return status;
    size_t want = find_kind(wanted), is = find_kind(format);
    int name = (int)strlen(file->text); // a root's place ends in a colon
    if (name > 0 && file->text[name - 1] == ':') name--;
    if (is < COUNT) snprintf(found, sizeof found, "%s (format \"%.80s\")", kinds[is].words, format);
    else if (there) snprintf(found, sizeof found, "format \"%.80s\"", format);
    else snprintf(found, sizeof found, "an HDF5 file of another program (it has no attribute \"format\")");
    return error_set(err, STATUS_BAD_INPUT, "%.*s: expected %s (format \"%s\"), found %s; %s", name, file->text,
                     want < COUNT ? kinds[want].words : "a file", wanted, found,
                     want < COUNT ? kinds[want].source : "give another file");
}

Status h5_read_format(const char *path, char *out, size_t size, Error *err) {
    H5Place file = {0};
    *out = 0;
    Status status = h5_open_file(path, &file, err);
    if (status == STATUS_OK) status = h5_attribute_text(&file, "format", false, out, size, NULL, err);
    if (status != STATUS_OK) *out = 0;
    h5_close(&file);
    return status;
}
