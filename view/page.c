// SPDX-License-Identifier: Apache-2.0
// The page around its sections (view/web/page.html): text, tables and commands.
#include "view/page.h"

#include "base/check.h"
#include "base/file.h"
#include "base/version.h"
#include "view/page_parts.h"
#include "view/web.h"

#include <stdlib.h>
#include <string.h>

// ---- text

void page_put_escaped(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '&') fputs("&amp;", out);
        else if (*text == '<') fputs("&lt;", out);
        else if (*text == '>') fputs("&gt;", out);
        else if (*text == '"') fputs("&quot;", out);
        else if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t') fputc(*text, out);
    }
}

static void put_part(FILE *out, const char *text, size_t length) {
    char *part = strndup(text, length);
    if (part) page_put_escaped(out, part);
    free(part);
}

void page_put_inline(FILE *out, const char *text) {
    while (*text) {
        const char *open = strchr(text, '`'), *close = open ? strchr(open + 1, '`') : NULL;
        if (!close) break;
        put_part(out, text, (size_t)(open - text));
        fputs("<code>", out);
        put_part(out, open + 1, (size_t)(close - open - 1));
        fputs("</code>", out);
        text = close + 1;
    }
    page_put_escaped(out, text);
}

// Paragraphs are separated by blank lines.
static void put_paragraphs(FILE *out, const char *text, const char *class) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char *part = strndup(text, length);
        if (part) {
            fprintf(out, *class ? "<p class=\"%s\">" : "<p>", class);
            page_put_inline(out, part);
            fputs("</p>\n", out);
        }
        free(part);
        text += length;
        while (*text == '\n') text++;
    }
}

void page_put_base64(FILE *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned b = i + 1 < size ? bytes[i + 1] : 0, c = i + 2 < size ? bytes[i + 2] : 0;
        unsigned word = (unsigned)bytes[i] << 16 | b << 8 | c;
        char four[4];
        for (int k = 0; k < 4; k++) four[k] = digits[word >> (18 - 6 * k) & 63];
        if (i + 1 >= size) four[2] = '=';
        if (i + 2 >= size) four[3] = '=';
        fwrite(four, 1, 4, out);
    }
}

// ---- the page

void page_fail(Page *page, Status status, const char *what) {
    if (page->status == STATUS_OK) page->status = error_set(&page->error, status, "%s", what);
}

static void free_page(Page *page) {
    if (page->body) fclose(page->body);
    if (page->list) fclose(page->list);
    free(page->body_text);
    free(page->list_text);
    free(page->title);
    free(page->subtitle);
    free(page);
}

Status page_create(const char *title, const char *subtitle, Page **out, Error *err) {
    Page *page = calloc(1, sizeof *page);
    *out = NULL;
    if (page) {
        page->title = strdup(title);
        page->subtitle = strdup(subtitle ? subtitle : "");
        page->body = open_memstream(&page->body_text, &page->body_size);
        page->list = open_memstream(&page->list_text, &page->list_size);
    }
    if (page && page->title && page->subtitle && page->body && page->list) {
        *out = page;
        return STATUS_OK;
    }
    if (page) free_page(page);
    return error_set(err, STATUS_FAILED, "out of memory for the page");
}

void page_section(Page *page, const char *title) {
    page->sections++;
    if (page->open) fputs("</section>\n", page->body);
    page->open = true;
    fprintf(page->list, "<li><a href=\"#section-%d\">", page->sections);
    page_put_escaped(page->list, title);
    fputs("</a></li>\n", page->list);
    fprintf(page->body, "<section id=\"section-%d\" aria-labelledby=\"heading-%d\">\n<h2 id=\"heading-%d\">",
            page->sections, page->sections, page->sections);
    page_put_escaped(page->body, title);
    fputs("</h2>\n", page->body);
}

void page_text(Page *page, const char *text) { put_paragraphs(page->body, text, ""); }

void page_note(Page *page, const char *text) { put_paragraphs(page->body, text, "note"); }

void page_command(Page *page, const char *caption, const char *commands) {
    if (caption) put_paragraphs(page->body, caption, "");
    fputs("<div class=\"command\"><pre tabindex=\"0\">", page->body);
    page_put_escaped(page->body, commands);
    fputs("</pre><button type=\"button\" hidden>Copy</button></div>\n", page->body);
}

void page_figures(Page *page, const PageFigure *figures, int count) {
    fputs("<ul class=\"figures\">\n", page->body);
    for (int i = 0; i < count; i++) {
        fputs("<li><b>", page->body);
        page_put_escaped(page->body, figures[i].value);
        fputs("</b><span>", page->body);
        page_put_escaped(page->body, figures[i].label);
        fputs("</span></li>\n", page->body);
    }
    fputs("</ul>\n", page->body);
}

// ---- tables

static void put_cell(FILE *out, const char *tag, const char *attributes, const char *text) {
    fprintf(out, "<%s%s>", tag, attributes);
    if (text) page_put_inline(out, text);
    fprintf(out, "</%s>", tag);
}

static bool is_group(const char *const *row, int columns) {
    for (int c = 1; c < columns; c++)
        if (row[c]) return false;
    return row[0] != NULL;
}

static void put_row(FILE *out, const char *const *row, int columns, bool heading) {
    if (!heading && columns > 1 && is_group(row, columns)) {
        fprintf(out, "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"%d\">", columns);
        page_put_inline(out, row[0]);
        fputs("</th></tr>\n", out);
        return;
    }
    fputs("<tr>", out);
    for (int c = 0; c < columns; c++) {
        const char *scope = heading ? " scope=\"col\"" : c == 0 ? " scope=\"row\"" : "";
        put_cell(out, heading || c == 0 ? "th" : "td", scope, row[c]);
    }
    fputs("</tr>\n", out);
}

void page_table(Page *page, const char *caption, const char *const *cells, int rows, int columns) {
    FILE *out = page->body;
    fputs("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    page_put_escaped(out, caption ? caption : "table");
    fputs("\"><table>\n", out);
    if (caption) put_cell(out, "caption", "", caption);
    for (int r = 0; r < rows; r++) {
        if (r == 0) fputs("<thead>", out);
        put_row(out, cells + (size_t)r * (size_t)columns, columns, r == 0);
        if (r == 0) fputs("</thead>\n<tbody>\n", out);
    }
    fputs(rows > 0 ? "</tbody></table></div></figure>\n" : "</table></div></figure>\n", out);
}

// ---- the file

static void put_html(FILE *out, const char *text) { fputs(text, out); }

static void put_subtitle(FILE *out, const char *text) { put_paragraphs(out, text, ""); }

static void put_contents(FILE *out, const char *text) {
    if (*text) fprintf(out, "<nav aria-label=\"Contents\"><ul>\n%s</ul></nav>\n", text);
}

// Writes view/web/page.html with each {{name}} replaced.
static void put_page(const Page *page, FILE *out) {
    const struct {
        const char *name, *text;
        void (*put)(FILE *out, const char *text);
    } slots[] = {
        {"{{title}}", page->title, page_put_escaped},
        {"{{subtitle}}", page->subtitle, put_subtitle},
        {"{{contents}}", page->sections > 1 ? page->list_text : "", put_contents},
        {"{{body}}", page->body_text, put_html},
        {"{{viewer_style}}", VIEWER_CSS, put_html},
        {"{{style}}", PAGE_CSS, put_html},
        {"{{viewer}}", VIEWER_JS, put_html},
        {"{{script}}", PAGE_JS, put_html},
        {"{{version}}", version_number(), page_put_escaped},
        {"{{commit}}", version_commit(), page_put_escaped},
    };
    enum { SLOTS = sizeof slots / sizeof *slots };
    const char *text = PAGE_HTML;
    for (const char *open; (open = strstr(text, "{{"));) {
        int i = 0;
        while (i < SLOTS && strncmp(open, slots[i].name, strlen(slots[i].name)) != 0) i++;
        CHECK(i < SLOTS);
        fwrite(text, 1, (size_t)(open - text), out);
        slots[i].put(out, slots[i].text);
        text = open + strlen(slots[i].name);
    }
    fputs(text, out);
}

// Closes the streams of body and contents, so that their text is complete.
static bool close_parts(Page *page) {
    if (page->open) fputs("</section>\n", page->body);
    bool good = !ferror(page->body) && !ferror(page->list);
    good = fclose(page->body) == 0 && good;
    good = fclose(page->list) == 0 && good;
    page->body = page->list = NULL;
    return good;
}

Status page_finish(Page *page, const char *path, Error *err) {
    char *text = NULL;
    size_t size = 0;
    Status status;
    FILE *out = NULL;
    if (!close_parts(page) || !(out = open_memstream(&text, &size)))
        page_fail(page, STATUS_FAILED, "out of memory for the page");
    if (out) {
        put_page(page, out);
        bool good = !ferror(out);
        if (fclose(out) != 0 || !good) page_fail(page, STATUS_FAILED, "out of memory for the page");
    }
    status = page->status;
    if (!path) status = STATUS_OK;
    else if (status != STATUS_OK) error_set(err, status, "%s: %s", path, page->error.text);
    else status = file_write_bytes(path, text, size, err);
    free(text);
    free_page(page);
    return status;
}
