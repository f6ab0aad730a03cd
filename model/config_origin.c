// SPDX-License-Identifier: Apache-2.0
// Records where the value of each option comes from.
#include "model/config_internal.h"

#include "base/check.h"

#include <string.h>

// ---- what sets options

static void mark(Config *config, const bool *given, ConfigOrigin origin) {
    for (size_t i = 0; i < config_record.count; i++)
        if (given[i]) config->origin[i] = (unsigned char)origin;
}

Status config_load(Config *config, const char *path, ConfigOrigin origin, Error *err) {
    bool given[CONFIG_OPTIONS_MAX] = {false};
    if (!path) return STATUS_OK;
    Status status = options_load_yaml(config_record, config, path, given, err);
    if (status != STATUS_OK) return status;
    mark(config, given, origin);
    return config_apply_preset(config, err);
}

enum { GONE_MAX = 40 };

// The options that are gone, as a checkpoint may have them: how it was trained does not
// matter to its weights, and data.time_step says how far apart its frames were.
static void accept_in_checkpoint(OptionOld gone[GONE_MAX]) {
    size_t i = 0;
    for (; config_record.old[i].key; i++) {
        CHECK(i + 1 < GONE_MAX);
        gone[i] = config_record.old[i];
        if (!strncmp(gone[i].key, "train.", 6) || !strcmp(gone[i].key, "data.stride")) gone[i].values = NULL;
        if (!strcmp(gone[i].key, "gnn.form")) gone[i].values = "none|paper|published";
    }
    gone[i] = (OptionOld){0};
}

Status config_parse(Config *config, const char *yaml, size_t length, const char *name, Error *err) {
    bool given[CONFIG_OPTIONS_MAX] = {false};
    OptionOld gone[GONE_MAX];
    accept_in_checkpoint(gone);
    const OptionTable table = {config_record.options, config_record.count, gone, NULL};
    Status status = options_parse_yaml(table, config, yaml, length, name, given, err);
    if (status == STATUS_OK) mark(config, given, ORIGIN_CHECKPOINT);
    return status;
}

Status config_set(Config *config, size_t count, const char *const *pairs, Error *err) {
    char key[128];
    for (size_t i = 0; i < count; i++) {
        Status status = options_set_pair(config_record, config, pairs[i], err);
        if (status != STATUS_OK) return status;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(pairs[i], "="), pairs[i]);
        size_t at = config_index(key);
        if (at < config_record.count) config->origin[at] = ORIGIN_SET; // an option that is gone has no entry
    }
    return config_apply_preset(config, err);
}

bool config_is_option(const char *key) { return config_index(key) < config_options.count; }

void config_set_origin(Config *config, const void *field, ConfigOrigin origin) {
    size_t offset = (size_t)((const char *)field - (const char *)config);
    for (size_t i = 0; i < config_record.count; i++)
        if (config_record.options[i].offset == offset) config->origin[i] = (unsigned char)origin;
}

// ---- origin in words

static const char *const origin_names[] = {"default", "preset",     "config file", "command line",
                                           "data",    "checkpoint", "run"};

bool config_each_change(const Config *config, size_t *i, ConfigChange *out) {
    Config defaults;
    config_defaults(&defaults);
    for (; *i < config_record.count; (*i)++) {
        const Option *option = &config_record.options[*i];
        char before[sizeof out->value];
        options_format(option, config, out->value, sizeof out->value);
        options_format(option, &defaults, before, sizeof before);
        if (config->origin[*i] == ORIGIN_DEFAULT || !strcmp(before, out->value)) continue;
        out->key = option->key;
        out->unit = option->unit;
        out->origin = origin_names[config->origin[*i]];
        (*i)++;
        return true;
    }
    return false;
}
