// SPDX-License-Identifier: Apache-2.0
// Figures and the page of experiments. What their fits do is tested in tests/lab_fit_test.c.
#include "lab/experiment.h"

#include "base/file.h"
#include "tests/test.h"

static void test_figures(void **state) {
    const double values[] = {1, 5, 2, 4};
    const ExperimentFigures f = experiment_figures(values, 4);
    (void)state;
    assert_close(f.mean, 3, 1e-12, 0);
    assert_close(f.median, 3, 1e-12, 0);
    assert_close(f.worst, 5, 0, 0);
    assert_close(f.spread, sqrt(10.0 / 3 / 4), 1e-12, 0);
    assert_true(isnan(experiment_figures(values, 0).mean));
}

// A section takes the place of its earlier form, and the others stay.
static void test_page(void **state) {
    char folder[64], path[128], *page;
    ExperimentResult result = {.instances = 3};
    size_t length;
    Error err;
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/page.md", folder);
    for (int k = 0; k < 4; k++) {
        snprintf(result.text, sizeof result.text, "text %d.", k);
        assert_status_ok(experiment_write_page(experiments + k % 2, &result, path, &err), err);
    }
    assert_status_ok(file_read_all(path, 1 << 20, &page, &length, &err), err);
    assert_true(strstr(page, "# Experiments with the simulator\n") == page);
    assert_true(!strstr(page, "text 0.") && !strstr(page, "text 1."));
    const char *first = strstr(page, "text 2."), *second = strstr(page, "text 3.");
    assert_true(first && second && first < second);
    assert_true(strstr(page, "\n\n## mass\n") && strstr(page, "\n\n## contact\n") && !strstr(page, "\n\n\n"));
    free(page);
    test_remove_folder(folder);
}

static void print_row(const double *error, double *bar, char **out) {
    static const Experiment of = {.name = "mass", .about = "About."};
    ExperimentResult result = {.instances = 3, .rows = 1};
    size_t length;
    FILE *file = open_memstream(out, &length);
    double copy[3];
    memcpy(copy, error, sizeof copy);
    result.row[0] = (ExperimentRow){"k_f", "pixels", .0017, copy, bar, 3};
    experiment_print(&of, &result, NULL, file);
    fclose(file);
}

// Planted: one error of three that is ten times as large is in every figure but the median.
static void test_row(void **state) {
    const double good[] = {.001, .002, .003}, wrong[] = {.001, .002, .03};
    double bar[] = {.004, .002, .003};
    char *row;
    (void)state;
    print_row(good, bar, &row);
    assert_non_null(strstr(row, "\n| k_f | pixels | 0.0017 | 0.002 +- 0.0006 | 0.002 | 0.003 | 0.003 |\n"));
    free(row);
    print_row(good, NULL, &row);
    assert_non_null(strstr(row, " | 0.003 | |\n"));
    free(row);
    print_row(wrong, bar, &row);
    assert_non_null(strstr(row, "\n| k_f | pixels | 0.0017 | 0.011 +- 0.01 | 0.002 | 0.03 | 0.003 |\n"));
    free(row);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures), cmocka_unit_test(test_page),
                                       cmocka_unit_test(test_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
