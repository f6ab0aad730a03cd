// SPDX-License-Identifier: Apache-2.0
#include "files/data_record.h"

#include "base/version.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

// Adds a piece to the hash. NULL memory adds a marker, which differs from adding nothing.
static void add(uint64_t *hash, const void *memory, size_t count, size_t size) {
    const uint64_t length = memory ? count * size : UINT64_MAX;
    *hash = XXH3_64bits_withSeed(&length, sizeof length, *hash);
    if (memory) *hash = XXH3_64bits_withSeed(memory, count * size, *hash);
}

static void add_text(uint64_t *hash, const char *text) { add(hash, text, strlen(text), 1); }

static void add_cameras(uint64_t *hash, const EpisodeInfo *info) {
    const int32_t sizes[] = {info->V, info->H, info->W, info->moving_cameras};
    size_t V = (size_t)info->V;
    add(hash, sizes, 4, sizeof *sizes);
    add(hash, info->intrinsics, 9 * V, sizeof(double));
    add(hash, info->world_from_camera, 16 * episode_poses(info), sizeof(double));
    add(hash, info->heldout_views, (size_t)info->heldout_count, sizeof(int));
}

static void add_header(uint64_t *hash, const EpisodeInfo *info) {
    const int32_t flags[] = {info->A, info->O, info->has_mask, info->depth_is_u16};
    size_t objects = (size_t)info->F * (size_t)info->O;
    add(hash, flags, 4, sizeof *flags);
    add(hash, &info->depth_scale, 1, sizeof(double));
    add(hash, info->bounds, 6, sizeof(double));
    add(hash, info->actions, (size_t)info->F * (size_t)info->A, sizeof(float));
    add(hash, info->object_position, 3 * objects, sizeof(double));
    add(hash, info->object_quaternion, 4 * objects, sizeof(double));
    for (int i = 0; i < info->property_count; i++) {
        add_text(hash, info->properties[i].name);
        add(hash, &info->properties[i].value, 1, sizeof(double));
    }
}

uint64_t data_record_hash_episode(const EpisodeInfo *info) {
    uint64_t hash = 0;
    add_text(&hash, info->name);
    add_cameras(&hash, info);
    add(&hash, info->time, (size_t)info->F, sizeof(double));
    add_header(&hash, info);
    return hash;
}

static void print_hash(uint64_t hash, char out[DATA_HASH_SIZE]) { snprintf(out, DATA_HASH_SIZE, "%016" PRIx64, hash); }

void data_record_make(const Dataset *dataset, DataRecord *out) {
    uint64_t names = 0, lengths = 0, cameras = 0, times = 0, headers = 0;
    *out = (DataRecord){0};
    for (int e = 0; e < dataset_episode_count(dataset); e++) {
        const EpisodeInfo *info = dataset_episode(dataset, e);
        const int32_t frames = info->F, split = info->split;
        if (info->split == SPLIT_TEST) continue;
        out->episodes++;
        out->frames += info->F;
        if (out->time_step == 0) out->time_step = info->time_step;
        add_text(&names, info->name);
        add(&names, &split, 1, sizeof split);
        add(&lengths, &frames, 1, sizeof frames);
        add_cameras(&cameras, info);
        add(&times, info->time, (size_t)info->F, sizeof(double));
        add_header(&headers, info);
    }
    print_hash(names, out->names);
    print_hash(lengths, out->lengths);
    print_hash(cameras, out->cameras);
    print_hash(times, out->times);
    print_hash(headers, out->headers);
}

void data_record_print_job(const DataRecord *r, const char *command, const char *device, FILE *out) {
    size_t number = strncmp(device, "cuda:", 5) ? 0 : strcspn(device, ","); // differs between the GPUs of a machine
    fprintf(out, "command: %s\nprogram: %s %s\ndevice: %s%s\n", command, version_number(), version_commit(),
            number ? "cuda" : "", device + number);
    fprintf(out, "data: %ld episodes, %ld frames, %s %s %s %s %s\n", r->episodes, r->frames, r->names, r->lengths,
            r->cameras, r->times, r->headers);
}

// ---- comparing

typedef struct Sentence {
    char *out;
    size_t size, used;
    int count;
} Sentence;

__attribute__((format(printf, 2, 3))) static void say(Sentence *s, const char *format, ...) {
    va_list args;
    const char *between = s->count++ ? "; " : "";
    if (s->used < s->size) s->used += (size_t)snprintf(s->out + s->used, s->size - s->used, "%s", between);
    if (s->used >= s->size) return;
    va_start(args, format);
    s->used += (size_t)vsnprintf(s->out + s->used, s->size - s->used, format, args);
    va_end(args);
}

int data_record_differences(const DataRecord *then, const DataRecord *now, char *out, size_t size) {
    Sentence s = {out, size, 0, 0};
    bool slower = fabs(then->time_step - now->time_step) > 1e-6 * then->time_step;
    if (size) out[0] = 0;
    if (then->episodes != now->episodes) say(&s, "%ld episodes then, %ld now", then->episodes, now->episodes);
    else if (strcmp(then->names, now->names) != 0) say(&s, "names or splits of the episodes");
    if (then->frames != now->frames) say(&s, "%ld frames then, %ld now", then->frames, now->frames);
    else if (strcmp(then->lengths, now->lengths) != 0) say(&s, "frames of the episodes");
    if (slower) say(&s, "a frame every %.4g s then, every %.4g s now", then->time_step, now->time_step);
    // With other episodes all other hashes differ too, which tells nothing.
    if (then->episodes != now->episodes || then->frames != now->frames) return s.count;
    if (strcmp(then->cameras, now->cameras) != 0) say(&s, "cameras");
    if (!slower && strcmp(then->times, now->times) != 0) say(&s, "times of the frames");
    if (strcmp(then->headers, now->headers) != 0)
        say(&s, "data other than images (depth scale, bounds, actions, objects or properties)");
    return s.count;
}

// ---- in a checkpoint

json_t *data_record_to_json(const DataRecord *r) {
    return json_pack("{s:I s:I s:f s:s s:s s:s s:s s:s}", "episodes", (json_int_t)r->episodes, "frames",
                     (json_int_t)r->frames, "time_step", r->time_step, "names", r->names, "lengths", r->lengths,
                     "cameras", r->cameras, "times", r->times, "headers", r->headers);
}

bool data_record_from_json(json_t *object, DataRecord *out) {
    json_int_t episodes, frames;
    const char *text[5];
    char *into[] = {out->names, out->lengths, out->cameras, out->times, out->headers};
    *out = (DataRecord){0};
    if (json_unpack(object, "{s:I s:I s:F s:s s:s s:s s:s s:s}", "episodes", &episodes, "frames", &frames, "time_step",
                    &out->time_step, "names", &text[0], "lengths", &text[1], "cameras", &text[2], "times", &text[3],
                    "headers", &text[4]))
        return false;
    bool good = episodes >= 0 && frames >= 0 && isfinite(out->time_step);
    for (int i = 0; i < 5; i++) good = snprintf(into[i], DATA_HASH_SIZE, "%s", text[i]) < DATA_HASH_SIZE && good;
    out->episodes = (long)episodes;
    out->frames = (long)frames;
    return good;
}
