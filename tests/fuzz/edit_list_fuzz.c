// SPDX-License-Identifier: Apache-2.0
// Any bytes as a list of edits: refused with an error, or a list that can be applied to a small scene without harm, and
// whose history reads again.
#include "tests/fuzz/fuzz.h"

#include "edit/edit.h"

#include <string.h>

enum { N = 24 };

static void add_bodies(RolloutSet *now) {
    now->before = malloc(12 * N), now->body = malloc(4 * N), now->moving = malloc(N);
    memcpy(now->before, now->positions, 12 * N);
    for (int i = 0; i < N; i++) now->body[i] = i % 5 - 1;
    for (int i = 0; i < N; i++) now->moving[i] = now->body[i] >= 0;
}

// With a past set, or with rigid bodies.
static RolloutFile small_scene(bool bodies) {
    RolloutFile file = {.set_count = bodies ? 1 : 2, .time_step = 0.1, .frame_stride = 1};
    for (int k = 0; k < file.set_count; k++) {
        RolloutSet *set = &file.sets[k];
        *set = (RolloutSet){.N = N, .D = 1};
        set->positions = malloc(12 * N), set->features = calloc(N, 4);
        set->colour = calloc(N, 3), set->labels = calloc(N, 2);
        for (int i = 0; i < N; i++) {
            const float p[3] = {(float)(i % 4), (float)(i / 4 % 3), i < 12 ? 0 : 1};
            memcpy(set->positions + 3 * i, p, sizeof p);
            set->labels[i] = i / 8;
        }
    }
    file.sets[0].radius = malloc(4 * N);
    for (int i = 0; i < N; i++) file.sets[0].radius[i] = 1;
    if (bodies) add_bodies(&file.sets[0]);
    file.time = calloc(1, sizeof *file.time);
    return file;
}

// What was applied must be a list again.
static void check_history(const RolloutFile *file) {
    char *script = NULL;
    Error err;
    EditList *list = edit_list_create();
    if (edit_history_script(file, &script, &err) != STATUS_OK ||
        edit_list_parse(list, script, strlen(script), "history", "/", &err) != STATUS_OK) {
        fprintf(stderr, "%s\n%s", err.text, script ? script : "");
        abort();
    }
    free(script);
    edit_list_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Device *device;
    Error err = {0};
    EditReport report;
    EditList *list = edit_list_create();
    if (!list || (!device && device_open("cpu", 1, &device, &err) != STATUS_OK)) abort();
    Status status = edit_list_parse(list, (const char *)data, size, "fuzz", "/nowhere", &err);
    for (int bodies = 0; bodies < 2 && status == STATUS_OK && edit_list_count(list) <= 8; bodies++) {
        RolloutFile file = small_scene(bodies);
        status = edit_apply(list, device, NULL, 0, &file, &report, &err);
        if (status == STATUS_OK) check_history(&file);
        rollout_file_free(&file);
    }
    if (status != STATUS_OK && !err.text[0]) abort(); // an error without a word
    edit_list_free(list);
    return 0;
}
