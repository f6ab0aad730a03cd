// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "base/clock.h"
#include "base/json.h"
#include "datasets/loader.h"

enum { FRAMES_AT_ONCE = 8 };

static const Flag flags[] = {
    {.name = "json", .help = "one JSON object instead of a table"},
    {.name = "speed", .help = "read everything with --threads loader threads and report the speed"},
    {0},
};

static void print_flags(const EpisodeInfo *info, char *out, size_t size) {
    snprintf(out, size, "%s%s%s%s%s", info->has_mask ? " mask" : "", info->object_position ? " state" : "",
             info->actions ? " actions" : "", info->bounds ? " bounds" : "",
             info->moving_cameras ? " moving-cameras" : "");
}

static void print_episode(const Dataset *dataset, int episode, int width) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    char has[64], held[32] = "-";
    print_flags(info, has, sizeof has);
    if (info->heldout_count == 1) snprintf(held, sizeof held, "%d", info->heldout_views[0]);
    else if (info->heldout_count > 1) snprintf(held, sizeof held, "%d views", info->heldout_count);
    printf("%-*s %-5s %-12.12s %5d %5d %9.4g %5dx%-5d %-8s %3d %s\n", width,
           dataset_episode_label(dataset, episode).text, split_name(info->split), info->scene, info->F, info->V,
           info->time_step, info->W, info->H, held, info->O, has);
}

static void print_table(const Dataset *dataset) {
    const DatasetInfo *info = dataset_info(dataset);
    printf("%s\n", info->path);
    if (info->name[0]) printf("  name       %s\n", info->name);
    if (info->generator[0]) printf("  generator  %s\n", info->generator);
    if (info->created[0]) printf("  created    %s\n", info->created);
    if (info->licence[0]) printf("  licence    %s\n", info->licence);
    printf("  format     vpd-dataset %u.%u, %d file%s\n", info->version_major, info->version_minor, info->file_count,
           info->file_count > 1 ? "s" : "");
    if (info->index && info->index[0]) printf("  index      %s\n", info->index);
    if (info->index && !info->index[0]) printf("  index      none could be kept: %s\n", info->index_missing);
    printf("  episodes   %d (train %d, val %d, test %d)\n", info->episode_count, info->split_count[SPLIT_TRAIN],
           info->split_count[SPLIT_VAL], info->split_count[SPLIT_TEST]);
    printf("  no depth   %s\n\n", info->missing_depth == MISSING_SKY ? "sky" : "unknown");
    int width = dataset_label_width(dataset);
    printf("%-*s %-5s %-12s %5s %5s %9s %11s %-8s %3s %s\n", width, "episode", "split", "scene", "F", "V", "step s",
           "WxH", "held out", "O", " has");
    for (int i = 0; i < info->episode_count; i++) print_episode(dataset, i, width);
}

static json_t *episode_json(const EpisodeInfo *info) {
    json_t *held = json_array(), *properties = json_object();
    for (int i = 0; i < info->heldout_count; i++) json_array_append_new(held, json_integer(info->heldout_views[i]));
    for (int i = 0; i < info->property_count; i++)
        json_object_set_new(properties, info->properties[i].name, json_finite(info->properties[i].value));
    return json_pack("{s:s s:s s:s s:s s:s s:i s:i s:i s:i s:i s:i s:o s:b s:b s:b s:b s:b s:o s:o}", "file",
                     info->file, "name", info->name, "split", split_name(info->split), "scene", info->scene, "source",
                     info->source, "frames", info->F, "views", info->V, "height", info->H, "width", info->W, "actions",
                     info->A, "objects", info->O, "time_step", json_finite(info->time_step), "even_time",
                     info->even_time, "moving_cameras", info->moving_cameras, "mask", info->has_mask, "bounds",
                     info->bounds != NULL, "depth_is_u16", info->depth_is_u16, "heldout_views", held, "properties",
                     properties);
}

static json_t *dataset_json(const Dataset *dataset) {
    const DatasetInfo *info = dataset_info(dataset);
    json_t *episodes = json_array();
    for (int i = 0; i < info->episode_count; i++)
        json_array_append_new(episodes, episode_json(dataset_episode(dataset, i)));
    return json_pack("{s:s s:s s:s s:s s:s s:[i,i] s:s s:i s:{s:i s:i s:i} s:o}", "path", info->path, "name",
                     info->name, "generator", info->generator, "created", info->created, "licence", info->licence,
                     "format_version", (int)info->version_major, (int)info->version_minor, "missing_depth",
                     info->missing_depth == MISSING_SKY ? "sky" : "unknown", "files", info->file_count, "splits",
                     "train", info->split_count[SPLIT_TRAIN], "val", info->split_count[SPLIT_VAL], "test",
                     info->split_count[SPLIT_TEST], "episodes", episodes);
}

// All frames of all episodes, in runs of a few.
typedef struct ReadAll {
    const Dataset *dataset;
    int episode, frame;
} ReadAll;

static bool next_run(void *owner, uint64_t index, FrameRequest *request) {
    ReadAll *all = owner;
    (void)index;
    if (all->episode >= dataset_episode_count(all->dataset)) return false;
    int left = dataset_episode(all->dataset, all->episode)->F - all->frame;
    request->episode = all->episode;
    request->first = all->frame;
    request->count = left < FRAMES_AT_ONCE ? left : FRAMES_AT_ONCE;
    all->frame += request->count;
    if (left > FRAMES_AT_ONCE) return true;
    all->episode++;
    all->frame = 0;
    return true;
}

static Status measure_speed(const Dataset *dataset, int threads, Error *err) {
    ReadAll all = {.dataset = dataset};
    Loader *loader;
    const Frames *frames = NULL;
    double images = 0, bytes = 0, started = clock_now();
    LoaderOptions options = {
        .threads = threads < LOADER_THREADS_MAX ? threads : LOADER_THREADS_MAX, .source = next_run, .owner = &all};
    Status status = loader_open(dataset, options, &loader, err);
    if (status) return status;
    do {
        status = loader_next(loader, &frames, err);
        double count = frames ? (double)frames->F * frames->V : 0;
        images += count;
        bytes +=
            frames ? count * frames->H * frames->W * (3 + sizeof(float) + (frames->mask ? sizeof(uint16_t) : 0)) : 0;
    } while (!status && frames);
    double seconds = clock_now() - started;
    loader_close(loader);
    if (!status)
        printf("\n%.0f images in %.2f s with %d threads: %.0f images/s, %.0f MB/s of pixels\n", images, seconds,
               options.threads, images / seconds, 1e-6 * bytes / seconds);
    return status;
}

static Status run_info(const CommandLine *line, Error *err) {
    Dataset *dataset;
    Status status = dataset_open(command_argument(line, 0), &dataset, err);
    if (status) return status;
    if (command_has(line, "json")) status = json_write_line(stdout, dataset_json(dataset), err);
    else print_table(dataset);
    if (!status && command_has(line, "speed") && !command_has(line, "json"))
        status = measure_speed(dataset, line->threads, err);
    dataset_close(dataset);
    return status;
}

const Command command_data_info = {
    .name = "data info",
    .summary = "show what a data set holds",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "FILE is a vpd-dataset, or a folder of such files. F frames, V views, O objects with known positions.",
    .run = run_info,
};
