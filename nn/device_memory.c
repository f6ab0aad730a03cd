// SPDX-License-Identifier: Apache-2.0
#include "nn/device_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HINTS = 3, SIZE_TEXT = 32 };

// Sections are consecutive; memory released by the backward pass no longer belongs to them.
void tape_part_bytes(const Tape *tape, size_t bytes[TAPE_PARTS]) {
    size_t end = tape->memory.used;
    memset(bytes, 0, TAPE_PARTS * sizeof *bytes);
    for (const TapeSection *s = tape->section; s; s = s->previous) {
        if (s->begin >= end) continue;
        bytes[s->part] += end - s->begin;
        end = s->begin;
    }
    bytes[TAPE_OTHER] += end;
    bytes[TAPE_GRADIENTS] += tape->early.used;
}

// ---- the account

typedef struct Account {
    MemoryUse *use;
    size_t count;
} Account;

static void add_use(Account *account, MemoryUse use) {
    size_t i = 0;
    while (i < account->count && strcmp(account->use[i].name, use.name) != 0) i++;
    if (i == MEMORY_USES || (use.now == 0 && use.peak == 0)) return;
    if (i == account->count) account->use[account->count++] = (MemoryUse){use.name, use.shrink, 0, 0};
    account->use[i].now += use.now;
    account->use[i].peak += use.peak > use.now ? use.peak : use.now;
}

static void add_tape(Account *account, const Tape *tape) {
    size_t bytes[TAPE_PARTS];
    tape_part_bytes(tape, bytes);
    for (size_t i = 0; i < tape->part_count; i++)
        add_use(account, (MemoryUse){tape->parts[i]->name, tape->parts[i]->shrink, bytes[i], tape->part_peak[i]});
}

size_t device_memory_uses(const Device *device, MemoryUse out[MEMORY_USES]) {
    Account account = {out, 0};
    const Arena *scratch = &device->scratch;
    size_t idle = scratch->held - scratch->used;
    add_use(&account, (MemoryUse){"parameters", NULL, device->parameter_bytes, 0});
    add_use(&account, (MemoryUse){"optimiser", NULL, device->optimizer_bytes, 0});
    add_use(&account, (MemoryUse){"libraries", NULL, device->library_bytes, 0});
    for (const Tape *tape = device->tapes; tape; tape = tape->next) {
        add_tape(&account, tape);
        idle += tape->memory.held - tape->memory.used + tape->early.held - tape->early.used;
    }
    add_use(&account, (MemoryUse){"temporaries", NULL, scratch->used, scratch->peak});
    add_use(&account, (MemoryUse){"reserved but unused", NULL, idle, 0});
    return account.count;
}

// ---- the sentence

typedef struct Sentence {
    char text[sizeof((Error *)0)->text];
    size_t length;
} Sentence;

__attribute__((format(printf, 2, 3))) static void say(Sentence *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(s->text + s->length, sizeof s->text - s->length, format, args);
    va_end(args);
    s->length += length > 0 ? (size_t)length : 0;
    if (s->length >= sizeof s->text) s->length = sizeof s->text - 1;
}

static const char *in_words(size_t bytes, char text[SIZE_TEXT]) {
    double mib = (double)bytes / (1 << 20);
    if (mib < 0.1) snprintf(text, SIZE_TEXT, "%zu bytes", bytes);
    else if (mib < 1024) snprintf(text, SIZE_TEXT, "%.1f MiB", mib);
    else snprintf(text, SIZE_TEXT, "%.1f GiB", mib / 1024);
    return text;
}

static void say_room(Sentence *s, const char *who, const ArenaSource *source) {
    char one[SIZE_TEXT], two[SIZE_TEXT];
    size_t left = SIZE_MAX, total = SIZE_MAX;
    if (source->room) source->room(source->owner, &left, &total);
    if (total == SIZE_MAX) return;
    if (left == SIZE_MAX) say(s, ", where there are %s in all", in_words(total, one));
    else say(s, ", where %s has %s left of %s", who, in_words(left, one), in_words(total, two));
}

static int by_size(const void *a, const void *b) {
    const MemoryUse *left = a, *right = b;
    return (left->now < right->now) - (left->now > right->now);
}

static void say_uses(Sentence *s, const Device *device) {
    MemoryUse use[MEMORY_USES];
    char size[SIZE_TEXT];
    size_t count = device_memory_uses(device, use), said = 0;
    qsort(use, count, sizeof *use, by_size);
    for (size_t i = 0; i < count; i++)
        if (use[i].now > 0) say(s, "%s %s %s", said++ ? "," : "; held:", use[i].name, in_words(use[i].now, size));
    said = 0;
    for (size_t i = 0; i < count && said < HINTS; i++)
        if (use[i].shrink) say(s, "%s %s by %s", said++ ? ";" : "; smaller:", use[i].name, use[i].shrink);
}

void device_no_memory(Device *device, const ArenaSource *source, size_t bytes, const char *what) {
    char size[SIZE_TEXT];
    Sentence s = {.length = 0};
    if (device->failed) return;
    say(&s, "out of memory");
    if (device->part) say(&s, " (%s)", device->part->name);
    if (bytes == 0) say(&s, ": more was asked for %s", what);
    else say(&s, ": %s more were asked for %s", bytes == SIZE_MAX ? "too many bytes" : in_words(bytes, size), what);
    say_room(&s, device->name, source);
    say_uses(&s, device);
    device_fail(device, STATUS_FAILED, "%s", s.text);
}

void *device_scratch_bytes(Device *device, size_t bytes) {
    if (device->failed) return NULL;
    void *memory = arena_alloc(&device->scratch, bytes);
    if (!memory) device_no_memory(device, &device->scratch.source, bytes, "temporaries of an op");
    return memory;
}

real *device_scratch(Device *device, size_t count) {
    return device_scratch_bytes(device, count > SIZE_MAX / sizeof(real) ? SIZE_MAX : count * sizeof(real));
}
