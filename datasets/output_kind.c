// SPDX-License-Identifier: Apache-2.0
#include "datasets/output_kind.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "datasets/h5.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 4096 };

// The kind of a file follows from the description by file_kind(), from the format of an HDF5 file (the kind's name), or
// from a text within its first bytes.
static const struct {
    const char *kind, *words, *text;
} kinds[] = {
    {"png", "a PNG picture", NULL},
    {"gif", "a GIF", NULL},
    {"mp4", "an MP4 film", NULL},
    {"npz", "a ZIP archive (.npz, .zip)", NULL},
    {"glb", "a binary glTF", NULL},
    {"safetensors", "a safetensors file", NULL},
    {"vpd-dataset", "a data set", NULL},
    {"vpd-rollout", "a rollout", NULL},
    {"vpd-particles", "particles", NULL},
    {"vpd-checkpoint", "a checkpoint", NULL},
    {"svg", "a plot in SVG", "<svg"},
    {"html", "a page that vpd wrote", "content=\"vpd "},
    {"usda", "USD text", "#usda"},
    {"eval", "a result of \"vpd eval -o\"", "\"vpd-eval\""},
    {"experiments", "a page of \"vpd sim experiment\"", "# Experiments with the simulator"},
    {"selftest", "a result of \"vpd selftest -o\"", "\"vpd-selftest\""},
    {"jsonl", "the steps of a \"vpd sim fit\"", "{\"kind\":\"fit\""},
    {"fitted", "a scene that \"vpd sim fit\" wrote", "# Fitted by \"vpd sim fit\""},
    {"config", "a config that vpd wrote", "train."},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_named(const char *list, const char *kind) {
    size_t length = strlen(kind);
    for (const char *at = list; (at = strstr(at, kind)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return true;
    return false;
}

// An empty file is of every kind: mktemp makes one.
bool output_is_of_kind(const char *path, const char *list) {
    char head[HEAD_BYTES], format[64];
    Error ignored;
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    if (!file || size == 0) return true; // an unreadable file fails when it is written
    const char *found = file_kind(path);
    h5_read_format(path, format, sizeof format, &ignored);
    for (int i = 0; i < KINDS; i++) {
        const char *text = kinds[i].text;
        bool same = text ? memmem(head, size, text, strlen(text)) != NULL
                         : !strcmp(found, kinds[i].words) || !strcmp(format, kinds[i].kind);
        if (same && is_named(list, kinds[i].kind)) return true;
    }
    return false;
}

// These are what they are, whatever their names say, and other programs go by the name.
const char *output_missing_ending(const char *path, const char *list) {
    static const struct {
        const char *kind, *ending, *other;
    } endings[] = {{"svg", ".svg", ".svg"},
                   {"glb", ".glb", ".glb"},
                   {"usda", ".usda", ".usd"},
                   {"png", ".png", ".png"},
                   {"npz", ".npz", ".npz"},
                   {"safetensors", ".safetensors", ".safetensors"},
                   {"fitted", ".yaml", ".yml"},
                   {"vpd-checkpoint", ".h5", ".hdf5"},
                   {"vpd-rollout vpd-particles", ".h5", ".hdf5"},
                   {"vpd-dataset", ".h5", ".hdf5"}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(list, endings[i].kind) && !name_ends(path, endings[i].ending) && !name_ends(path, endings[i].other))
            return endings[i].ending;
    return NULL;
}

const char *output_kind_words(const char *list, char words[OUTPUT_KIND_WORDS]) {
    int left = 0, length = 0;
    for (int i = 0; i < KINDS; i++) left += is_named(list, kinds[i].kind);
    words[0] = 0;
    for (int i = 0; i < KINDS && length < OUTPUT_KIND_WORDS; i++) {
        if (!is_named(list, kinds[i].kind)) continue;
        const char *between = length == 0 ? "" : left == 1 ? " or " : ", ";
        length += snprintf(words + length, (size_t)(OUTPUT_KIND_WORDS - length), "%s%s", between, kinds[i].words);
        left--;
    }
    return words;
}
