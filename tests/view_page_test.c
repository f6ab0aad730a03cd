// SPDX-License-Identifier: Apache-2.0
// The page: what goes in stands in the file, nothing can break out of its place, nothing is fetched from elsewhere.
//   view_page_test --draw FILE   writes a page of synthetic moving pictures, which tests/cli/page_slow.sh opens
#include "base/file.h"
#include "base/random.h"
#include "tests/test.h"
#include "view/page.h"

enum { H = 64, W = 64, FRAMES = 24, VIEWS = 3, EPISODES = 2 };

// ---- synthetic moving pictures: a ball that falls on a tiled floor and bounces, seen from three sides

typedef struct Ball {
    double x, y, z, radius;
} Ball;

static Ball ball_at(int episode, double time, double loss) {
    double z = 0.75, v = 0, g = 2.2, radius = 0.16;
    for (double t = 0; t < time; t += 0.01) {
        v -= g * 0.01;
        z += v * 0.01;
        if (z < radius && v < 0) {
            z = radius;
            v = -v * loss;
        }
    }
    return (Ball){-0.5 + 0.45 * time * (episode ? -1 : 1) + episode, 0.2 - 0.2 * time, z, radius};
}

static void shade(const Ball *ball, const double eye[3], const double d[3], const double colour[3], double blur,
                  double out[3]) {
    double t = d[2] < 0 ? -eye[2] / d[2] : 1e9, sky = 0.5 + 0.5 * d[2];
    for (int c = 0; c < 3; c++) out[c] = 0.55 + 0.25 * sky + 0.05 * c;
    if (t < 8) {
        double x = eye[0] + t * d[0], y = eye[1] + t * d[1];
        double shadow = hypot(x - ball->x, y - ball->y) < ball->radius ? 0.55 : 1;
        for (int c = 0; c < 3; c++)
            out[c] = shadow * (((int)floor(3 * x) + (int)floor(3 * y)) & 1 ? 0.42 : 0.52) + 0.01 * c;
    }
    double o[3] = {eye[0] - ball->x, eye[1] - ball->y, eye[2] - ball->z};
    double b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2], c2 = o[0] * o[0] + o[1] * o[1] + o[2] * o[2];
    double near = c2 - b * b, edge = ball->radius * ball->radius;
    double cover = fmin(fmax(0.5 + (edge - near) / (2 * blur * edge), 0), 1), s = -b - sqrt(fmax(edge - near, 0));
    double nz = (o[2] + s * d[2]) / ball->radius, nx = (o[0] + s * d[0]) / ball->radius,
           light = 0.45 + 0.55 * fmax(0.8 * nz + 0.4 * nx, 0);
    for (int c = 0; c < 3; c++) out[c] = cover * colour[c] * light + (1 - cover) * out[c];
}

static uint8_t *draw_view(int episode, int view, int frame, bool predicted) {
    static const double colours[2][3] = {{0.85, 0.33, 0.2}, {0.2, 0.5, 0.8}};
    uint8_t *rgb = malloc(3 * H * W);
    Ball ball = ball_at(episode, frame / 12.0, predicted ? 0.5 : 0.7);
    double angle = 0.4 + 2.1 * view, eye[3] = {2.4 * cos(angle), 2.4 * sin(angle), 1.1};
    double ahead[3] = {-cos(angle) * 0.93, -sin(angle) * 0.93, -0.36}, right[3] = {-sin(angle), cos(angle), 0};
    RandomKey key = {.purpose = RANDOM_TEST, .step = (uint32_t)frame};
    for (int i = 0; i < H * W; i++) {
        double u = (i % W + 0.5 - W / 2.0) / W, v = (H / 2.0 - i / W - 0.5) / H, d[3], colour[3];
        for (int c = 0; c < 3; c++) d[c] = ahead[c] + 0.9 * u * right[c] + (c == 2 ? 0.9 * v : 0);
        double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int c = 0; c < 3; c++) d[c] /= length;
        shade(&ball, eye, d, colours[episode], predicted ? 0.5 : 0.05, colour);
        for (int c = 0; c < 3; c++) {
            double noise = predicted ? 0.02 * (random_uniform(key, (uint64_t)(3 * i + c)) - 0.5) : 0;
            rgb[3 * i + c] = (uint8_t)(255 * fmin(fmax(colour[c] + noise, 0), 1));
        }
    }
    return rgb;
}

static void add_episode(Page *page, int episode) {
    static const char *const rows[] = {"truth", "prediction"}, *const columns[] = {"camera 1", "camera 2",
                                                                                   "camera 3, held out"};
    uint8_t *pictures[2 * VIEWS * FRAMES];
    char words[FRAMES][48];
    const char *names[FRAMES];
    for (int i = 0; i < 2 * VIEWS * FRAMES; i++)
        pictures[i] = draw_view(episode, i / FRAMES % VIEWS, i % FRAMES, i / FRAMES >= VIEWS);
    for (int i = 0; i < FRAMES; i++) {
        snprintf(words[i], sizeof words[i], i < 2 ? "input %d" : "step %d, %.2f s", i < 2 ? i + 1 : i - 1,
                 (i - 1) / 12.0);
        names[i] = words[i];
    }
    PageMoving moving = {
        .caption =
            "The same two frames go in; every later picture of the lower row is predicted and drawn from particles.",
        .alt = "A ball falls on a tiled floor and bounces: truth above, prediction below, three cameras",
        .rows = 2,
        .columns = VIEWS,
        .frames = FRAMES,
        .H = H,
        .W = W,
        .row_names = rows,
        .column_names = columns,
        .frame_names = names,
        .pictures = (const uint8_t *const *)pictures,
        .fps = 12};
    page_moving(page, &moving);
    for (int i = 0; i < 2 * VIEWS * FRAMES; i++) free(pictures[i]);
}

static void add_curves(Page *page) {
    double x[13], model[13], copy[13], error[13], truth[13];
    for (int i = 0; i < 13; i++) {
        x[i] = i;
        model[i] = 24 - 0.35 * i - sin(i);
        copy[i] = i ? 14.5 - 0.15 * i : 24;
        truth[i] = 26 * (1 - exp(-0.3 * i));
        error[i] = 0.45 * truth[i];
    }
    const PlotSeries pictures[] = {
        {.name = "model", .x = x, .y = model, .count = 13, .colour = 0, .markers = true},
        {.name = "copy last frame", .x = x, .y = copy, .count = 13, .colour = 4, .dashed = true}};
    const PlotSeries motion[] = {{.name = "error", .x = x, .y = error, .count = 13, .colour = 0, .markers = true},
                                 {.name = "true motion", .x = x, .y = truth, .count = 13, .colour = 4, .dashed = true}};
    const Plot plots[] = {
        {.title = "Moving pixels", .x_label = "step", .y_label = "PSNR, dB", .series = pictures, .series_count = 2},
        {.title = "Motion of objects",
         .x_label = "step",
         .y_label = "cm",
         .y_from_zero = true,
         .series = motion,
         .series_count = 2}};
    page_plots(page, plots, 2, "Synthetic curves: higher is better on the left, lower on the right.");
}

static Status draw_page(const char *path, Error *err) {
    static const PageFigure figures[] = {{"27.5 dB", "whole image, step 1"},
                                         {"1.6 cm", "error of motion, step 1"},
                                         {"4 min 12 s", "training, two cores"}};
    static const char *const cells[] = {"",
                                        "step 1",
                                        "3",
                                        "6",
                                        "12",
                                        "PSNR dB, moving pixels",
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        "model",
                                        "18.3",
                                        "16.7",
                                        "15.9",
                                        "15.1",
                                        "copy last frame",
                                        "14.5",
                                        "12.2",
                                        "12.4",
                                        "12.6",
                                        "Motion",
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        "error, cm",
                                        "2.6",
                                        "6.8",
                                        "10.9",
                                        "16.3",
                                        "slope, horizontal",
                                        "0.87",
                                        "0.79",
                                        "0.68",
                                        "0.41"};
    Page *page;
    Status status =
        page_create("A simulator learned from video",
                    "Synthetic pictures that show how this page looks; the test opens it in a browser.", &page, err);
    if (status != STATUS_OK) return status;
    page_section(page, "What minutes give");
    page_text(
        page,
        "Two frames from four cameras become particles. A network moves them; a renderer draws them from any side, "
        "also from a camera that was never shown to it.\n\nThe option `train.steps` says how long it learns.");
    page_figures(page, figures, 3);
    for (int episode = 0; episode < EPISODES; episode++) add_episode(page, episode);
    page_section(page, "Curves");
    add_curves(page);
    page_section(page, "Numbers");
    page_table(page, "Test episodes, mean over views", cells, sizeof cells / sizeof *cells / 5, 5);
    page_note(page, "Moving pixels are those that show an object; <b>this is no tag</b> & stays text.");
    page_section(page, "How it was made");
    page_command(page, "Two commands:",
                 "scripts/setup\nvpd train configs/demo.yaml --set train.steps=600 --set data.path=data/sample.h5");
    return page_finish(page, path, err);
}

// ---- tests

static char *drawn_page(const char *folder) {
    char path[128], *text;
    size_t length;
    Error err;
    snprintf(path, sizeof path, "%s/index.html", folder);
    assert_status_ok(draw_page(path, &err), err);
    assert_status_ok(file_read_all(path, 64 << 20, &text, &length, &err), err);
    assert_int_equal(strlen(text), length);
    return text;
}

static int count_of(const char *text, const char *what) {
    int count = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) count++;
    return count;
}

static void test_contents(void **state) {
    (void)state;
    char folder[64];
    test_make_folder(folder);
    char *text = drawn_page(folder);
    assert_true(strncmp(text, "<!doctype html>", 15) == 0);
    *strstr(text, "<script>") = 0; // the scripts make elements of their own
    assert_int_equal(count_of(text, "<section "), 4);
    assert_int_equal(count_of(text, "<section "), count_of(text, "</section>"));
    assert_int_equal(count_of(text, "<figure"), count_of(text, "</figure>"));
    assert_int_equal(count_of(text, "<div"), count_of(text, "</div>"));
    assert_int_equal(count_of(text, "class=\"view\""), EPISODES * 2 * VIEWS);
    assert_int_equal(count_of(text, "data:image/png;base64,"), EPISODES * 2 * VIEWS);
    assert_int_equal(count_of(text, "<svg xmlns"), 2);
    assert_non_null(strstr(text, "href=\"#section-3\">Numbers</a>"));
    assert_non_null(strstr(text, "<code>train.steps</code>"));
    assert_non_null(strstr(text, "&quot;step 3, 0.25 s&quot;"));
    assert_non_null(strstr(text, "<th scope=\"row\">model</th><td>18.3</td>"));
    assert_non_null(strstr(text, "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"5\">Motion</th>"));
    free(text);
    test_remove_folder(folder);
}

static void test_self_contained(void **state) {
    (void)state;
    char folder[64];
    test_make_folder(folder);
    char *text = drawn_page(folder);
    assert_non_null(strstr(text, "default-src 'none'"));
    // The only address in it is the name of SVG.
    assert_int_equal(count_of(text, "://"), count_of(text, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_null(strstr(text, "@import"));
    assert_null(strstr(text, "url("));
    assert_int_equal(count_of(text, "<script"), 2);
    free(text);
    test_remove_folder(folder);
}

// A stranger's words (names of episodes, paths) stay words.
static void test_escaping(void **state) {
    (void)state;
    static const char nasty[] = "</script><img src=x onerror=alert(1)> \"' & `<b>` \x01\x02";
    const char *cells[] = {nasty, nasty, nasty, nasty}, *names[] = {nasty}, *bad_utf8[] = {"\xFF\xFE"};
    char folder[64], path[128], *text;
    uint8_t rgb[12] = {0};
    const uint8_t *pictures[] = {rgb};
    size_t length;
    Page *page;
    Error err;
    PageMoving moving = {nasty, nasty, 1, 1, 1, 2, 2, names, names, names, pictures, 0};
    PageFigure figure = {nasty, nasty};
    Plot plot = {.title = nasty, .x_label = nasty};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/index.html", folder);
    assert_status_ok(page_create(nasty, nasty, &page, &err), err);
    page_section(page, nasty);
    page_text(page, nasty);
    page_note(page, nasty);
    page_command(page, nasty, nasty);
    page_figures(page, &figure, 1);
    page_table(page, nasty, cells, 2, 2);
    page_plots(page, &plot, 1, nasty);
    page_moving(page, &moving);
    page_viewer(page, &(PageScene){nasty, {rgb, sizeof rgb}}, 1, nasty);
    moving.frame_names = bad_utf8;
    page_moving(page, &moving);
    assert_status_ok(page_finish(page, path, &err), err);
    assert_status_ok(file_read_all(path, 64 << 20, &text, &length, &err), err);
    assert_int_equal(count_of(text, "<img src=x"), 0);
    assert_int_equal(count_of(text, "<b>"), 1);       // of the figure
    assert_int_equal(count_of(text, "</script>"), 3); // data, films, viewer
    assert_null(strchr(text, '\x01'));
    free(text);
    test_remove_folder(folder);
}

static void test_errors(void **state) {
    (void)state;
    char folder[64], path[128];
    Page *page;
    Error err;
    PageMoving moving = {.rows = 1, .columns = 1, .H = 2, .W = 2};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/index.html", folder);
    assert_status_ok(page_create("t", NULL, &page, &err), err);
    page_moving(page, &moving); // no frame: the first failure is kept
    page_text(page, "more");
    assert_status_error(page_finish(page, path, &err), STATUS_BAD_INPUT, err, "expected 1 frame or more");
    assert_false(file_exists(path));
    assert_status_ok(page_create("t", NULL, &page, &err), err);
    assert_status_error(page_finish(page, "/dev/null/a.html", &err), STATUS_BAD_INPUT, err, "/dev/null/a.html");
    assert_status_ok(page_create("t", NULL, &page, &err), err);
    assert_status_ok(page_finish(page, NULL, &err), err);
    test_remove_folder(folder);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--draw") == 0) {
        Error err;
        Status status = draw_page(argv[2], &err);
        if (status != STATUS_OK) fprintf(stderr, "%s\n", err.text);
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_self_contained),
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
