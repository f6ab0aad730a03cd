// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"
#include "tests/test.h"

typedef struct Inner {
    double sigma;
    bool on;
} Inner;

typedef struct Config {
    long steps;
    double rate;
    char out[OPTION_TEXT_SIZE];
    int mode;
    IntList levels;
    RealList box;
    Inner noise;
} Config;

enum { MODE_MEAN, MODE_LEARNED, MODE_OFF };

static const Option options[] = {
    {"train.steps", OPTION_INT, offsetof(Config, steps), 1, 1e9, "steps", "2000", NULL, "Number of updates."},
    {"train.noise.sigma", OPTION_REAL, offsetof(Config, noise.sigma), 0, 1, "m", "0.003", NULL, "Noise on positions."},
    {"train.noise.on", OPTION_BOOL, offsetof(Config, noise.on), 0, 0, "", "true", NULL, "Noise at all."},
    {"model.mode", OPTION_ENUM, offsetof(Config, mode), 0, 0, "", "mean", "mean|learned|off", "How to pool."},
    {"train.rate", OPTION_REAL, offsetof(Config, rate), 0, 1e300, "", "3e-4", NULL, "Learning rate."},
    {"out", OPTION_TEXT, offsetof(Config, out), 0, 0, "", "runs/a", NULL, "Folder of the run."},
    {"model.levels", OPTION_INT_LIST, offsetof(Config, levels), 1, 512, "channels", "[16, 32]", NULL,
     "Channels per level."},
    {"model.box", OPTION_REAL_LIST, offsetof(Config, box), -100, 100, "m", "[]", NULL, "Workspace."},
};
static const OptionTable table = {.options = options, .count = sizeof options / sizeof *options};

static Config fresh(void) {
    Config config;
    memset(&config, 0xA5, sizeof config);
    options_defaults(table, &config);
    return config;
}

static Status parse(Config *config, const char *text, Error *err) {
    return options_parse_yaml(table, config, text, strlen(text), "c.yaml", NULL, err);
}

static bool same(const Config *a, const Config *b) {
    char lines[4096] = "";
    return options_diff(table, a, "a", b, "b", "", lines, sizeof lines) == 0;
}

static void test_defaults(void **state) {
    (void)state;
    Config c = fresh();
    assert_int_equal(c.steps, 2000);
    assert_true(c.rate == 3e-4 && c.noise.sigma == 0.003 && c.noise.on);
    assert_string_equal(c.out, "runs/a");
    assert_int_equal(c.mode, MODE_MEAN);
    assert_int_equal(c.levels.count, 2);
    assert_int_equal(c.levels.v[1], 32);
    assert_int_equal(c.box.count, 0);
}

static void test_set(void **state) {
    (void)state;
    Config c = fresh();
    Error err;
    assert_status_ok(options_set_pair(table, &c, "train.steps=2e5", &err), err);
    assert_int_equal(c.steps, 200000);
    assert_status_ok(options_set_pair(table, &c, "train.noise.on=Off", &err), err);
    assert_false(c.noise.on);
    assert_status_ok(options_set_pair(table, &c, "model.mode=learned", &err), err);
    assert_int_equal(c.mode, MODE_LEARNED);
    assert_status_ok(options_set_pair(table, &c, "model.box=-1,2.5, 3", &err), err);
    assert_int_equal(c.box.count, 3);
    assert_true(c.box.v[0] == -1 && c.box.v[1] == 2.5 && c.box.v[2] == 3);
    assert_status_ok(options_set_pair(table, &c, "out=a=b", &err), err);
    assert_string_equal(c.out, "a=b");
    assert_status_ok(options_set_pair(table, &c, "out=", &err), err);
    assert_string_equal(c.out, "");
}

// Each is refused with words that help, and the value before stays.
static void test_bad_values(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"train.steps=0", "train.steps: expected an integer from 1 to 1000000000 (steps), found \"0\""},
        {"train.steps=1.5", "integer"},
        {"train.steps=0x10", "integer"},
        {"train.steps=99999999999999999999", "integer"},
        {"train.steps=", "found nothing"},
        {"train.steps=12 ", "integer"},
        {"train.rate=nan", "a number of at least 0"},
        {"train.rate=inf", "number"},
        {"train.rate=1e999", "number"},
        {"train.rate=-1", "number"},
        {"train.noise.on=maybe", "true or false"},
        {"model.mode=learn", "one of mean|learned|off"},
        {"model.mode=", "one of"},
        {"model.mode=mean|learned", "one of"},
        {"model.levels=[1, 2", "integers"},
        {"model.levels=1,,2", "integers"},
        {"model.levels=1,2,", "integers"},
        {"model.levels=513", "from 1 to 512 (channels)"},
        {"model.levels=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
         "at most 16 integers, each from 1 to 512 (channels), found a list of 17"},
        {"out=a\nb", "one line of UTF-8"},
        {"out=\xff\xfe", "UTF-8"},
        {"out=\xc0\xaf", "UTF-8"},
        {"train.step=3", "unknown option \"train.step\"; did you mean \"train.steps\"?"},
        {"sigma=3", "did you mean \"train.noise.sigma\"?"},
        {"quite_different=3", "\"--help all\" lists all options"},
        {"train.steps", "expected key=value"},
        {"=3", "expected key=value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Config c = fresh(), before = fresh();
        Error err;
        assert_status_error(options_set_pair(table, &c, cases[i][0], &err), STATUS_BAD_INPUT, err, cases[i][1]);
        assert_true(same(&c, &before));
    }
}

static void test_yaml(void **state) {
    (void)state;
    Config c = fresh();
    Error err;
    assert_status_ok(
        parse(&c,
              "# comment\ntrain:\n  steps: 7\n  noise: {sigma: 0.5, on: no}\nmodel:\n  levels: [8, 16, 24]\n"
              "  mode: \"off\"\ntrain.rate: 1e-3\nout: 'x y'\n",
              &err),
        err);
    assert_int_equal(c.steps, 7);
    assert_true(c.noise.sigma == 0.5 && !c.noise.on && c.rate == 1e-3);
    assert_int_equal(c.levels.count, 3);
    assert_int_equal(c.mode, MODE_OFF);
    assert_string_equal(c.out, "x y");
    assert_status_ok(parse(&c, "", &err), err);
    assert_status_ok(parse(&c, "# nothing\n", &err), err);
    assert_status_ok(parse(&c, "train:\nmodel: {box: []}\n", &err), err);
}

static void test_bad_yaml(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"train:\n  steps: 3\n  setps: 4\n", "c.yaml:3: unknown option \"train.setps\"; did you mean \"train.steps\"?"},
        {"train:\n  steps: 3\n  steps: 4\n", "c.yaml:3: train.steps: given twice"},
        {"train: {steps: 3}\ntrain.steps: 4\n", "c.yaml:2: train.steps: given twice"},
        {"train: {steps: 3}\ntrain: {rate: 4}\n", "c.yaml:2: train: given twice"},
        {"train:\n  steps: many\n", "c.yaml:2: train.steps: expected an integer from 1"},
        {"train: &a {steps: 3}\n", "c.yaml:1: anchors"},
        {"out: *a\n", "anchors (&) and aliases (*)"},
        {"out: !!python/object/apply:os.system ls\n", "tags (!)"},
        {"!x {out: a}\n", "tags (!)"},
        {"train: 3\n", "train: is a section"},
        {"train:\n  steps: {a: 1}\n", "train.steps: expected a value, found a section"},
        {"train:\n  steps: [1]\n", "train.steps: expected a single value, found a list"},
        {"model: {levels: [[1]]}\n", "expected a flat list"},
        {"model: {levels: ['1,2']}\n", "expected a flat list"},
        {"modle: {levels: [1]}\n", "unknown option \"modle\""},
        {"- a\n- b\n", "expected \"key: value\""},
        {"just text\n", "expected \"key: value\""},
        {"out: a\n---\nout: b\n", "one YAML document"},
        {"out: \"a\\0b\"\n", "control character"},
        {"model: {levels: [1\n", "not valid YAML"},
        {"out: \xff\xff\n", "not valid YAML"},
        {"[a]: b\n", "expected a key"},
        {"out: {a: 1}\n", "out: expected a value, found a section"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Config c = fresh();
        Error err;
        assert_status_error(parse(&c, cases[i][0], &err), STATUS_BAD_INPUT, err, cases[i][1]);
    }
}

static char *written(const Config *config, bool comments) {
    char *text = NULL;
    size_t length;
    if (!comments) return options_to_yaml(table, config);
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(options_write_yaml(table, config, true, out), STATUS_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

// What is written reads back to the same values, bit for bit, whatever they are.
static void test_round_trip(void **state) {
    (void)state;
    static const char *const texts[] = {"",      "no",      "12", "a: b", "# c",   "\"q\" \\ 'x'",
                                        " lead", "ünïcode", "-",  "~",    "a\\nb", "{x}"};
    static const double reals[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e+299, 0.30000000000000004, 123456789};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int comments = 0; comments < 2; comments++) {
            Config c = fresh(), back = fresh();
            Error err;
            snprintf(c.out, sizeof c.out, "%s", texts[i]);
            c.rate = reals[i % 6];
            c.mode = (int)(i % 3);
            c.levels = (IntList){3, {1, 512, 7}};
            c.box = (RealList){2, {-0.1, 100}};
            char *text = written(&c, comments);
            assert_non_null(text);
            assert_status_ok(parse(&back, text, &err), err);
            assert_true(same(&c, &back));
            assert_true(c.rate == back.rate);
            assert_int_equal(!!strstr(text, "# Learning rate."), comments);
            free(text);
        }
    }
}

// Sections stand together although the table mixes them.
static void test_written_form(void **state) {
    (void)state;
    Config c = fresh();
    char *text = options_to_yaml(table, &c);
    assert_string_equal(text, "train:\n  steps: 2000\n  noise:\n    sigma: 0.003\n    on: true\n  rate: 0.0003\n"
                              "model:\n  mode: mean\n  levels: [16, 32]\n  box: []\nout: runs/a\n");
    free(text);
}

static void test_diff(void **state) {
    (void)state;
    Config a = fresh(), b = fresh();
    char lines[256] = "first";
    b.steps = 7;
    b.noise.sigma = 0.5;
    b.mode = MODE_OFF;
    assert_int_equal(options_diff(table, &a, "in the checkpoint", &b, "here", "train.", lines, sizeof lines), 2);
    assert_string_equal(lines, "first; train.steps: 2000 in the checkpoint, 7 here; "
                               "train.noise.sigma: 0.003 in the checkpoint, 0.5 here");
    char small[16] = ""; // too small: cut, but all are counted
    assert_int_equal(options_diff(table, &a, "a", &b, "b", "", small, sizeof small), 3);
    assert_int_equal(strlen(small), sizeof small - 1);
}

static void test_help(void **state) {
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    options_print_help(table, NULL, out);
    fclose(out);
    for (size_t i = 0; i < table.count; i++) {
        assert_non_null(strstr(text, options[i].key));
        assert_non_null(strstr(text, options[i].help));
    }
    assert_non_null(strstr(text, "from 0 to 1 (m); default 0.003"));
    assert_non_null(strstr(text, "model.mode=mean|learned|off"));
    free(text);
}

static void test_nearest_word(void **state) {
    (void)state;
    static const char *const words[] = {"train", "rollout", "render", "eval", "data info"};
    static const char *const cases[][2] = {{"trian", "train"},  {"rollotu", "rollout"},
                                           {"rendr", "render"}, {"evl", "eval"},
                                           {"tra", NULL},       {"x", NULL},
                                           {"", NULL},          {"zebra", NULL},
                                           {"train", "train"},  {"data inf", "data info"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = options_nearest_word(cases[i][0], words, 5);
        if (cases[i][1]) assert_string_equal(found ? found : "none", cases[i][1]);
        else assert_null(found);
    }
    char longest[300];
    memset(longest, 'a', sizeof longest);
    longest[299] = 0;
    assert_null(options_nearest_word(longest, words, 5));
}

static void test_load_file(void **state) {
    (void)state;
    char folder[64], path[96];
    Config c = fresh();
    Error err;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    assert_status_error(options_load_yaml(table, &c, path, NULL, &err), STATUS_BAD_INPUT, err,
                        "c.yaml: cannot open: No such file");
    FILE *file = fopen(path, "w");
    fputs("train: {steps: 11}\n", file);
    fclose(file);
    assert_status_ok(options_load_yaml(table, &c, path, NULL, &err), err);
    assert_int_equal(c.steps, 11);
    assert_status_error(options_load_yaml(table, &c, folder, NULL, &err), STATUS_BAD_INPUT, err, "found a folder");
    file = fopen(path, "w");
    for (int i = 0; i < 2 << 20; i++) fputc('#', file);
    fclose(file);
    assert_status_error(options_load_yaml(table, &c, path, NULL, &err), STATUS_BAD_INPUT, err,
                        "expected at most 1048576 bytes");
    test_remove_folder(folder);
}

// A full disk is seen, not swallowed.
static void test_write_failure(void **state) {
    (void)state;
    Config c = fresh();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(options_write_yaml(table, &c, true, full), STATUS_FAILED);
    fclose(full);
}

// The comparison that the round trip leans on must see every kind of difference.
static void test_planted_error(void **state) {
    (void)state;
    Config a = fresh(), b;
    b = a, b.steps++;
    assert_false(same(&a, &b));
    b = a, b.rate = nextafter(a.rate, 1);
    assert_false(same(&a, &b));
    b = a, b.out[2] = 'x';
    assert_false(same(&a, &b));
    b = a, b.levels.v[1] = 33;
    assert_false(same(&a, &b));
    b = a, b.box.count = 1, b.box.v[0] = 0;
    assert_false(same(&a, &b));
    b = a, b.noise.on = false;
    assert_false(same(&a, &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),      cmocka_unit_test(test_set),       cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_yaml),          cmocka_unit_test(test_bad_yaml),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_written_form),  cmocka_unit_test(test_diff),      cmocka_unit_test(test_help),
        cmocka_unit_test(test_nearest_word),  cmocka_unit_test(test_load_file), cmocka_unit_test(test_write_failure),
        cmocka_unit_test(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
