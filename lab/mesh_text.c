// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh_text.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MeshText mesh_text(char *text, size_t size, const char *name, Error *err) {
    return (MeshText){.name = name, .next = text, .end = text + size, .word = text + size, .err = err};
}

bool mesh_text_line(MeshText *text) {
    while (text->next < text->end) {
        char *stop = memchr(text->next, '\n', (size_t)(text->end - text->next));
        if (!stop) stop = text->end;
        *stop = 0;
        text->word = text->next;
        text->next = stop < text->end ? stop + 1 : stop;
        text->line++;
        text->word[strcspn(text->word, "#\r")] = 0;
        text->word += strspn(text->word, " \t");
        if (*text->word) return true;
    }
    return false;
}

char *mesh_text_word(MeshText *text) {
    char *word = text->word + strspn(text->word, " \t,");
    if (!*word) return NULL;
    size_t length = strcspn(word, " \t,");
    text->word = word + length + (word[length] != 0);
    word[length] = 0;
    return word;
}

Status mesh_text_error(const MeshText *text, const char *format, ...) {
    char words[512];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return error_set(text->err, STATUS_BAD_INPUT, "%s:%zu: %s", text->name, text->line, words);
}

Status mesh_text_numbers(MeshText *text, const char *what, int count, double *out) {
    for (int i = 0; i < count; i++) {
        const char *word = mesh_text_word(text);
        if (!word) return mesh_text_error(text, "expected %d numbers of %s, found %d", count, what, i);
        if (!text_number(word, out + i))
            return mesh_text_error(text, "expected finite numbers of %s, found \"%.40s\"", what, word);
    }
    return STATUS_OK;
}

Status mesh_text_whole(MeshText *text, const char *what, long min, long max, long *out) {
    double number;
    const char *word = mesh_text_word(text);
    if (word && text_number(word, &number) && number == floor(number) && number >= (double)min &&
        number <= (double)max) {
        *out = (long)number;
        return STATUS_OK;
    }
    return mesh_text_error(text, "%s: expected a whole number from %ld to %ld, found %.40s", what, min, max,
                           word ? word : "the end of the line");
}

Status mesh_text_need_line(MeshText *text, const char *what) {
    if (mesh_text_line(text)) return STATUS_OK;
    return mesh_text_error(text, "expected %s, found the end of the file", what);
}

static int compare_tags(const void *a, const void *b) {
    long x = ((const MeshTag *)a)->tag, y = ((const MeshTag *)b)->tag;
    return (x > y) - (x < y);
}

void mesh_tags_sort(MeshTag *tags, size_t count) {
    if (count) qsort(tags, count, sizeof *tags, compare_tags);
}

int32_t mesh_tags_find(const MeshTag *tags, size_t count, long tag) {
    const MeshTag key = {.tag = tag}, *found = count ? bsearch(&key, tags, count, sizeof *tags, compare_tags) : NULL;
    return found ? found->index : -1;
}
