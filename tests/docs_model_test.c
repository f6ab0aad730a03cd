// SPDX-License-Identifier: Apache-2.0
// The worked examples of docs/model.md against the library: every number of its table is read from the page, and
// changing any one of them is noticed.
#include "base/random.h"
#include "bodies/body_inputs.h"
#include "gnn/edge_elements.h"
#include "model/lengths.h"
#include "motion/bodies_scene.h"
#include "motion/rigid.h"
#include "nn/group_norm.h"
#include "nn/optimizer.h"
#include "nn/reduce.h"
#include "nn/ssim_loss.h"
#include "renderer/composite.h"
#include "renderer/elements.h"
#include "tests/test.h"
#include "train/schedule.h"

#include <ctype.h>

enum { NUMBERS = 24, LINE = 1024 };
static const char *const PAGE = "docs/model.md";
static const char *const BEGIN = "<!-- tests/docs_model_test.c reads this table -->";

static Device *device;

// ---- what the library computes: each function takes a row's given numbers and fills its results

static void open_tape(Tape *tape, bool recording) {
    tape_init(tape, device);
    tape->recording = recording;
}

static void random_numbers(const double *in, double *out) {
    RandomKey key = {(uint32_t)in[0], (uint32_t)in[1], (uint32_t)in[2], (uint32_t)in[3]};
    Random4 words = random4(key, (uint64_t)in[4]);
    for (int i = 0; i < 4; i++) out[i] = words.v[i];
    out[4] = (double)random_to_unit(words.v[0]);
    out[5] = random_below(key, (uint64_t)in[4], (uint32_t)in[5]);
}

static void initial_weight(const double *in, double *out) {
    Parameters set;
    Error err = {0};
    Tensor *last = NULL;
    parameters_init(&set, device);
    for (int i = 0; i <= (int)in[1]; i++)
        last = parameters_add(&set, INIT_UNIFORM, in[3], 1, (size_t[]){(size_t)in[2] + 1}, "p%d", i);
    assert_status_ok(parameters_allocate(&set, (uint32_t)in[0], &err), err);
    *out = (double)last->value[(size_t)in[2]];
    parameters_free(&set);
}

static void channel_groups(const double *in, double *out) { *out = (double)group_norm_groups((size_t)in[0]); }

// A flat wall across the view of one camera: neighbouring points are depth / focal length apart.
static void lengths(const double *in, double *out) {
    int side = (int)in[0], pixels = side * side, view = 0;
    double intrinsics[9] = {in[2], 0, side / 2.0, 0, in[2], side / 2.0, 0, 0, 1};
    double pose[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    uint8_t *rgb = calloc((size_t)pixels, 3);
    float *depth = malloc((size_t)pixels * sizeof *depth);
    Error err = {0};
    Config config;
    assert_true(rgb && depth);
    for (int i = 0; i < pixels; i++) depth[i] = (float)in[1];
    Observation o = {1, 1, side, side, &view, rgb, depth, intrinsics, pose, 0, NULL, NULL};
    config_defaults(&config);
    assert_status_ok(lengths_derive(&config, device, 1, &o, &err), err);
    out[0] = config.data.extent, out[1] = config.gnn.length_scale, out[2] = config.renderer.radius;
    free(rgb);
    free(depth);
}

static void edge_features(const double *in, double *out) {
    real x[6], g[EDGE_GEOMETRY];
    int32_t first = 0;
    for (int i = 0; i < 6; i++) x[i] = (real)in[i];
    EdgeGeometryArgs a = {.edges = {.groups = 1, .k = 1, .others = 1, .index = &first},
                          .group_receives = true,
                          .x_other = x,
                          .x_group = x + 3,
                          .inverse_ell = (real)(1 / in[6]),
                          .g = g};
    geometry_row(&a, 0, 0);
    for (int i = 0; i < EDGE_GEOMETRY; i++) out[i] = (double)g[i];
}

// s, the largest change of a feature, a place along x, a feature, and the network's output for both.
static void particle_step(const double *in, double *out) {
    real x[3] = {(real)in[2]}, f = (real)in[3], o[4] = {(real)in[4], 0, 0, (real)in[5]}, dx[3], x_next[3], f_next;
    AdvanceArgs a = {.count = 1,
                     .width = 4,
                     .features = 1,
                     .f_width = 1,
                     .scale = (real)in[0],
                     .change = (real)in[1],
                     .x = x,
                     .f = &f,
                     .o = o,
                     .dx = dx,
                     .x_next = x_next,
                     .f_next = &f_next};
    advance_row(&a, 0);
    out[0] = (double)dx[0], out[1] = (double)x_next[0], out[2] = (double)f_next;
}

static void ring_weight(const double *in, double *out) {
    real u = (real)in[0], rho = (real)in[1] * RING_SPACING, u2 = u * u, ring = element_ring(u, rho),
         cut = element_cut(u2);
    out[0] = (double)(ring * cut);
    out[1] = (double)element_ring_weight_slope(u, rho, ring, cut, element_cut_slope(u, u2));
}

static void compositing(const double *in, double *out) {
    Tape tape;
    real shaded[12], z[3], background[3];
    int32_t start[2] = {0, 3};
    for (int n = 0; n < 3; n++) {
        shaded[4 * n] = (real)in[1 + 3 * n], z[n] = (real)in[2 + 3 * n], background[n] = (real)in[10];
        for (int c = 1; c < 4; c++) shaded[4 * n + c] = (real)in[3 + 3 * n];
    }
    open_tape(&tape, false);
    RendererSamples samples = {.rays = 1, .count = 3, .start = start, .z = z};
    CompositeOutput y = composite(&tape, &samples, tape_constant(&tape, 3, 4, shaded),
                                  tape_constant(&tape, 1, 3, background), false, (real)in[0]);
    out[0] = (double)y.colour->value[0], out[1] = (double)y.opacity->value[0], out[2] = (double)y.depth->value[0];
    tape_free(&tape);
}

// The velocity of the only node of a body, its height above a patch, and its velocity along the patch's normal.
static void body_node(const double *in, double *out) {
    BodySet set = {0};
    BodyInputs inputs = {0};
    BodyScales scales = body_scales(in[0]);
    SurfacePatch patch = {.radius = 1};
    Error err = {0};
    size_t row;
    assert_status_ok(body_set_add_window(&set, &err), err);
    assert_status_ok(body_set_add_body(&set, 1, &row, &err), err);
    for (int c = 0; c < 3; c++) {
        set.now[c] = (real)in[1 + c], set.before[c] = (real)in[4 + c];
        patch.position[c] = (real)in[7 + c], patch.normal[c] = (real)in[10 + c];
    }
    assert_status_ok(body_set_add_patch(&set, patch, &err), err);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &inputs, &err), err);
    for (int c = 0; c < 3; c++) out[c] = (double)inputs.feature[3 + c];
    for (int c = 0; c < 2; c++) out[3 + c] = (double)inputs.feature[15 + c];
    body_inputs_free(&inputs);
    body_set_free(&set);
}

static void pixel_fit(const double *in, double *out) {
    *out = rigid_fit(in[1], in[2] * in[2], in[3], SURFACE_CELL * in[0]);
}

// Patches that grow from left to right: x = in[0] + in[1] column / 15, y = in[2] + in[3] column / 15.
static void ssim(const double *in, double *out) {
    Tape tape;
    real x[SSIM_SIDE * SSIM_SIDE], y[SSIM_SIDE * SSIM_SIDE];
    int32_t first = 0;
    for (int i = 0; i < SSIM_SIDE * SSIM_SIDE; i++) {
        x[i] = (real)(in[0] + in[1] * (i % SSIM_SIDE) / 15);
        y[i] = (real)(in[2] + in[3] * (i % SSIM_SIDE) / 15);
    }
    open_tape(&tape, false);
    *out = (double)*ssim_loss(&tape, tape_constant(&tape, SSIM_SIDE * SSIM_SIDE, 1, x), y, 1, &first)->value;
    tape_free(&tape);
}

static void huber(const double *in, double *out) {
    Tape tape;
    real e[3] = {(real)in[0], (real)in[1], (real)in[2]};
    open_tape(&tape, true);
    Tensor *x = tape_tensor(&tape, 1, 3, true);
    memcpy(x->value, e, sizeof e);
    Tensor *y = reduce_huber(&tape, x, NULL, NULL, in[3], 1);
    tape_backward(&tape, y);
    out[0] = (double)*y->value;
    for (int c = 0; c < 3; c++) out[1 + c] = (double)x->grad[c];
    tape_free(&tape);
}

static void learning_rate(const double *in, double *out) {
    TrainConfig train = {
        .rate = in[0], .rate_end = in[1], .warmup = (long)in[2], .motion_steps = (long)in[3], .steps = (long)in[4]};
    for (int i = 0; i < 4; i++) out[i] = schedule_rate(&train, (long)in[5 + i]);
}

// Two updates of a weight matrix of one row and two columns.
static void adam(const double *in, double *out) {
    Parameters set;
    Optimizer optimizer;
    Error err = {0};
    parameters_init(&set, device);
    Tensor *w = parameters_add(&set, INIT_ZERO, 0, 2, (size_t[]){1, 2}, "w");
    assert_status_ok(parameters_allocate(&set, 1, &err), err);
    for (int i = 0; i < 2; i++) w->value[i] = (real)in[i];
    OptimizerConfig config = {
        .clip = in[2], .beta1 = in[4], .beta2 = in[5], .epsilon = 1e-8, .weight_decay = in[6], .ema = in[7]};
    assert_status_ok(optimizer_create(&optimizer, &set, config, &err), err);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 2; i++) w->grad[i] = (real)in[8 + 2 * t + i];
        assert_status_ok(optimizer_step(&optimizer, in[3], out + 3 * t, &err), err);
        for (int i = 0; i < 2; i++) out[3 * t + 1 + i] = (double)w->value[i];
    }
    out[6] = (double)optimizer.ema[0], out[7] = (double)optimizer.ema[1];
    optimizer_free(&optimizer);
    parameters_free(&set);
}

// Two updates of a matrix of two rows and columns.
static void muon(const double *in, double *out) {
    Parameters set;
    Optimizer optimizer;
    Error err = {0};
    double norm;
    parameters_init(&set, device);
    Tensor *w = parameters_add(&set, INIT_ZERO, 0, 2, (size_t[]){2, 2}, "w");
    parameters_use_muon(&set, "w");
    assert_status_ok(parameters_allocate(&set, 1, &err), err);
    for (int i = 0; i < 4; i++) w->value[i] = (real)in[i];
    assert_status_ok(optimizer_create(&optimizer, &set, (OptimizerConfig){.weight_decay = in[5]}, &err), err);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 4; i++) w->grad[i] = (real)in[6 + 4 * t + i];
        assert_status_ok(optimizer_step(&optimizer, in[4], &norm, &err), err);
        for (int i = 0; i < 4; i++) out[4 * t + i] = (double)w->value[i];
    }
    optimizer_free(&optimizer);
    parameters_free(&set);
}

typedef struct Example {
    const char *name;
    int given, results;
    void (*compute)(const double *in, double *out);
} Example;

static const Example examples[] = {
    {"Random numbers", 6, 6, random_numbers},
    {"Initial weight", 4, 1, initial_weight},
    {"Channel groups", 1, 1, channel_groups},
    {"Lengths", 3, 3, lengths},
    {"Edge features", 7, 4, edge_features},
    {"Particle step", 6, 3, particle_step},
    {"Ring weight", 2, 2, ring_weight},
    {"Compositing", 11, 3, compositing},
    {"Node of a body", 13, 5, body_node},
    {"Fit of a pixel", 4, 1, pixel_fit},
    {"SSIM term", 4, 1, ssim},
    {"Pseudo-Huber", 4, 4, huber},
    {"Learning rate", 9, 4, learning_rate},
    {"Adam", 12, 8, adam},
    {"Muon", 14, 8, muon},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

// ---- what the page says

typedef struct Number {
    double value, unit; // unit: of its last digit
    bool whole;
} Number;

typedef struct Row {
    const Example *example;
    Number given[NUMBERS], results[NUMBERS];
} Row;

static Number read_number(const char *text, const char **end) {
    bool hex = text[0] == '0' && text[1] == 'x';
    Number n = {strtod(text, (char **)end), 1, true};
    for (const char *c = text; !hex && c < *end; c++) {
        if (*c == '.') {
            n.whole = false;
            while (isdigit((unsigned char)c[1])) n.unit /= 10, c++;
        }
        if (*c == 'e') n.unit *= pow(10, atof(c + 1)), n.whole = false;
    }
    return n;
}

// The numbers of a table cell; a digit inside a word is none.
static int read_cell(const char *cell, Number *out) {
    int count = 0;
    char before = ' ';
    for (const char *c = cell; *c; before = *c++) {
        bool sign = *c == '-' && isdigit((unsigned char)c[1]);
        if ((!sign && !isdigit((unsigned char)*c)) || isalnum((unsigned char)before) || before == '.') continue;
        if (count == NUMBERS) fail_msg("%s: too many numbers in \"%s\"", PAGE, cell);
        out[count++] = read_number(c, &c);
        c--;
    }
    return count;
}

static const Example *find_example(const char *name) {
    for (size_t i = 0; i < EXAMPLES; i++)
        if (!strcmp(examples[i].name, name)) return &examples[i];
    fail_msg("%s: the worked example \"%s\" is unknown to this test", PAGE, name);
    return NULL;
}

// "| name | given | results |"
static Row read_row(char *line) {
    Row row = {0};
    char *cells[3];
    for (int i = 0; i < 3; i++) {
        char *next = line ? strchr(line + 1, '|') : NULL;
        if (!next) fail_msg("%s: a worked example has no three cells", PAGE);
        *next = 0;
        cells[i] = line + 1;
        while (*cells[i] == ' ') cells[i]++;
        for (char *end = cells[i] + strlen(cells[i]); end > cells[i] && end[-1] == ' ';) *--end = 0;
        line = next;
    }
    row.example = find_example(cells[0]);
    int given = read_cell(cells[1], row.given), results = read_cell(cells[2], row.results);
    if (given != row.example->given || results != row.example->results)
        fail_msg("%s: %s: expected %d given numbers and %d results, found %d and %d", PAGE, cells[0],
                 row.example->given, row.example->results, given, results);
    return row;
}

static int read_page(Row *rows) {
    char line[LINE];
    int count = 0, skip = 2; // the table's head
    FILE *file = fopen(PAGE, "r");
    if (!file) fail_msg("cannot open %s; tests run in the source folder", PAGE);
    bool inside = false;
    while (file && fgets(line, sizeof line, file)) {
        if (!inside) inside = !strncmp(line, BEGIN, strlen(BEGIN));
        else if (line[0] == '|' && skip > 0) skip--;
        else if (line[0] == '|' && count < EXAMPLES) rows[count++] = read_row(line);
        else if (count > 0) break;
    }
    fclose(file);
    return count;
}

// Whether the page's results are those of the library, up to half a unit of the last digit that it prints (and what
// single precision rounds: a few parts in a million). Says what differs when asked to.
static bool row_holds(const Row *row, bool speak) {
    double in[NUMBERS], out[NUMBERS];
    bool holds = true;
    for (int i = 0; i < row->example->given; i++) in[i] = row->given[i].value;
    row->example->compute(in, out);
    for (int i = 0; i < row->example->results; i++) {
        const Number *page = &row->results[i];
        double allowed = page->whole ? 0 : 0.501 * page->unit + 2e-6 * fabs(out[i]);
        if (test_close(page->value, out[i], allowed, 0)) continue;
        holds = false;
        if (speak) print_message("%s: %s: result %d is %.9g\n", PAGE, row->example->name, i + 1, out[i]);
    }
    return holds;
}

static void page_agrees_with_the_library(void **state) {
    (void)state;
    Row rows[EXAMPLES];
    bool holds = true;
    int count = read_page(rows);
    if (count != EXAMPLES) fail_msg("%s: expected %d worked examples, found %d", PAGE, (int)EXAMPLES, count);
    for (int r = 0; r < count; r++) {
        for (int other = 0; other < r; other++) assert_ptr_not_equal(rows[r].example, rows[other].example);
        holds &= row_holds(&rows[r], true);
    }
    assert_true(holds);
}

// Planted errors: the last digit of every number in turn, given or result.
static void any_changed_number_is_noticed(void **state) {
    (void)state;
    Row rows[EXAMPLES];
    int count = read_page(rows);
    for (int r = 0; r < count; r++)
        for (int i = 0; i < rows[r].example->given + rows[r].example->results; i++) {
            Row changed = rows[r];
            int given = changed.example->given;
            Number *number = i < given ? &changed.given[i] : &changed.results[i - given];
            number->value += number->unit;
            if (row_holds(&changed, false))
                fail_msg("%s: %s: number %d may be changed unnoticed", PAGE, changed.example->name, i + 1);
        }
}

static int open_device(void **state) {
    (void)state;
    Error err;
    return device_open("cpu", 1, &device, &err) == STATUS_OK ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_agrees_with_the_library),
        cmocka_unit_test(any_changed_number_is_noticed),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
