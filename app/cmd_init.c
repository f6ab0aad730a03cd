// SPDX-License-Identifier: Apache-2.0
// `vpd init`: writes a config that lists every option with its default and its help; chosen options are set, all others
// are comments.
#include "app/commands.h"
#include "app/result.h"
#include "base/file.h"
#include "datasets/dataset.h"
#include "model/config.h"

#include <string.h>

static const Flag flags[] = {
    {.name = "data", .value = "PATH", .help = "data set (data.path)", .letter = 'd'},
    {.name = "preset",
     .value = "NAME",
     .help = "sizes: tiny, small, paper or large (model.preset, default none, as in vpd train)"},
    {.name = "output", .value = "FOLDER", .help = "folder of the run (train.out)", .letter = 'o'},
    FLAG_SET,
    {.name = "force", .help = "replace a file that is there"},
    FLAG_JSON,
    {0},
};

enum { PAIRS_MAX = 256 };

typedef struct Wanted {
    const char *pairs[PAIRS_MAX]; // "key=value", in order
    char own[3][OPTION_TEXT_SIZE + 32];
    size_t count;
    Config config;
    const char *path;
} Wanted;

static void want(Wanted *w, size_t slot, const char *key, const char *value) {
    if (!value) return;
    snprintf(w->own[slot], sizeof w->own[slot], "%s=%s", key, value);
    w->pairs[w->count++] = w->own[slot];
}

static Status read_wanted(const CommandLine *line, Wanted *w, Error *err) {
    const char *pair;
    want(w, 0, "model.preset", command_text(line, "preset", NULL));
    want(w, 1, "data.path", command_text(line, "data", NULL));
    want(w, 2, "train.out", command_text(line, "output", NULL));
    for (int i = 0; (pair = command_repeated(line, "set", i)); i++) {
        if (w->count == PAIRS_MAX)
            return error_set(err, STATUS_BAD_INPUT, "--set: expected at most %d of them", PAIRS_MAX - 3);
        w->pairs[w->count++] = pair;
    }
    config_defaults(&w->config);
    Status status = config_set(&w->config, w->count, w->pairs, err);
    return status == STATUS_OK ? config_resolve(&w->config, err) : status;
}

static bool is_wanted(const Wanted *w, const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i < w->count; i++)
        if (!strncmp(w->pairs[i], key, length) && w->pairs[i][length] == '=') return true;
    return false;
}

static void put_option(FILE *out, const Wanted *w, const Option *option) {
    char value[4 * OPTION_TEXT_SIZE];
    bool unit = option->unit && *option->unit;
    options_format(option, &w->config, value, sizeof value);
    fprintf(out, "\n# %s%s%s%s", option->help, unit ? " (" : "", unit ? option->unit : "", unit ? ")" : "");
    if (option->choices) fprintf(out, " One of %s.", option->choices);
    fprintf(out, "\n%s%s: %s\n", is_wanted(w, option->key) ? "" : "# ", option->key, value);
}

static bool put_config(FILE *file, void *context) {
    const Wanted *w = context;
    fprintf(file, "# A config for \"vpd train\": what is set stands without #; the values behind # are those that hold "
                  "otherwise\n"
                  "# (lengths of 0 are taken from the data). docs/training.md explains the options.\n");
    for (size_t i = 0; i < config_options.count; i++) put_option(file, w, &config_options.options[i]);
    return true;
}

// The config must train without changes, so its data are checked here.
static Status check_data(const char *path, Error *err) {
    Dataset *dataset = NULL;
    Status status = path[0] ? dataset_open(path, &dataset, err) : STATUS_OK;
    dataset_close(dataset);
    return status;
}

static Status run_init(const CommandLine *line, Error *err) {
    const char *path = command_argument(line, 0);
    Wanted wanted = {.path = path ? path : "config.yaml"};
    Status status = read_wanted(line, &wanted, err);
    if (status == STATUS_OK && file_is_folder(wanted.path))
        status = error_set(err, STATUS_BAD_INPUT, "%s: is a folder; expected the name of a config file", wanted.path);
    if (status == STATUS_OK && file_exists(wanted.path) && !command_has(line, "force"))
        status = error_set(err, STATUS_BAD_INPUT, "%s: already exists; --force replaces it", wanted.path);
    if (status == STATUS_OK) status = check_data(wanted.config.data.path, err);
    if (status == STATUS_OK) status = file_write_stream(wanted.path, put_config, &wanted, err);
    if (status != STATUS_OK) return status;
    return result_tell(line, json_pack("{s:[s] s:I}", "written", wanted.path, "set", (json_int_t)wanted.count),
                       RESULT_NOTE, err, "%s written; next: vpd train %s%s", wanted.path, wanted.path,
                       wanted.config.train.out[0] ? "" : " -o FOLDER");
}

static OptionTable options(void) { return config_options; }

const Command command_init = {
    .name = "init",
    .summary = "write a commented config to start from",
    .arguments = "[CONFIG.yaml]",
    .max_arguments = 1,
    .flags = flags,
    .options = options,
    .details = "Without a name, writes config.yaml. It lists every option with its help. Options given here are set; "
               "the others are\ncomments that show the preset's value or else the default.",
    .run = run_init,
};
