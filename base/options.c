// SPDX-License-Identifier: Apache-2.0
#include "base/options_internal.h"

#include "base/check.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void options_defaults(OptionTable table, void *config) {
    for (size_t i = 0; i < table.count; i++) {
        Error err;
        if (option_parse(&table.options[i], config, table.options[i].default_text, &err) == STATUS_OK) continue;
        fprintf(stderr, "default of %s\n", err.text);
        CHECK(!"every default fits its own option");
    }
}

const Option *option_find(OptionTable table, const char *key) {
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.options[i].key, key) == 0) return &table.options[i];
    return NULL;
}

// "steps" for "train.steps": the option that was meant when only its section is missing.
static const char *find_by_last_part(OptionTable table, const char *word) {
    for (size_t i = 0; i < table.count; i++) {
        const char *dot = strrchr(table.options[i].key, '.');
        if (dot && strcmp(dot + 1, word) == 0) return table.options[i].key;
    }
    return NULL;
}

static const char *nearest_key(OptionTable table, const char *key) {
    const char *found = find_by_last_part(table, key);
    const char **keys = malloc(table.count * sizeof *keys + 1);
    if (found || !keys) goto done;
    for (size_t i = 0; i < table.count; i++) keys[i] = table.options[i].key;
    found = options_nearest_word(key, keys, table.count);
done:
    free(keys);
    return found;
}

static Status unknown_key(OptionTable table, const char *key, Error *err) {
    const char *near = nearest_key(table, key);
    if (near) return error_set(err, STATUS_BAD_INPUT, "unknown option \"%.100s\"; did you mean \"%s\"?", key, near);
    return error_set(err, STATUS_BAD_INPUT, "unknown option \"%.100s\"; \"--help all\" lists all options", key);
}

static const OptionOld *find_old(OptionTable table, const char *key) {
    const OptionOld *old = table.old;
    while (old && old->key && strcmp(old->key, key) != 0) old++;
    return old && old->key ? old : NULL;
}

static bool same_value(const char *a, const char *b) {
    double x, y;
    return !strcmp(a, b) || (text_number(a, &x) && text_number(b, &y) && x == y);
}

static bool is_accepted(const OptionOld *old, const char *value) {
    char one[OPTION_VALUE_SIZE];
    for (const char *at = old->values; at; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, "|");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (same_value(value, one)) return true;
        at += length;
    }
    return !old->values;
}

Status options_set(OptionTable table, void *config, const char *key, const char *value, Error *err) {
    const Option *option = option_find(table, key);
    if (option) return option_parse(option, config, value, err);
    const OptionOld *old = find_old(table, key);
    if (!old) return unknown_key(table, key, err);
    if (is_accepted(old, value)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %s, found \"%.100s\"; this option is gone: %s", key,
                     old->values, value, old->reason);
}

Status options_set_pair(OptionTable table, void *config, const char *pair, Error *err) {
    const char *equals = strchr(pair, '=');
    char key[128];
    if (!equals || equals == pair)
        return error_set(err, STATUS_BAD_INPUT, "expected key=value, found \"%.100s\"", pair);
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return options_set(table, config, key, equals + 1, err);
}

size_t options_diff(OptionTable table, const void *a, const char *name_a, const void *b, const char *name_b,
                    const char *prefix, char *out, size_t size) {
    size_t differ = 0, used = strlen(out);
    for (size_t i = 0; i < table.count; i++) {
        const Option *option = &table.options[i];
        char text_a[2 * OPTION_VALUE_SIZE], text_b[2 * OPTION_VALUE_SIZE];
        if (strncmp(option->key, prefix, strlen(prefix)) != 0) continue;
        options_format(option, a, text_a, sizeof text_a);
        options_format(option, b, text_b, sizeof text_b);
        if (strcmp(text_a, text_b) == 0) continue;
        differ++;
        if (used < size) {
            int n = snprintf(out + used, size - used, "%s%s: %s %s, %s %s", used ? "; " : "", option->key, text_a,
                             name_a, text_b, name_b);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return differ;
}

static const char *value_name(const Option *option) {
    static const char *const names[] = {"BOOL", "INT", "REAL", "TEXT", "", "INT,INT,...", "REAL,REAL,..."};
    return option->type == OPTION_ENUM ? option->choices : names[option->type];
}

static bool is_among(const char *const *keys, const char *key) {
    for (; keys && *keys; keys++)
        if (strcmp(*keys, key) == 0) return true;
    return false;
}

const char *options_default_words(OptionTable table, const Option *option) {
    for (const OptionDefault *d = table.otherwise; d && d->key; d++)
        if (strcmp(d->key, option->key) == 0) return d->words;
    return *option->default_text ? option->default_text : "empty";
}

void options_print_help(OptionTable table, const char *const *keys, FILE *out) {
    const char *before = NULL; // the key printed last
    for (size_t i = 0; i < table.count; i++) {
        const Option *option = &table.options[i];
        if (keys && !is_among(keys, option->key)) continue;
        char usage[256], expected[256];
        snprintf(usage, sizeof usage, "%s=%s", option->key, value_name(option));
        option_describe(option, expected, sizeof expected);
        const char *dot = strchr(option->key, '.');
        size_t section = dot ? (size_t)(dot - option->key) + 1 : 0;
        if (before && strncmp(option->key, before, section) != 0) fputc('\n', out);
        fprintf(out, "  %-34s %s\n  %34s %s; default %s\n", usage, option->help, "", expected,
                options_default_words(table, option));
        before = option->key;
    }
}
