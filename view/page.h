// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page that needs no other file and no network. Calls append in reading order. The first
// failure is kept, and page_finish returns it. All text is escaped; none is taken as HTML.
//   page_create; { page_section; page_text | page_moving | page_plots | page_table | page_command .. } ..; page_finish
#ifndef VPD_VIEW_PAGE_H
#define VPD_VIEW_PAGE_H

#include "base/error.h"
#include "base/plot.h"
#include "view/scene.h"

#include <stdint.h>

typedef struct Page Page;

Status page_create(const char *title, const char *subtitle, Page **out, Error *err);

// Starts a section with a heading and an entry in the contents.
void page_section(Page *page, const char *title);
void page_text(Page *page, const char *text); // a blank line starts a paragraph; `code` in backquotes
void page_note(Page *page, const char *text); // small, set apart
// Commands to copy, one per line; `caption` may be NULL.
void page_command(Page *page, const char *caption, const char *commands);
// A few large figures in a row: "27.5 dB" over "whole image, step 1".
typedef struct PageFigure {
    const char *value, *label;
} PageFigure;
void page_figures(Page *page, const PageFigure *figures, int count);

// Cells row by row, `columns` each. The first row is the heading, the first column the names; NULL = empty.
void page_table(Page *page, const char *caption, const char *const *cells, int rows, int columns);

void page_plots(Page *page, const Plot *plots, int count, const char *caption); // side by side if there is room

// Particles to turn and play, of one scene or several side by side; the bytes are those of view_file_bytes.
typedef struct PageScene {
    const char *name;
    ViewBytes bytes;
} PageScene;
void page_viewer(Page *page, const PageScene *scenes, int count, const char *caption);

// Synchronised films with play, pause and a slider: rows such as truth and prediction, columns such as views.
typedef struct PageMoving {
    const char *caption, *alt; // alt: what the film shows, in a sentence
    int rows, columns, frames, H, W;
    const char *const *row_names;    // (rows) "truth", "prediction"
    const char *const *column_names; // (columns) "camera 1", "camera 5 (held out)"; entries may be NULL
    const char *const *frame_names;  // (frames) "input", "step 3 of 12, 0.13 s"; NULL: numbers
    const uint8_t *const *pictures;  // (rows, columns, frames) of (H,W,3); NULL = black
    double fps;                      // 0 counts as 8
} PageMoving;
void page_moving(Page *page, const PageMoving *moving);

// Writes the page (complete or not at all) and frees it, also after a failure. If `path` is NULL, only frees it.
Status page_finish(Page *page, const char *path, Error *err);

#endif
