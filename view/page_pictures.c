// SPDX-License-Identifier: Apache-2.0
// Pictures on the page: plots and films.
#include "view/page.h"

#include "base/image.h"
#include "view/page_parts.h"
#include "view/web.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SHEET_SIDE_MAX = 8192 }; // mobile browsers decode no larger pictures

static void put_png(Page *page, const uint8_t *rgb, int H, int W) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    Error err;
    const Image image = {H, W, 3, PIXEL_U8, (uint8_t *)rgb};
    Status status = image_encode_png(&image, &bytes, &size, &err);
    if (status != STATUS_OK) page_fail(page, status, err.text);
    fputs("data:image/png;base64,", page->body);
    if (bytes) page_put_base64(page->body, bytes, size);
    free(bytes);
}

static void put_caption(Page *page, const char *caption) {
    if (!caption) return;
    fputs("<figcaption>", page->body);
    page_put_inline(page->body, caption);
    fputs("</figcaption>\n", page->body);
}

void page_plots(Page *page, const Plot *plots, int count, const char *caption) {
    fputs("<figure><div class=\"plots\">\n", page->body);
    for (int i = 0; i < count; i++) plot_write_svg(plots + i, false, page->body);
    fputs("</div>\n", page->body);
    put_caption(page, caption);
    fputs("</figure>\n", page->body);
}

// ---- particles

// Deflated, as base64.
static void put_deflated(Page *page, const ViewBytes *bytes) {
    uLongf size = compressBound(bytes->size);
    unsigned char *small = malloc(size);
    if (small && compress2(small, &size, bytes->data, bytes->size, Z_BEST_COMPRESSION) == Z_OK)
        page_put_base64(page->body, small, size);
    else page_fail(page, STATUS_FAILED, "out of memory for particles on the page");
    free(small);
}

void page_viewer(Page *page, const PageScene *scenes, int count, const char *caption) {
    fputs("<figure class=\"embedded\"><div class=\"viewer\"></div>\n", page->body);
    for (int i = 0; i < count; i++) {
        fputs("<script type=\"application/octet-stream\" data-name=\"", page->body);
        page_put_escaped(page->body, scenes[i].name);
        fputs("\">", page->body);
        put_deflated(page, &scenes[i].bytes);
        fputs("</script>\n", page->body);
    }
    put_caption(page, caption);
    fputs("</figure>\n", page->body);
}

// ---- moving pictures

// All frames of one panel are in one sheet, `across` side by side.
typedef struct Sheet {
    int across, down, H, W;
    uint8_t *rgb;
} Sheet;

static bool shape_sheet(const PageMoving *moving, Sheet *sheet) {
    sheet->across = 1;
    while (sheet->across * sheet->across * moving->W < moving->frames * moving->H) sheet->across++;
    if (sheet->across * moving->W > SHEET_SIDE_MAX) sheet->across = SHEET_SIDE_MAX / moving->W;
    if (sheet->across < 1) return false;
    sheet->down = (moving->frames + sheet->across - 1) / sheet->across;
    sheet->H = sheet->down * moving->H;
    sheet->W = sheet->across * moving->W;
    return sheet->H <= SHEET_SIDE_MAX;
}

static void fill_sheet(const PageMoving *moving, const Sheet *sheet, const uint8_t *const *pictures) {
    size_t row = 3 * (size_t)moving->W, sheet_row = 3 * (size_t)sheet->W;
    memset(sheet->rgb, 0, sheet_row * (size_t)sheet->H);
    for (int i = 0; i < moving->frames; i++) {
        uint8_t *to =
            sheet->rgb + (size_t)(i / sheet->across * moving->H) * sheet_row + (size_t)(i % sheet->across) * row;
        for (int y = 0; pictures[i] && y < moving->H; y++)
            memcpy(to + (size_t)y * sheet_row, pictures[i] + (size_t)y * row, row);
    }
}

// Writes the frame names as JSON within an attribute.
static void put_frame_names(Page *page, const PageMoving *moving) {
    json_t *names = json_array();
    for (int i = 0; i < moving->frames; i++) {
        char number[32];
        snprintf(number, sizeof number, "%d of %d", i + 1, moving->frames);
        json_t *name = json_string(moving->frame_names ? moving->frame_names[i] : number);
        json_array_append_new(names, name ? name : json_string(number)); // the number if the name is not UTF-8
    }
    char *text = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (text) page_put_escaped(page->body, text);
    else page_fail(page, STATUS_FAILED, "out of memory for the names of frames");
    free(text);
}

static void put_view(Page *page, const PageMoving *moving, const Sheet *sheet, int row, int column) {
    const char *row_name = moving->row_names ? moving->row_names[row] : NULL;
    const char *column_name = moving->column_names ? moving->column_names[column] : NULL;
    fill_sheet(moving, sheet, moving->pictures + (size_t)(row * moving->columns + column) * (size_t)moving->frames);
    fprintf(page->body, "<div class=\"view\" style=\"aspect-ratio:%d/%d\" role=\"img\" aria-label=\"", moving->W,
            moving->H);
    page_put_escaped(page->body, row_name ? row_name : "");
    fputs(row_name && column_name ? ", " : "", page->body);
    page_put_escaped(page->body, column_name ? column_name : "");
    fprintf(page->body, "\"><img alt=\"\" style=\"width:%d%%\" src=\"", 100 * sheet->across);
    put_png(page, sheet->rgb, sheet->H, sheet->W);
    fputs("\"><canvas></canvas></div>\n", page->body);
}

static void put_name(Page *page, const char *class, const char *name) {
    fprintf(page->body, "<div class=\"%s\">", class);
    if (name) page_put_inline(page->body, name);
    fputs("</div>\n", page->body);
}

static void put_grid(Page *page, const PageMoving *moving, const Sheet *sheet) {
    bool rows = moving->row_names != NULL;
    fprintf(page->body, "<div class=\"views\" style=\"grid-template-columns:%srepeat(%d,minmax(6rem,%s))\">\n",
            rows ? "1.4rem " : "", moving->columns, moving->columns > 2 ? "15rem" : "22rem");
    if (moving->column_names && rows) fputs("<div></div>\n", page->body);
    for (int c = 0; c < moving->columns && moving->column_names; c++) put_name(page, "column", moving->column_names[c]);
    for (int r = 0; r < moving->rows; r++) {
        if (rows) put_name(page, "row", moving->row_names[r]);
        for (int c = 0; c < moving->columns; c++) put_view(page, moving, sheet, r, c);
    }
    fputs("</div>\n", page->body);
}

void page_moving(Page *page, const PageMoving *moving) {
    Sheet sheet = {0};
    if (moving->rows < 1 || moving->columns < 1 || moving->frames < 1 || !shape_sheet(moving, &sheet)) {
        page_fail(page, STATUS_BAD_INPUT,
                  "a film on the page: expected 1 frame or more that fit into 8192 x 8192 pixels; "
                  "show fewer steps (--steps), or make the pictures smaller (vpd data convert --size)");
        return;
    }
    sheet.rgb = malloc(3 * (size_t)sheet.H * (size_t)sheet.W);
    if (!sheet.rgb) {
        page_fail(page, STATUS_FAILED, "out of memory for a film on the page");
        return;
    }
    fprintf(page->body,
            "<figure class=\"moving\" data-frames=\"%d\" data-fps=\"%g\" data-width=\"%d\" data-height=\"%d\" "
            "data-across=\"%d\" data-names=\"",
            moving->frames, moving->fps > 0 ? moving->fps : 8, moving->W, moving->H, sheet.across);
    put_frame_names(page, moving);
    fputs("\" role=\"group\" aria-label=\"", page->body);
    page_put_escaped(page->body, moving->alt ? moving->alt : moving->caption ? moving->caption : "film");
    fputs("\">\n", page->body);
    put_grid(page, moving, &sheet);
    fputs(CONTROLS_HTML, page->body);
    put_caption(page, moving->caption);
    fputs("</figure>\n", page->body);
    free(sheet.rgb);
}
