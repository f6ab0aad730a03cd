// SPDX-License-Identifier: Apache-2.0
// The presets of sizes: one row per option, one column per preset.
#include "model/config_internal.h"

#include <string.h>

enum { COLUMNS = PRESET_LARGE };

typedef struct Row {
    const char *key, *value[COLUMNS]; // NULL: the option's default
} Row;

static const Row presets[] = {
    // PRESET_TINY, PRESET_SMALL, PRESET_PAPER, PRESET_LARGE
    {"encoder.N", {"4096", "4096", "16384", "131072"}},
    {"encoder.widths", {"[16, 32, 64, 128]", "[32, 64, 128, 256]", "[32, 64, 128, 256]", "[32, 64, 128, 256]"}},
    {"gnn.M", {"128", "256", "1024", "4096"}},
    {"gnn.L", {"4", "10", "10", "10"}},
    {"model.C", {"64", "128", "128", "128"}},
    {"train.rollout", {"[3, 6]", "[4]", "[6]", "[16]"}},
    {"train.rollout_from", {"[0, 0.67]", "[0]", "[0]", "[0]"}},
    {"train.rays", {"128", "256", "256", "512"}},
    {"train.checkpoint_steps", {NULL, NULL, NULL, "true"}},
};

size_t config_index(const char *key) {
    size_t i = 0;
    while (i < config_record.count && strcmp(config_record.options[i].key, key) != 0) i++;
    return i;
}

Status config_apply_preset(Config *config, Error *err) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < config_options.count && status == STATUS_OK; i++) {
        const Option *option = &config_options.options[i];
        if (config->origin[i] != ORIGIN_PRESET) continue;
        config->origin[i] = ORIGIN_DEFAULT;
        status = options_set(config_options, config, option->key, option->default_text, err);
    }
    if (config->model.preset == PRESET_NONE) return status;
    for (size_t r = 0; r < sizeof presets / sizeof *presets && status == STATUS_OK; r++) {
        const char *value = presets[r].value[config->model.preset - PRESET_TINY];
        size_t i = config_index(presets[r].key);
        if (!value || config->origin[i] != ORIGIN_DEFAULT) continue;
        config->origin[i] = ORIGIN_PRESET;
        status = options_set(config_options, config, presets[r].key, value, err);
    }
    return status;
}
