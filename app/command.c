// SPDX-License-Identifier: Apache-2.0
#include "app/command.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/threads.h"
#include "model/config.h"
#include "nn/device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Flags that every command takes.
const Flag command_common_flags[] = {
    {.name = "threads", .value = "N", .help = "processors to use (default: all that the machine and its quota allow)"},
    {.name = "quiet", .help = "no messages or progress, only warnings", .letter = 'q'},
    {.name = "help", .help = "show this", .letter = 'h'},
    {0},
};

// ---- what a command asks for

// The flag must be in the command's table: asking for another is a programmer error.
static const Flag *flag_of(const Command *command, const char *name) {
    for (const Flag *flag = command->flags; flag && flag->name; flag++)
        if (strcmp(flag->name, name) == 0) return flag;
    for (const Flag *flag = command_common_flags; flag->name; flag++)
        if (strcmp(flag->name, name) == 0) return flag;
    return NULL;
}

const char *command_argument(const CommandLine *line, int i) {
    return i < line->argument_count ? line->arguments[i] : NULL;
}

static const FlagValue *find_given(const CommandLine *line, const char *name, int i) {
    const Flag *flag = flag_of(line->command, name);
    CHECK(flag);
    for (int j = 0; j < line->given_count; j++)
        if (line->given[j].flag == flag && i-- == 0) return &line->given[j];
    return NULL;
}

bool command_has(const CommandLine *line, const char *flag) { return find_given(line, flag, 0); }

const char *command_repeated(const CommandLine *line, const char *flag, int i) {
    const FlagValue *given = find_given(line, flag, i);
    return given ? given->value : NULL;
}

const char *command_text(const CommandLine *line, const char *flag, const char *fallback) {
    const char *value = command_repeated(line, flag, 0);
    return value ? value : fallback;
}

// Values go through the option table's reader, so that numbers and errors look the same everywhere.
static Status read_as_option(const CommandLine *line, Option option, void *out, Error *err) {
    const char *value = command_text(line, option.key, NULL);
    if (!value) return STATUS_OK;
    char key[80];
    snprintf(key, sizeof key, "--%s", option.key);
    option.key = key;
    return options_set((OptionTable){.options = &option, .count = 1}, out, key, value, err);
}

Status command_int(const CommandLine *line, const char *flag, long min, long max, long *out, Error *err) {
    Option option = {.key = flag, .type = OPTION_INT, .min = (double)min, .max = (double)max};
    return read_as_option(line, option, out, err);
}

Status command_small_int(const CommandLine *line, const char *flag, int min, int max, int *out, Error *err) {
    long value = *out;
    Status status = command_int(line, flag, min, max, &value, err);
    *out = (int)value;
    return status;
}

Status command_real(const CommandLine *line, const char *flag, double min, double max, double *out, Error *err) {
    return read_as_option(line, (Option){.key = flag, .type = OPTION_REAL, .min = min, .max = max}, out, err);
}

Status command_choice(const CommandLine *line, const char *flag, const char *choices, int *out, Error *err) {
    return read_as_option(line, (Option){.key = flag, .type = OPTION_ENUM, .choices = choices}, out, err);
}

Status command_refuse(const CommandLine *line, const char *const *flags, const char *wanted, const char *found,
                      Error *err) {
    for (; *flags; flags++)
        if (command_has(line, *flags))
            return error_set(err, STATUS_BAD_INPUT, "--%s: needs %s, found %s", *flags, wanted, found);
    return STATUS_OK;
}

Status command_required(const CommandLine *line, const char *flag, const char **out, Error *err) {
    *out = command_text(line, flag, NULL);
    if (*out) return STATUS_OK;
    const Flag *known = flag_of(line->command, flag);
    return error_set(err, STATUS_BAD_INPUT, "%s needs --%s %s", line->command->name, flag, known->value);
}

// ---- parsing

static const Flag *flag_by_letter(const Command *command, char letter) {
    for (const Flag *flag = command->flags; flag && flag->name; flag++)
        if (flag->letter == letter) return flag;
    for (const Flag *flag = command_common_flags; flag->name; flag++)
        if (flag->letter == letter) return flag;
    return NULL;
}

static Status unknown_flag(const Command *command, const char *word, Error *err) {
    static const struct { const char *old, *new; } renamed[] = {{"--out", "--output (-o)"}};
    const char *names[64];
    size_t count = 0, length = strcspn(word, "=");
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strlen(renamed[i].old) == length && !strncmp(word, renamed[i].old, length) && flag_of(command, "output"))
            return error_set(err, STATUS_BAD_INPUT, "%s was renamed to %s", renamed[i].old, renamed[i].new);
    for (const Flag *flag = command->flags; flag && flag->name && count < 60; flag++) names[count++] = flag->name;
    for (const Flag *flag = command_common_flags; flag->name; flag++) names[count++] = flag->name;
    const char *near = options_nearest_word(word + strspn(word, "-"), names, count);
    if (near) return error_set(err, STATUS_BAD_INPUT, "unknown flag %.100s; did you mean --%s?", word, near);
    return error_set(err, STATUS_BAD_INPUT, "unknown flag %.100s; \"vpd %s --help\" lists them", word, command->name);
}

// The flag that a word names ("--steps", "--steps=3", "-o") or NULL; *value when that is in the same word.
static const Flag *read_flag(const Command *command, const char *word, const char **value) {
    char name[64];
    *value = NULL;
    if (word[1] != '-') return word[2] ? NULL : flag_by_letter(command, word[1]);
    size_t length = strcspn(word, "=") - 2;
    if (length >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    if (word[length + 2]) *value = word + length + 3;
    return flag_of(command, name);
}

static Status keep_flag(CommandLine *line, const Flag *flag, const char *value, Error *err) {
    for (int i = 0; i < line->given_count; i++)
        if (line->given[i].flag == flag && !flag->repeated)
            return error_set(err, STATUS_BAD_INPUT, "--%s is given twice", flag->name);
    line->given[line->given_count++] = (FlagValue){flag, value};
    return STATUS_OK;
}

// The flag at words[*i], and the word behind it when that is its value: *i stands on the last word used.
static Status parse_flag(CommandLine *line, int count, char **words, int *i, bool *wants_help, Error *err) {
    const char *value;
    const Flag *flag = read_flag(line->command, words[*i], &value);
    if (!flag) return unknown_flag(line->command, words[*i], err);
    if (value && !flag->value)
        return error_set(err, STATUS_BAD_INPUT, "--%s takes no value%s", flag->name,
                         strcmp(flag->name, "json") ? "" : "; it prints the result on stdout");
    if (flag->value && !value && !flag->optional) {
        if (++*i == count) return error_set(err, STATUS_BAD_INPUT, "--%s needs a value: %s", flag->name, flag->value);
        value = words[*i];
    }
    // An empty name or list usually comes from an unset shell variable. A TEXT may be empty.
    if (value && !*value && strcmp(flag->value, "TEXT") != 0)
        return error_set(err, STATUS_BAD_INPUT, "--%s is empty; expected %s", flag->name, flag->value);
    if (strcmp(flag->name, "help") == 0) *wants_help = true;
    return keep_flag(line, flag, value, err);
}

static Status parse_words(CommandLine *line, int count, char **words, bool *wants_help, Error *err) {
    bool flags_end = false;
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const char *word = words[i];
        if (flags_end || word[0] != '-' || word[1] == 0) line->arguments[line->argument_count++] = word;
        else if (strcmp(word, "--") == 0) flags_end = true;
        else status = parse_flag(line, count, words, &i, wants_help, err);
    }
    return status;
}

static void format_usage(const Command *command, char *out, size_t size) {
    snprintf(out, size, "usage: vpd %s%s%s [flags]", command->name, *command->arguments ? " " : "", command->arguments);
}

// Earlier versions wrote a file for "--json FILE".
static Status surplus_of_json(const CommandLine *line, const char *word, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "unexpected argument \"%.200s\": --json takes no file, it prints the result on stdout; %s", word,
                     flag_of(line->command, "output") && strcmp(word, "-") != 0
                         ? "-o FILE.json writes it to a file"
                         : "put > FILE behind the command for a file");
}

Status command_unexpected(const CommandLine *line, int i, Error *err) {
    const char *word = line->arguments[i];
    char usage[256];
    bool json = strcmp(word, "-") == 0 || name_ends(word, ".json");
    if (json && flag_of(line->command, "json") && command_has(line, "json")) return surplus_of_json(line, word, err);
    format_usage(line->command, usage, sizeof usage);
    return error_set(err, STATUS_BAD_INPUT, "unexpected argument \"%.200s\"; %s", word, usage);
}

static Status check_count(const CommandLine *line, Error *err) {
    const Command *command = line->command;
    int count = line->argument_count;
    char usage[256];
    for (int i = 0; i < count; i++)
        if (!*line->arguments[i]) { // NOLINT: parse_words has set it
            format_usage(command, usage, sizeof usage);
            return error_set(err, STATUS_BAD_INPUT, "argument %d is empty; %s", i + 1, usage);
        }
    if (count >= command->min_arguments && count <= command->max_arguments) return STATUS_OK;
    format_usage(command, usage, sizeof usage);
    if (count < command->min_arguments) return error_set(err, STATUS_BAD_INPUT, "an argument is missing; %s", usage);
    return command_unexpected(line, command->max_arguments, err);
}

Status command_parse(const Command *command, int count, char **words, CommandLine *out, bool *wants_help, Error *err) {
    *out = (CommandLine){.command = command, .started = clock_now()};
    *wants_help = false;
    out->arguments = calloc((size_t)count + 1, sizeof *out->arguments);
    out->given = calloc((size_t)count + 1, sizeof *out->given);
    if (!out->arguments || !out->given) return error_set(err, STATUS_FAILED, "out of memory");
    Status status = parse_words(out, count, words, wants_help, err);
    if (*wants_help) return STATUS_OK;
    if (status == STATUS_OK) status = check_count(out, err);
    long threads = 0;
    if (status == STATUS_OK) status = command_int(out, "threads", 1, THREADS_MAX, &threads, err);
    if (status == STATUS_OK && threads == 0) status = threads_check_environment(err);
    if (status != STATUS_OK) return status;
    out->threads = threads_use((int)threads);
    out->log = log_open(stderr, command_has(out, "quiet"));
    return STATUS_OK;
}

// Launchers bind processes to processors of their own, or leave all to each.
static void divide_threads(CommandLine *line) {
    int here = ranks_count_here(line->ranks);
    bool given = command_text(line, "threads", NULL) || getenv("VPD_THREADS");
    if (given || line->threads < sysconf(_SC_NPROCESSORS_ONLN)) return;
    line->threads = threads_use(line->threads > here ? line->threads / here : 1);
}

// GPUs that a process finds. Those that find the same first one divide them: the launcher may have given each its own.
typedef struct GpusFound {
    int count, here; // processes on its machine
    unsigned char first[DEVICE_GPU_ID];
} GpusFound;

// Number of processes before `rank` that find the same GPUs: of the one that it takes.
static int number_of_gpu(const GpusFound *all, int rank) {
    int count = 0;
    for (int r = 0; r < rank; r++)
        count += all[r].count > 0 && !memcmp(all[r].first, all[rank].first, sizeof all->first);
    return count;
}

// All without a GPU, or each with one of its own.
static Status check_gpus(const CommandLine *line, const GpusFound *all, Error *err) {
    int most = 0, with = 0;
    for (int r = 0; r < ranks_count(line->ranks); r++)
        if (all[r].count > most) most = all[with = r].count;
    for (int r = 0; r < ranks_count(line->ranks); r++) {
        if (most == 0 || (all[r].count > 0 && number_of_gpu(all, r) < all[r].count)) continue;
        return error_set(err, STATUS_BAD_INPUT,
                         "%s has no GPU of its own: expected one for each process, found %d for the %d on its machine, "
                         "and %d on that of %s; start as many on each machine as it has GPUs, or name a GPU that they "
                         "share with --device cuda:0, or use --device cpu",
                         ranks_name(line->ranks, r), all[r].count, all[r].here, most, ranks_name(line->ranks, with));
    }
    return STATUS_OK;
}

// Each process takes a GPU of its own.
static Status divide_gpus(CommandLine *line, Error *err) {
    const char *device = flag_of(line->command, "device") ? command_text(line, "device", "auto") : "cpu";
    bool is_auto = !strcmp(device, "auto");
    int own = ranks_rank(line->ranks);
    GpusFound found = {.here = ranks_count_here(line->ranks)},
              *all = calloc((size_t)ranks_count(line->ranks), sizeof *all);
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks_count(line->ranks));
    if ((is_auto && !getenv("VPD_ISA")) || !strcmp(device, "cuda")) found.count = device_gpus(found.first);
    Status status = ranks_gather(line->ranks, &found, sizeof found, all, err);
    if (status == STATUS_OK) status = check_gpus(line, all, err);
    if (is_auto || !strcmp(device, "cuda"))
        snprintf(line->device, sizeof line->device, "%s:%d", device, number_of_gpu(all, own));
    free(all);
    return status;
}

Status command_join(CommandLine *line, Error *err) {
    if (!line->command->spreads) return STATUS_OK;
    Status status = ranks_open(&line->ranks, err);
    if (status != STATUS_OK || !line->ranks) return status;
    if (ranks_rank(line->ranks) > 0) line->log = (Log){.quiet = true};
    ranks_set_log(line->ranks, &line->log);
    divide_threads(line);
    char text[80];
    snprintf(text, sizeof text, "command: %s\n", line->command->name);
    // first of all: commands wait for each other at different places
    status = ranks_same_text(line->ranks, text, err);
    return status == STATUS_OK ? divide_gpus(line, err) : status;
}

void command_line_free(CommandLine *line) {
    free(line->arguments);
    free(line->given);
    *line = (CommandLine){0};
}

// ---- help

static void print_flag(const Flag *flag, FILE *out) {
    char usage[80];
    snprintf(usage, sizeof usage, "%s%c%s--%s%s%s", flag->letter ? "-" : " ", flag->letter ? flag->letter : ' ',
             flag->letter ? ", " : "  ", flag->name, flag->value && !flag->optional ? " " : "",
             flag->value ? flag->value : "");
    fprintf(out, "  %-26s %s\n", usage, flag->help);
}

bool command_wants_all(const CommandLine *line) {
    return line->argument_count == 1 && strcmp(line->arguments[0], "all") == 0;
}

void command_print_help(const Command *command, bool all, FILE *out) {
    char usage[256];
    format_usage(command, usage, sizeof usage);
    fprintf(out, "vpd %s: %s\n\n%s\n\n", command->name, command->summary, usage);
    for (const Flag *flag = command->flags; flag && flag->name; flag++) print_flag(flag, out);
    for (const Flag *flag = command_common_flags; flag->name; flag++) print_flag(flag, out);
    if (command->details) fprintf(out, "\n%s\n", command->details);
    if (!command->options) return;
    fprintf(out, all ? "\nOptions, in a YAML file or by --set:\n\n"
                     : "\nThe options that are changed most often, in a YAML file or by --set; \"--help all\" lists "
                       "every one:\n\n");
    options_print_help(command->options(), all ? NULL : config_usual_keys, out);
}
