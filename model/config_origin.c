// SPDX-License-Identifier: Apache-2.0
// Where the value of each option comes from, and the presets, which give way to everything that is said.
#include "model/config.h"

#include <string.h>

typedef struct PresetKey {
    int preset;
    const char *key, *value;
} PresetKey;

static const PresetKey preset_keys[] = {
    {PRESET_TINY, "encoder.N", "4096"},
    {PRESET_TINY, "gnn.M", "128"},
    {PRESET_TINY, "model.C", "64"},
    {PRESET_TINY, "gnn.L", "4"},
    {PRESET_TINY, "train.rollout", "[3, 6]"},
    {PRESET_TINY, "train.rollout_from", "[0, 0.67]"},
    {PRESET_TINY, "train.rays", "128"},
    {PRESET_TINY, "encoder.widths", "[16, 32, 64, 128]"},
    {PRESET_SMALL, "encoder.N", "4096"},
    {PRESET_SMALL, "gnn.M", "256"},
    {PRESET_SMALL, "model.C", "128"},
    {PRESET_SMALL, "gnn.L", "10"},
    {PRESET_SMALL, "train.rollout", "[4]"},
    {PRESET_SMALL, "train.rollout_from", "[0]"},
    {PRESET_SMALL, "train.rays", "256"},
    {PRESET_SMALL, "encoder.widths", "[32, 64, 128, 256]"},
    {PRESET_PAPER, "encoder.N", "16384"},
    {PRESET_PAPER, "gnn.M", "1024"},
    {PRESET_PAPER, "model.C", "128"},
    {PRESET_PAPER, "gnn.L", "10"},
    {PRESET_PAPER, "train.rollout", "[6]"},
    {PRESET_PAPER, "train.rollout_from", "[0]"},
    {PRESET_PAPER, "train.rays", "256"},
    {PRESET_PAPER, "encoder.widths", "[32, 64, 128, 256]"},
    {PRESET_LARGE, "encoder.N", "131072"},
    {PRESET_LARGE, "gnn.M", "4096"},
    {PRESET_LARGE, "model.C", "128"},
    {PRESET_LARGE, "gnn.L", "10"},
    {PRESET_LARGE, "train.rollout", "[16]"},
    {PRESET_LARGE, "train.rollout_from", "[0]"},
    {PRESET_LARGE, "train.rays", "512"},
    {PRESET_LARGE, "encoder.widths", "[32, 64, 128, 256]"},
    {PRESET_LARGE, "train.checkpoint_steps", "true"},
};

static size_t index_of(const char *key) {
    size_t i = 0;
    while (i < config_options.count && strcmp(config_options.options[i].key, key) != 0) i++;
    return i;
}

// Keys that nobody set get the preset's values, those of another preset their defaults again.
static Status apply_preset(Config *config, Error *err) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < config_options.count && status == STATUS_OK; i++) {
        const Option *option = &config_options.options[i];
        if (config->origin[i] != ORIGIN_PRESET) continue;
        config->origin[i] = ORIGIN_DEFAULT;
        status = options_set(config_options, config, option->key, option->default_text, err);
    }
    for (size_t k = 0; k < sizeof preset_keys / sizeof *preset_keys && status == STATUS_OK; k++) {
        size_t i = index_of(preset_keys[k].key);
        if (preset_keys[k].preset != config->model.preset || config->origin[i] != ORIGIN_DEFAULT) continue;
        config->origin[i] = ORIGIN_PRESET;
        status = options_set(config_options, config, preset_keys[k].key, preset_keys[k].value, err);
    }
    return status;
}

// ---- what sets options

static void mark(Config *config, const bool *given, ConfigOrigin origin) {
    for (size_t i = 0; i < config_options.count; i++)
        if (given[i]) config->origin[i] = (unsigned char)origin;
}

Status config_load(Config *config, const char *path, ConfigOrigin origin, Error *err) {
    bool given[CONFIG_OPTIONS_MAX] = {false};
    if (!path) return STATUS_OK;
    Status status = options_load_yaml(config_options, config, path, given, err);
    if (status != STATUS_OK) return status;
    mark(config, given, origin);
    return apply_preset(config, err);
}

Status config_parse(Config *config, const char *yaml, size_t length, const char *name, Error *err) {
    bool given[CONFIG_OPTIONS_MAX] = {false};
    Status status = options_parse_yaml(config_options, config, yaml, length, name, given, err);
    if (status == STATUS_OK) mark(config, given, ORIGIN_CHECKPOINT);
    return status;
}

Status config_set(Config *config, size_t count, const char *const *pairs, Error *err) {
    char key[128];
    for (size_t i = 0; i < count; i++) {
        Status status = options_set_pair(config_options, config, pairs[i], err);
        if (status != STATUS_OK) return status;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(pairs[i], "="), pairs[i]);
        config->origin[index_of(key)] = ORIGIN_SET;
    }
    return apply_preset(config, err);
}

void config_set_origin(Config *config, const void *field, ConfigOrigin origin) {
    size_t offset = (size_t)((const char *)field - (const char *)config);
    for (size_t i = 0; i < config_options.count; i++)
        if (config_options.options[i].offset == offset) config->origin[i] = (unsigned char)origin;
}

// ---- telling

static const char *const origin_names[] = {"default", "preset",     "config file", "command line",
                                           "data",    "checkpoint", "run"};

bool config_each_change(const Config *config, size_t *i, ConfigChange *out) {
    Config defaults;
    config_defaults(&defaults);
    for (; *i < config_options.count; (*i)++) {
        const Option *option = &config_options.options[*i];
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
