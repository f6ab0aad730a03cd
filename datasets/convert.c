// SPDX-License-Identifier: Apache-2.0
#include "datasets/convert.h"

#include "base/progress.h"
#include "base/version.h"
#include "datasets/convert_image.h"
#include "datasets/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATORS = 4, GENERATOR_SIZE = 800 }; // told of merged data sets, and room for them

typedef struct Chosen {
    const Dataset *dataset;
    int episode;
    Split split;
} Chosen;

typedef struct Job {
    const ConvertOptions *options;
    DatasetWriter *writer;
    Chosen *chosen;
    int count;
    char place[512];
    // The episode under way:
    const EpisodeInfo *from;
    FrameRequest request;
    int *views, *heldout;
    double *K, *poses, *time, *position, *quaternion;
    float *actions;
    ConvertPlan plan;
    EpisodeInfo to;
} Job;

static void free_episode(Job *job) {
    void *all[] = {job->views, job->heldout,  job->K,          job->poses,
                   job->time,  job->position, job->quaternion, job->actions};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    job->views = job->heldout = NULL;
    job->K = job->poses = job->time = job->position = job->quaternion = NULL;
    job->actions = NULL;
}

// ---- which episodes

static int count_split(Dataset *const *datasets, int count, int split) {
    int total = 0;
    for (int i = 0; i < count; i++) total += dataset_info(datasets[i])->split_count[split];
    return total;
}

static Status choose(Job *job, Dataset *const *datasets, int count, Error *err) {
    const ConvertOptions *options = job->options;
    int total = 0, taken[SPLIT_COUNT] = {0};
    for (int i = 0; i < count; i++) total += dataset_episode_count(datasets[i]);
    job->chosen = calloc((size_t)total + 1, sizeof *job->chosen);
    if (!job->chosen) return error_no_memory(err, "a conversion of %s", job->place);
    for (int s = 0; s < SPLIT_COUNT; s++) {
        if (options->episodes[s] > count_split(datasets, count, s))
            return error_set(err, STATUS_BAD_INPUT, "%s: expected %d %s episodes, found %d", job->place,
                             options->episodes[s], split_name((Split)s), count_split(datasets, count, s));
    }
    for (int i = 0; i < count; i++) {
        for (int e = 0; e < dataset_episode_count(datasets[i]); e++) {
            Split split = dataset_episode(datasets[i], e)->split;
            if (options->episodes[split] >= 0 && taken[split] >= options->episodes[split]) continue;
            taken[split]++;
            job->chosen[job->count++] = (Chosen){datasets[i], e, split};
        }
    }
    return job->count ? STATUS_OK
                      : error_set(err, STATUS_BAD_INPUT, "%s: none of its episodes is selected", job->place);
}

static Status assign(Job *job, Error *err) {
    const int *assigned = job->options->assigned;
    int next = 0;
    if (!job->options->assign) return STATUS_OK;
    if (assigned[0] + assigned[1] + assigned[2] != job->count)
        return error_set(err, STATUS_BAD_INPUT,
                         "--assign: expected numbers that add up to the %d kept episodes, found %d + %d + %d",
                         job->count, assigned[0], assigned[1], assigned[2]);
    for (int s = 0; s < SPLIT_COUNT; s++) {
        for (int i = 0; i < assigned[s]; i++) job->chosen[next++].split = (Split)s;
    }
    return STATUS_OK;
}

static Status check_alike(Dataset *const *datasets, int count, Error *err) {
    for (int i = 1; i < count; i++) {
        const DatasetInfo *first = dataset_info(datasets[0]), *other = dataset_info(datasets[i]);
        if (other->missing_depth != first->missing_depth)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected the same missing_depth as in %s, found another",
                             other->path, first->path);
    }
    return STATUS_OK;
}

// ---- one episode

static Status plan_frames(Job *job, int episode, Error *err) {
    const ConvertOptions *options = job->options;
    const EpisodeInfo *info = job->from;
    int stride = options->stride ? options->stride : 1, left = info->F - options->first;
    if (left <= 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a first frame below %d, found %d", job->place, info->F,
                         options->first);
    int most = (left - 1) / stride + 1;
    if (options->count > most)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected at most %d frames from %d on in steps of %d, asked for %d", job->place, most,
                         options->first, stride, options->count);
    job->request = (FrameRequest){.episode = episode, .first = options->first, .stride = stride, .count = most};
    if (options->count) job->request.count = options->count;
    return STATUS_OK;
}

static Status plan_views(Job *job, Error *err) {
    const ConvertOptions *options = job->options;
    int V = options->views ? options->view_count : job->from->V;
    job->views = calloc((size_t)V, sizeof *job->views);
    job->heldout = calloc((size_t)V, sizeof *job->heldout);
    if (!job->views || !job->heldout) return error_no_memory(err, "a conversion of %s", job->place);
    job->to.V = V;
    for (int v = 0; v < V; v++) {
        job->views[v] = options->views ? options->views[v] : v;
        if (job->views[v] >= job->from->V)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected views within 0 to %d, asked for %d", job->place,
                             job->from->V - 1, job->views[v]);
        if (episode_view_is_heldout(job->from, job->views[v])) job->heldout[job->to.heldout_count++] = v;
    }
    if (job->to.heldout_count == V)
        return error_set(err, STATUS_BAD_INPUT, "%s: all kept views are held out; keep another view", job->place);
    job->request.views = job->views;
    job->request.view_count = V;
    return STATUS_OK;
}

// Rows first, first + stride, ... of an array of frames. NULL gives NULL.
static void *take_rows(const Job *job, const void *rows, size_t bytes, bool *good) {
    if (!rows || bytes == 0) return NULL;
    char *out = malloc((size_t)job->to.F * bytes);
    *good = *good && out;
    for (int f = 0; out && f < job->to.F; f++) {
        size_t from = (size_t)job->request.first + (size_t)f * (size_t)job->request.stride;
        memcpy(out + (size_t)f * bytes, (const char *)rows + from * bytes, bytes);
    }
    return out;
}

static Status take_cameras(Job *job, Error *err) {
    size_t V = (size_t)job->to.V, F = job->from->moving_cameras ? (size_t)job->to.F : 1;
    job->K = calloc(9 * V, sizeof *job->K);
    job->poses = calloc(16 * F * V, sizeof *job->poses);
    if (!job->K || !job->poses) return error_no_memory(err, "a conversion of %s", job->place);
    for (size_t v = 0; v < V; v++) {
        convert_intrinsics(&job->plan, job->from->intrinsics + 9 * job->views[v], job->K + 9 * v);
        for (size_t f = 0; f < F; f++) {
            int frame = job->request.first + (int)f * job->request.stride;
            memcpy(job->poses + 16 * (f * V + v), episode_pose(job->from, frame, job->views[v]), 16 * sizeof(double));
        }
    }
    return STATUS_OK;
}

static Status describe(Job *job, const Chosen *chosen, Error *err) {
    const EpisodeInfo *from = job->from;
    EpisodeInfo *to = &job->to;
    bool good = true;
    *to = *from;
    to->F = job->request.count;
    to->heldout_count = 0;
    Status status = plan_views(job, err);
    if (!status) status = convert_plan(job->options, from, job->place, &job->plan, err);
    if (!status) status = take_cameras(job, err);
    if (status) return status;
    size_t O = (size_t)from->O;
    to->time = job->time = take_rows(job, from->time, sizeof(double), &good);
    to->actions = job->actions = take_rows(job, from->actions, (size_t)from->A * sizeof(float), &good);
    to->object_position = job->position = take_rows(job, from->object_position, 3 * O * sizeof(double), &good);
    to->object_quaternion = job->quaternion = take_rows(job, from->object_quaternion, 4 * O * sizeof(double), &good);
    to->split = chosen->split;
    to->H = job->plan.H;
    to->W = job->plan.W;
    to->intrinsics = job->K;
    to->world_from_camera = job->poses;
    to->heldout_views = job->heldout;
    to->depth_is_u16 = job->plan.u16;
    to->depth_scale = job->plan.u16 ? job->plan.unit : 1;
    if (job->plan.box) to->bounds = job->plan.box;
    return good ? STATUS_OK : error_no_memory(err, "a conversion of %s", job->place);
}

// The number of pixels with depth.
static size_t count_depth(const Image *depth) {
    size_t pixels = (size_t)depth->H * (size_t)depth->W, count = 0;
    for (size_t i = 0; i < pixels; i++)
        count +=
            depth->type == PIXEL_F32 ? ((const float *)depth->pixels)[i] > 0 : ((const uint16_t *)depth->pixels)[i] > 0;
    return count;
}

// Reads, changes and compresses one frame, on any thread. Adds to `kept`.
static Status prepare(const Job *job, const Dataset *dataset, int frame, Frames *frames, PackedImage *out, size_t *kept,
                      Error *err) {
    FrameRequest request = job->request;
    request.first += frame * request.stride;
    request.count = 1;
    Status status = dataset_read_frames(dataset, request, frames, err);
    for (int v = 0; !status && v < job->to.V; v++) {
        ConvertedImage image;
        status = convert_image(&job->plan, frames, v, &image, err);
        if (status) break;
        *kept += count_depth(&image.depth);
        status =
            dataset_writer_pack(job->writer, image.rgb.pixels, image.depth.pixels, image.mask.pixels, &out[v], err);
        converted_image_free(&image);
    }
    return status;
}

static Status put(Job *job, int frame, const PackedImage *packed, Error *err) {
    Status status = STATUS_OK;
    for (int v = 0; !status && v < job->to.V; v++)
        status = dataset_writer_put_packed(job->writer, frame, v, &packed[v], err);
    return status;
}

// All threads prepare frames; they are written in order. The first error in that order is returned.
static Status put_frames(Job *job, const Dataset *dataset, Error *err) {
    Status status = STATUS_OK;
    size_t kept = 0;
#pragma omp parallel reduction(+ : kept)
    {
        Frames frames = {0};
#pragma omp for ordered schedule(dynamic, 1)
        for (int f = 0; f < job->to.F; f++) {
            PackedImage *packed = calloc((size_t)job->to.V, sizeof *packed);
            Error own = {0};
            Status here, before;
#pragma omp atomic read
            before = status;
            here = before   ? before
                   : packed ? prepare(job, dataset, f, &frames, packed, &kept, &own)
                            : error_no_memory(&own, "a conversion of %s", job->place);
#pragma omp ordered
            {
                if (!status) {
                    if (here && err) *err = own;
                    if (!here) here = put(job, f, packed, err);
#pragma omp atomic write
                    status = here;
                }
            }
            for (int v = 0; packed && v < job->to.V; v++) packed_image_free(&packed[v]);
            free(packed);
        }
        frames_free(&frames);
    }
    if (!status && job->options->has_box && kept == 0)
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: no pixel with depth lies in the box; give a larger one", job->place);
    return status;
}

static Status convert_episode(Job *job, const Chosen *chosen, Error *err) {
    job->from = dataset_episode(chosen->dataset, chosen->episode);
    snprintf(job->place, sizeof job->place, "%s:/episodes/%s", job->from->file, job->from->name);
    Status status = plan_frames(job, chosen->episode, err);
    if (!status) status = describe(job, chosen, err);
    if (!status) status = dataset_writer_begin_episode(job->writer, &job->to, err);
    if (!status) status = put_frames(job, chosen->dataset, err);
    if (!status) status = dataset_writer_end_episode(job->writer, err);
    free_episode(job);
    return status;
}

// "both" of "made/both.h5".
static void name_of_file(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    snprintf(out, size, "%.*s", (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
}

// Of each data set, once, and how many more there are beyond GENERATORS.
static void tell_generators(Dataset *const *datasets, int count, char out[GENERATOR_SIZE]) {
    int told = 0, length = snprintf(out, GENERATOR_SIZE, "vpd %s data convert", version_number());
    for (int i = 0; i < count; i++) {
        const char *generator = dataset_info(datasets[i])->generator;
        bool again = !generator[0];
        for (int j = 0; j < i && !again; j++) again = strcmp(generator, dataset_info(datasets[j])->generator) == 0;
        if (again || told++ >= GENERATORS) continue;
        length += snprintf(out + length, GENERATOR_SIZE - (size_t)length, "; %.150s", generator);
    }
    if (told > GENERATORS) snprintf(out + length, GENERATOR_SIZE - (size_t)length, "; and %d more", told - GENERATORS);
}

static Status open_writer(Job *job, Dataset *const *datasets, int count, const char *path, Error *err) {
    const DatasetInfo *info = dataset_info(datasets[0]);
    bool several = count > 1 || info->file_count > 1;
    char generator[GENERATOR_SIZE], merged[256];
    name_of_file(path, merged, sizeof merged);
    const char *name = job->options->name ? job->options->name : several ? merged : info->name;
    tell_generators(datasets, count, generator);
    bool one_licence = info->licence[0];
    for (int i = 1; i < count; i++)
        one_licence = one_licence && strcmp(info->licence, dataset_info(datasets[i])->licence) == 0;
    WriterOptions writing = {.name = name[0] ? name : NULL,
                             .generator = generator,
                             .licence = one_licence ? info->licence : NULL,
                             // Depth outside the box is not sky.
                             .missing_depth = job->options->has_box ? MISSING_UNKNOWN : info->missing_depth,
                             .deflate_level = job->options->deflate_level};
    return dataset_writer_open(path, &writing, &job->writer, err);
}

Status dataset_convert(Dataset *const *datasets, int count, const ConvertOptions *options, const char *path,
                       const Log *log, Error *err) {
    Job job = {.options = options};
    Progress progress;
    snprintf(job.place, sizeof job.place, "%s%s", dataset_info(datasets[0])->path, count > 1 ? " and the others" : "");
    Status status = check_alike(datasets, count, err);
    if (!status) status = choose(&job, datasets, count, err);
    if (!status) status = assign(&job, err);
    if (!status) status = open_writer(&job, datasets, count, path, err);
    progress_start(&progress, log, "convert", "episodes", 0, (size_t)job.count);
    for (int i = 0; !status && i < job.count; i++) {
        status = convert_episode(&job, &job.chosen[i], err);
        progress_update(&progress, (size_t)i + 1, NULL);
    }
    if (!status) status = dataset_writer_finish(job.writer, err);
    else dataset_writer_discard(job.writer);
    free(job.chosen);
    return status;
}
