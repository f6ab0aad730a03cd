// SPDX-License-Identifier: Apache-2.0
// SVG plots: round ticks, gaps, logarithmic axes, text that cannot break out of its place.
#include "base/plot.h"
#include "tests/test.h"

static char *draw(const Plot *plot) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    plot_write_svg(plot, true, out);
    fclose(out);
    return text;
}

static int count_of(const char *text, const char *what) {
    int count = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) count++;
    return count;
}

static void test_ticks(void **state) {
    (void)state;
    double ticks[20];
    assert_int_equal(plot_ticks(0, 10, 5, ticks, 20), 6);
    assert_close(ticks[1], 2, 1e-12, 0);
    assert_int_equal(plot_ticks(13.1, 27.9, 5, ticks, 20), 3); // steps of 5
    assert_close(ticks[0], 15, 1e-12, 0);
    assert_int_equal(plot_ticks(-0.03, 0.03, 6, ticks, 20), 7);
    assert_close(ticks[3], 0, 1e-12, 0);
    assert_int_equal(plot_ticks(0, 1, 100, ticks, 20), 20); // never beyond the capacity
    assert_int_equal(plot_ticks(1, 1, 5, ticks, 20), 0);
    assert_int_equal(plot_ticks(0, INFINITY, 5, ticks, 20), 0);
    assert_int_equal(plot_ticks(NAN, 1, 5, ticks, 20), 0);
}

static void test_series(void **state) {
    (void)state;
    const double x[] = {0, 1, 2, 3, 4}, y[] = {20, 21, NAN, 25, 24};
    const PlotSeries series[] = {{.name = "model", .x = x, .y = y, .count = 5, .colour = -1, .markers = true},
                                 {.name = "copy", .x = x, .y = y, .count = 2, .colour = 4, .dashed = true}};
    Plot plot = {.title = "PSNR", .x_label = "step", .y_label = "dB", .series = series, .series_count = 2};
    char *text = draw(&plot);
    assert_int_equal(count_of(text, "<circle"), 4); // the gap has no marker
    assert_non_null(strstr(text, ">model</text>"));
    assert_int_equal(count_of(text, "stroke-dasharray"), 2); // line and legend
    assert_int_equal(count_of(text, "<svg"), count_of(text, "</svg"));
    assert_null(strstr(text, "nan"));
    free(text);
}

static void test_log_axis(void **state) {
    (void)state;
    const double x[] = {1, 10, 100, 1000}, y[] = {1e-3, 0, 10, -5};
    const PlotSeries series[] = {{.x = x, .y = y, .count = 4, .colour = -1, .markers = true}};
    Plot plot = {.log_x = true, .log_y = true, .series = series, .series_count = 1};
    char *text = draw(&plot);
    assert_int_equal(count_of(text, "<circle"), 2); // 0 and -5 have no place on a log axis
    assert_non_null(strstr(text, ">100</text>"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

static void test_nothing_and_one(void **state) {
    (void)state;
    const double x[] = {3}, y[] = {7}, none[] = {NAN};
    const PlotSeries series[] = {{.x = x, .y = y, .count = 1, .colour = -1, .markers = true},
                                 {.x = x, .y = none, .count = 1, .colour = -1}};
    Plot plot = {.series = series, .series_count = 2};
    char *text = draw(&plot);
    assert_int_equal(count_of(text, "<circle"), 1);
    assert_null(strstr(text, "nan"));
    free(text);
    plot.series_count = 0;
    text = draw(&plot);
    assert_non_null(strstr(text, "</svg>"));
    assert_null(strstr(text, "nan"));
    free(text);
}

static void test_escaping(void **state) {
    (void)state;
    Plot plot = {.title = "<script>alert(1)</script> & \"more\"\x01"};
    char *text = draw(&plot);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;script&gt;"));
    assert_non_null(strstr(text, "&amp; &quot;more&quot;"));
    assert_null(strchr(text, '\x01'));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks),           cmocka_unit_test(test_series),   cmocka_unit_test(test_log_axis),
        cmocka_unit_test(test_nothing_and_one), cmocka_unit_test(test_escaping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
