// SPDX-License-Identifier: Apache-2.0
// Small line plots as SVG text: several series, axes with round ticks, a legend, logarithmic axes. Text and axes take
// the surrounding text colour, so that the same plot reads on a light and on a dark page.
#ifndef VPD_BASE_PLOT_H
#define VPD_BASE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum { PLOT_COLOURS = 8 };

typedef struct PlotSeries {
    const char *name;    // NULL: not in the legend
    const double *x, *y; // (count); a y that is not finite (or not positive on a log axis) leaves a gap
    int count;
    int colour; // 0..PLOT_COLOURS-1 of the palette; -1 = the series' own index
    bool dashed, markers;
} PlotSeries;

typedef struct Plot {
    const char *title, *x_label, *y_label; // NULL: none
    const char *description;               // for readers of screens; NULL: made from the title
    bool log_x, log_y, y_from_zero;
    int width, height; // 0: 480 x 300
    const PlotSeries *series;
    int series_count;
} Plot;

// `standalone`: a picture of its own, which follows the reader's light or dark preference by itself; else a part of an
// HTML page, whose text colour it takes.
void plot_write_svg(const Plot *plot, bool standalone, FILE *out);

// Several plots in one stand-alone picture, two side by side.
void plot_write_grid(const Plot *plots, int count, FILE *out);

// Round ticks that cover [low, high] with about `wanted` steps; returns how many of at most `capacity`.
int plot_ticks(double low, double high, int wanted, double *ticks, int capacity);

#endif
