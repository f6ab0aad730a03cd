// SPDX-License-Identifier: Apache-2.0
// Any bytes as a config: refused with an error, or read; and what was read writes and reads back to the same.
#include "tests/fuzz/fuzz.h"

#include "base/options.h"

#include <string.h>

typedef struct Config {
    long steps;
    double rate, sigma;
    char out[OPTION_TEXT_SIZE];
    int mode;
    bool on;
    IntList levels;
    RealList box;
} Config;

static const Option options[] = {
    {"train.steps", OPTION_INT, offsetof(Config, steps), 1, 1e9, "steps", "2000", NULL, "steps"},
    {"train.rate", OPTION_REAL, offsetof(Config, rate), -1e300, 1e300, "", "3e-4", NULL, "rate"},
    {"train.noise.sigma", OPTION_REAL, offsetof(Config, sigma), 0, 1, "m", "0.003", NULL, "noise"},
    {"train.noise.on", OPTION_BOOL, offsetof(Config, on), 0, 0, "", "true", NULL, "noise at all"},
    {"model.mode", OPTION_ENUM, offsetof(Config, mode), 0, 0, "", "mean", "mean|learned|off", "mode"},
    {"model.levels", OPTION_INT_LIST, offsetof(Config, levels), 1, 512, "", "[16, 32]", NULL, "levels"},
    {"model.box", OPTION_REAL_LIST, offsetof(Config, box), -100, 100, "m", "[]", NULL, "box"},
    {"out", OPTION_TEXT, offsetof(Config, out), 0, 0, "", "runs/a", NULL, "folder"},
};
static const OptionTable table = {.options = options, .count = sizeof options / sizeof *options};

static void check_round_trip(const Config *config) {
    Config back;
    Error err;
    char lines[2048] = "", *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return;
    options_write_yaml(table, config, true, out);
    if (fclose(out)) abort();
    options_defaults(table, &back);
    Status status = options_parse_yaml(table, &back, text, strlen(text), "written", NULL, &err);
    if (status != STATUS_OK || options_diff(table, config, "read", &back, "read again", "", lines, sizeof lines)) {
        fprintf(stderr, "%s\n%s\n%s", status == STATUS_OK ? "differs" : err.text, lines, text);
        abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Config config;
    Error err = {0};
    options_defaults(table, &config);
    Status status = options_parse_yaml(table, &config, (const char *)data, size, "fuzz", NULL, &err);
    if (status == STATUS_OK) check_round_trip(&config);
    else if (!err.text[0]) abort(); // an error without a word
    return 0;
}
