// SPDX-License-Identifier: Apache-2.0
// One option's value between text and the field of the config struct.
#include "base/options_internal.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool option_is_list(const Option *option) {
    return option->type == OPTION_INT_LIST || option->type == OPTION_REAL_LIST;
}

// ---- text to value

static bool parse_bool(const char *text, bool *out) {
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (int i = 0; i < 6; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

// "20000" or "2e4".
static bool parse_int(const char *text, long *out) {
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    errno = 0;
    *out = strtol(text, &end, 10);
    if (end != text && *end == 0) return errno == 0;
    double real;
    if (!text_number(text, &real) || real != floor(real) || fabs(real) > 0x1p53) return false;
    *out = (long)real;
    return true;
}

static bool in_range(const Option *option, double number) { return number >= option->min && number <= option->max; }

// The index of `text` among "a|b|c", or -1.
static int parse_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int i = 0;; i++) {
        size_t choice = strcspn(choices, "|");
        if (choice == length && strncmp(choices, text, length) == 0) return i;
        if (choices[choice] == 0) return -1;
        choices += choice + 1;
    }
}

static bool parse_text(const char *value, char *out) {
    if (strlen(value) >= OPTION_TEXT_SIZE || !text_is_plain(value)) return false;
    snprintf(out, OPTION_TEXT_SIZE, "%s", value);
    return true;
}

// Copies the next item of "a, b" without blanks around it; false when it does not fit.
static bool next_item(const char **cursor, char *item, size_t size) {
    const char *start = *cursor + strspn(*cursor, " ");
    size_t length = strcspn(start, ",");
    *cursor = start + length + (start[length] == ',');
    while (length && start[length - 1] == ' ') length--;
    if (length >= size) return false;
    memcpy(item, start, length);
    item[length] = 0;
    return true;
}

// Reads one item into place `i` of the list in `field`.
static bool parse_list_item(const Option *option, void *field, int i, const char *item) {
    if (option->type == OPTION_REAL_LIST) {
        double *real = &((RealList *)field)->v[i];
        return text_number(item, real) && in_range(option, *real);
    }
    long number;
    if (!parse_int(item, &number) || !in_range(option, (double)number) || number != (int)number) return false;
    ((IntList *)field)->v[i] = (int)number;
    return true;
}

// "[1, 2]", "1,2" or "[]".
static bool parse_list(const Option *option, void *field, const char *value) {
    char text[OPTION_VALUE_SIZE], item[64];
    size_t length = strlen(value);
    bool bracketed = length >= 2 && value[0] == '[' && value[length - 1] == ']';
    if (length >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", (int)(bracketed ? length - 2 : length), value + bracketed);
    int count = 0;
    const char *cursor = text + strspn(text, " ");
    bool more = *cursor != 0;
    while (more) {
        if (count == OPTION_LIST_SIZE || !next_item(&cursor, item, sizeof item)) return false;
        more = cursor[-1] == ',';
        if (!parse_list_item(option, field, count++, item)) return false;
    }
    if (option->type == OPTION_INT_LIST) ((IntList *)field)->count = count;
    else ((RealList *)field)->count = count;
    return true;
}

// Writes `field` only when the whole value is good.
static bool parse_value(const Option *option, void *field, const char *value) {
    union {
        bool flag;
        long integer;
        double real;
        int choice;
        char text[OPTION_TEXT_SIZE];
        IntList ints;
        RealList reals;
    } u = {0};
    size_t size = 0;
    switch (option->type) {
    case OPTION_BOOL: size = parse_bool(value, &u.flag) ? sizeof u.flag : 0; break;
    case OPTION_INT:
        size = parse_int(value, &u.integer) && in_range(option, (double)u.integer) ? sizeof u.integer : 0;
        break;
    case OPTION_REAL: size = text_number(value, &u.real) && in_range(option, u.real) ? sizeof u.real : 0; break;
    case OPTION_TEXT: size = parse_text(value, u.text) ? sizeof u.text : 0; break;
    case OPTION_ENUM: size = (u.choice = parse_choice(option->choices, value)) >= 0 ? sizeof u.choice : 0; break;
    case OPTION_INT_LIST: size = parse_list(option, &u.ints, value) ? sizeof u.ints : 0; break;
    case OPTION_REAL_LIST: size = parse_list(option, &u.reals, value) ? sizeof u.reals : 0; break;
    }
    memcpy(field, &u, size);
    return size > 0;
}

// ---- what is expected

static void describe_range(const Option *option, char *out, size_t size) {
    const char *unit = option->unit ? option->unit : "";
    char low[32] = "", high[32] = "";
    if (option->min > -1e300) snprintf(low, sizeof low, "%.10g", option->min);
    if (option->max < 1e300) snprintf(high, sizeof high, "%.10g", option->max);
    const char *before = *low && *high ? " from " : *low ? " of at least " : *high ? " up to " : "";
    snprintf(out, size, "%s%s%s%s%s%s%s", before, low, *low && *high ? " to " : "", high, *unit ? " (" : "", unit,
             *unit ? ")" : "");
}

void option_describe(const Option *option, char *out, size_t size) {
    char range[128];
    describe_range(option, range, sizeof range);
    switch (option->type) {
    case OPTION_BOOL: snprintf(out, size, "true or false"); break;
    case OPTION_INT: snprintf(out, size, "an integer%s", range); break;
    case OPTION_REAL: snprintf(out, size, "a number%s", range); break;
    case OPTION_TEXT: snprintf(out, size, "one line of UTF-8 text of at most %d bytes", OPTION_TEXT_SIZE - 1); break;
    case OPTION_ENUM: snprintf(out, size, "one of %s", option->choices); break;
    case OPTION_INT_LIST: snprintf(out, size, "a list of at most %d integers, each%s", OPTION_LIST_SIZE, range); break;
    case OPTION_REAL_LIST: snprintf(out, size, "a list of at most %d numbers, each%s", OPTION_LIST_SIZE, range); break;
    }
}

static int items_in(const char *list) {
    int commas = 0;
    for (; *list; list++) commas += *list == ',';
    return commas + 1;
}

Status option_parse(const Option *option, void *config, const char *value, Error *err) {
    if (parse_value(option, (char *)config + option->offset, value)) return STATUS_OK;
    char expected[256];
    option_describe(option, expected, sizeof expected);
    if (option_is_list(option) && items_in(value) > OPTION_LIST_SIZE)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected %s, found a list of %d", option->key, expected,
                         items_in(value));
    if (!*value) return error_set(err, STATUS_BAD_INPUT, "%s: expected %s, found nothing", option->key, expected);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %s, found \"%.100s\"", option->key, expected, value);
}

// ---- value to text

// The shortest decimal that reads back as the same double: without an exponent where that is usual.
static void format_real(double value, char *out, size_t size) {
    bool usual = value == 0 || (fabs(value) >= 1e-5 && fabs(value) < 1e15);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value && (digits == 17 || !usual || !strchr(out, 'e'))) return;
    }
}

// Plain if every YAML reader takes it for text, else in double quotes.
static void format_text(const char *text, char *out, size_t size) {
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.-";
    static const char *const reserved[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    bool plain = *text && text[strspn(text, safe)] == 0 && !strchr("0123456789-.", *text);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) plain = plain && strcasecmp(text, reserved[i]) != 0;
    size_t n = 0;
    if (!plain && n < size) out[n++] = '"';
    for (; *text && n + 2 < size; text++) {
        if (*text == '"' || *text == '\\') out[n++] = '\\';
        out[n++] = *text;
    }
    if (!plain && n < size) out[n++] = '"';
    out[n < size ? n : size - 1] = 0;
}

static void format_choice(const char *choices, int index, char *out, size_t size) {
    char word[64];
    for (; index > 0; index--) choices += strcspn(choices, "|") + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(choices, "|"), choices);
    format_text(word, out, size);
}

static void format_list(const Option *option, const void *field, char *out, size_t size) {
    const IntList *ints = field;
    const RealList *reals = field;
    bool real = option->type == OPTION_REAL_LIST;
    int count = real ? reals->count : ints->count;
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < count && n < size; i++) {
        char number[32];
        if (real) format_real(reals->v[i], number, sizeof number);
        else snprintf(number, sizeof number, "%d", ints->v[i]);
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", number);
    }
    if (n < size) snprintf(out + n, size - n, "]");
}

bool options_format(const Option *option, const void *config, char *out, size_t size) {
    const void *field = (const char *)config + option->offset;
    char text[2 * OPTION_VALUE_SIZE];
    switch (option->type) {
    case OPTION_BOOL: snprintf(text, sizeof text, "%s", *(const bool *)field ? "true" : "false"); break;
    case OPTION_INT: snprintf(text, sizeof text, "%ld", *(const long *)field); break;
    case OPTION_REAL: format_real(*(const double *)field, text, sizeof text); break;
    case OPTION_TEXT: format_text(field, text, sizeof text); break;
    case OPTION_ENUM: format_choice(option->choices, *(const int *)field, text, sizeof text); break;
    case OPTION_INT_LIST:
    case OPTION_REAL_LIST: format_list(option, field, text, sizeof text); break;
    }
    return snprintf(out, size, "%s", text) < (int)size;
}
