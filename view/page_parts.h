// SPDX-License-Identifier: Apache-2.0
// Shared by page*.c alone.
#ifndef VPD_VIEW_PAGE_PARTS_H
#define VPD_VIEW_PAGE_PARTS_H

#include "view/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct Page {
    char *title, *subtitle;
    char *body_text, *list_text; // text of the closed streams `body` and `list`
    size_t body_size, list_size;
    FILE *body, *list; // the sections, and the contents
    int sections;
    bool open; // whether a section is open
    Status status;
    Error error; // the first failure
};

void page_fail(Page *page, Status status, const char *what);
// Escapes text for HTML; `...` in backquotes becomes code.
void page_put_escaped(FILE *out, const char *text);
void page_put_inline(FILE *out, const char *text);
void page_put_base64(FILE *out, const unsigned char *bytes, size_t size);

#endif
