// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_section.h"

#include "lab/fit_free.h"

#include <string.h>

const char *const fit_kinds[FIT_KINDS] = {"states", "colour", "depth", "mask"};

uint32_t fit_kind(const char *word) {
    for (int i = 0; i < FIT_KINDS; i++)
        if (!strcmp(word, fit_kinds[i])) return 1u << i;
    return 0;
}

Status fit_entry_read(const ArgumentReader *reader, const YamlNode *node, bool random, FitEntry *out) {
#define NUMBER(word, field)                                                                                            \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBER, .offset = offsetof(FitEntry, field), .min = -1e30, .max = 1e30,               \
        .given = offsetof(FitEntry, has_##field)                                                                       \
    }
    static const Argument table[] = {NUMBER("low", low), NUMBER("high", high), NUMBER("start", start)};
#undef NUMBER
    const ArgumentGroup group = {table, sizeof table / sizeof *table - random, out};
    *out = (FitEntry){.node = node, .name = node->key ? node->key : node->text};
    if (!node->key && node->kind != YAML_TEXT) return argument_wrong(reader, node, "names, or a map of them");
    if (!node->key || (node->kind == YAML_TEXT && !*node->text)) return STATUS_OK;
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status == STATUS_OK && out->has_low && out->has_high && !(out->low < out->high))
        status = argument_error(reader, node, "%s: low %g is not below high %g", out->name, out->low, out->high);
    return status;
}

static Status read_compare(const ArgumentReader *reader, const YamlNode *node, void *field) {
    uint32_t *out = field;
    if (node->kind != YAML_LIST || !node->count) return argument_wrong(reader, node, "a list such as [colour, depth]");
    for (const YamlNode *entry = node->child; entry; entry = entry->next) {
        const uint32_t kind = entry->kind == YAML_TEXT ? fit_kind(entry->text) : 0;
        if (!kind) return argument_wrong(reader, entry, "states, colour, depth or mask");
        *out |= kind;
    }
    return STATUS_OK;
}

Status fit_section_read(const ArgumentReader *reader, const YamlNode *root, FitSection *out) {
    static const Argument table[] = {
        {.key = "free", .type = ARG_OTHER, .offset = offsetof(FitSection, list), .read = argument_keep},
        {.key = "compare", .type = ARG_OTHER, .offset = offsetof(FitSection, compare), .read = read_compare}};
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    const YamlNode *node = yaml_tree_find(root, "fit");
    *out = (FitSection){0};
    Status status = node ? arguments_read(reader, node, &group, 1, NULL) : STATUS_OK;
    if (status == STATUS_OK && out->list && (out->list->kind == YAML_TEXT || !out->list->count))
        status = argument_wrong(reader, out->list, "names of numbers, [ball.density]");
    return status;
}

Status random_section_read(const ArgumentReader *reader, const YamlNode *root, FitSection *out) {
    *out = (FitSection){.list = yaml_tree_find(root, "random")};
    if (!out->list || (out->list->kind == YAML_MAP && out->list->count)) return STATUS_OK;
    return argument_wrong(reader, out->list, "a map of numbers {ball.density: {low: .., high: ..}}");
}
