// SPDX-License-Identifier: Apache-2.0
// Lines and words of untrusted mesh files. Shared by lab/mesh*.c alone.
#ifndef VPD_LAB_MESH_TEXT_H
#define VPD_LAB_MESH_TEXT_H

#include "lab/mesh.h"

typedef struct MeshText {
    const char *name;
    char *next, *end; // next line; behind the last byte, where a 0 stands
    char *word;       // the rest of the present line
    size_t line;      // of the present line, from 1
    Error *err;
} MeshText;

MeshText mesh_text(char *text, size_t size, const char *name, Error *err);

// Moves to the next line that holds more than blanks and a comment behind `#`; false at the end.
bool mesh_text_line(MeshText *text);
// The next word of the line, or NULL; cut out of the text in place.
char *mesh_text_word(MeshText *text);

// Error "NAME:LINE: ..".
Status mesh_text_error(const MeshText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The next words of the line as finite numbers, and as a whole number from `min` to `max`; `what` is for messages.
Status mesh_text_numbers(MeshText *text, const char *what, int count, double *out);
Status mesh_text_whole(MeshText *text, const char *what, long min, long max, long *out);
// The next line must be there.
Status mesh_text_need_line(MeshText *text, const char *what);

// Tags of vertices, in any order, to their numbers.
typedef struct MeshTag {
    long tag;
    int32_t index;
} MeshTag;
void mesh_tags_sort(MeshTag *tags, size_t count);
// -1 when there is no such tag.
int32_t mesh_tags_find(const MeshTag *tags, size_t count, long tag);

#endif
