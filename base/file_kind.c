// SPDX-License-Identifier: Apache-2.0
#include "base/file_kind.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 512 };

static const struct {
    const char *words, *bytes;
    size_t at, count;
} kinds[] = {
    {"an HDF5 file", "\x89HDF\r\n\x1a\n", 0, 8}, {"a PNG picture", "\x89PNG", 0, 4},
    {"a JPEG picture", "\xff\xd8\xff", 0, 3},    {"a GIF", "GIF8", 0, 4},
    {"a TIFF picture", "II*\0", 0, 4},           {"a TIFF picture", "MM\0*", 0, 4},
    {"an EXR picture", "v/1\x01", 0, 4},         {"an MP4 film", "ftyp", 4, 4},
    {"a NumPy array (.npy)", "\x93NUMPY", 0, 6}, {"a ZIP archive (.npz, .zip)", "PK\3\4", 0, 4},
    {"a gzip archive", "\x1f\x8b", 0, 2},        {"a ROS bag", "#ROSBAG", 0, 7},
    {"a PLY point cloud", "ply\n", 0, 4},        {"a binary glTF", "glTF", 0, 4},
    {"a safetensors file", "{\"", 8, 2},
};

static bool is_text(const char *head, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)head[i] < 32 && !strchr("\t\n\r\f", head[i])) return false;
    return memchr(head, 0, size) == NULL;
}

static const char TEXT[] = "a text file", EMPTY[] = "an empty file", UNREADABLE[] = "a file that cannot be read";

bool file_is_run(const char *path) {
    char inner[FILE_PATH_SIZE];
    Error ignored;
    return file_join(inner, sizeof inner, path, "checkpoints", &ignored) == STATUS_OK && file_is_folder(inner);
}

const char *file_kind(const char *path) {
    char head[HEAD_BYTES];
    if (file_is_folder(path)) return file_is_run(path) ? "the folder of a training run" : "a folder";
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    bool read = file && !ferror(file);
    if (file) fclose(file);
    if (!read) return UNREADABLE;
    if (size == 0) return EMPTY;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].at + kinds[i].count && !memcmp(head + kinds[i].at, kinds[i].bytes, kinds[i].count))
            return kinds[i].words;
    return is_text(head, size) ? TEXT : "a file of another format";
}

Status file_expect_text(const char *path, const char *wanted, Error *err) {
    const char *kind = file_kind(path);
    if (kind == TEXT || kind == EMPTY || kind == UNREADABLE) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %s, found %s", path, wanted, kind);
}
