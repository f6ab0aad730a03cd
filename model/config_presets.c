// SPDX-License-Identifier: Apache-2.0
// The forms of the dynamics and the presets of sizes: one row per option, one column per form or preset.
#include "model/config_internal.h"

#include <string.h>

enum { COLUMNS = PRESET_LARGE };

typedef struct Row {
    const char *key, *value[COLUMNS]; // NULL: the option's default
} Row;

static const Row forms[] = {
    // FORM_FULL, FORM_PAPER
    {"gnn.nodes", {"moving", "random"}},  {"gnn.distance", {"appearance", "position"}},
    {"gnn.decode", {"node", "particle"}}, {"gnn.moving_flag", {"on", "off"}},
    {"gnn.node_extras", {"on", "off"}},   {"gnn.gap", {"on", "off"}},
    {"gnn.rigid_cue", {"on", "off"}},     {"gnn.cross_edges", {"4", "0"}},
    {"gnn.contact_edges", {"4", "0"}},    {"gnn.moving_vote", {"16", "0"}},
};

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

// ---- forms

enum { VALUE_SIZE = 1024 };

// Sets an option that is at "auto". If only the form sets it, any other value is an error.
static Status apply_value(Config *config, const char *key, const char *value, Error *err) {
    char found[VALUE_SIZE], expected[VALUE_SIZE], form[VALUE_SIZE];
    Config of_form = *config;
    size_t i = config_index(key);
    const Option *option = &config_record.options[i];
    Status status = options_set(config_record, &of_form, key, value, err);
    options_format(option, config, found, sizeof found);
    options_format(option, &of_form, expected, sizeof expected);
    if (status != STATUS_OK || !strcmp(found, expected)) return status;
    if (!strcmp(found, option->default_text)) return options_set(config_record, config, key, value, err);
    if (i < config_options.count) return STATUS_OK;
    options_format(&config_record.options[config_index("gnn.form")], config, form, sizeof form);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected %s, found %s; it follows from gnn.form (%s) and cannot be set, so leave it out", key,
                     expected, found, form);
}

Status config_apply_form(Config *config, Error *err) {
    const GnnOptions *gnn = &config->gnn;
    bool full = gnn->form == FORM_FULL;
    if (full && gnn->rigid_cue == SWITCH_OFF)
        return error_set(err, STATUS_BAD_INPUT,
                         "gnn.rigid_cue: expected on, found off; velocities without rigid registration are gone, so "
                         "train anew, or with gnn.form=paper");
    Status status = STATUS_OK;
    for (size_t r = 0; r < sizeof forms / sizeof *forms && status == STATUS_OK; r++)
        status = apply_value(config, forms[r].key, forms[r].value[gnn->form], err);
    // A flat graph has no nodes to carry velocities.
    const char *velocity = !full ? "none" : gnn->graph == GRAPH_FLAT ? "particle" : "node";
    return status == STATUS_OK ? apply_value(config, "gnn.velocity", velocity, err) : status;
}
