// SPDX-License-Identifier: Apache-2.0
#include "datasets/import.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/file.h"
#include "base/image.h"
#include "base/progress.h"
#include "base/version.h"
#include "datasets/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 65535 };

const Importer *const importers[] = {&import_hololens, &import_apc, NULL};

Status posed_set_add(PosedSet *set, const PosedImage *image, Error *err) {
    bool good = image->colour && image->depth;
    if (good && set->count == set->capacity) {
        size_t capacity = 2 * set->capacity + 16;
        PosedImage *grown = realloc(set->images, capacity * sizeof *grown);
        if (grown) {
            set->images = grown;
            set->capacity = capacity;
        }
        good = grown != NULL;
    }
    if (good) {
        set->images[set->count++] = *image;
        return STATUS_OK;
    }
    free(image->colour);
    free(image->depth);
    return error_set(err, STATUS_FAILED, "no memory for %zu pictures", set->count + 1);
}

void posed_set_free(PosedSet *set) {
    for (size_t i = 0; i < set->count; i++) {
        free(set->images[i].colour);
        free(set->images[i].depth);
    }
    free(set->images);
    free(set->time);
    *set = (PosedSet){0};
}

// Keeps every Nth picture of a static scene; time series are thinned by frames.
static void thin(PosedSet *set, int every) {
    bool still = set->F == 1;
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        PosedImage *image = &set->images[i];
        int number = still ? image->view : image->frame;
        if (number % every) {
            free(image->colour);
            free(image->depth);
            continue;
        }
        if (still) image->view /= every;
        else image->frame /= every;
        set->images[kept++] = *image;
    }
    for (int f = 0; set->time && f < set->F; f += every) set->time[f / every] = set->time[f];
    if (still) set->V = (set->V - 1) / every + 1;
    else set->F = (set->F - 1) / every + 1;
    set->count = kept;
}

typedef struct Job {
    const ImportOptions *options;
    const char *folder;
    const Log *log;
    DatasetWriter *writer;
    PosedSet set;
    int first; // of the views that go into the episode: those from here on, info.V of them
    EpisodeInfo info;
    double *K, *poses, still; // (V,3,3), (F,V,4,4); the one time of a still scene
    int *heldout;
    uint8_t *seen;  // (F,V) each image once
    size_t written; // pictures so far
    bool is_f32;
} Job;

static void job_free_episode(Job *job) {
    free(job->K);
    free(job->poses);
    free(job->heldout);
    free(job->seen);
    job->K = job->poses = NULL;
    job->heldout = NULL;
    job->seen = NULL;
}

static void job_free(Job *job) {
    posed_set_free(&job->set);
    job_free_episode(job);
}

// The picture's view within the episode, -1 when it goes into another one.
static int view_of(const Job *job, const PosedImage *image) {
    int view = image->view - job->first;
    return view < job->info.V ? view : -1;
}

// The first pictures fix the size and the kind of depth.
static Status look_at_first(Job *job, Error *err) {
    Image colour = {0}, depth = {0};
    Status status = image_read(job->set.images[0].colour, &colour, err);
    if (!status) status = image_read(job->set.images[0].depth, &depth, err);
    job->info.H = job->options->H ? job->options->H : colour.H;
    job->info.W = job->options->W ? job->options->W : colour.W;
    job->is_f32 = depth.type == PIXEL_F32;
    image_free(&colour);
    image_free(&depth);
    return status;
}

static void choose_heldout(Job *job) {
    const ImportOptions *options = job->options;
    for (int v = 0; options->holdout && v < job->info.V; v++)
        if ((job->first + v) % options->holdout == options->holdout_first) job->heldout[job->info.heldout_count++] = v;
}

static Status gather(Job *job, Error *err) {
    PosedSet *set = &job->set;
    EpisodeInfo *info = &job->info;
    size_t V = (size_t)info->V, cells = (size_t)set->F * V;
    job->K = calloc(9 * V, sizeof *job->K);
    job->poses = calloc(16 * cells, sizeof *job->poses);
    job->heldout = calloc(V, sizeof *job->heldout);
    job->seen = calloc(cells, 1);
    if (!job->K || !job->poses || !job->heldout || !job->seen)
        return error_set(err, STATUS_FAILED, "%s: no memory to import it", job->folder);
    for (size_t i = 0; i < set->count; i++) {
        const PosedImage *image = &set->images[i];
        CHECK(image->view >= 0 && image->view < set->V && image->frame >= 0 && image->frame < set->F);
        int view = view_of(job, image);
        if (view < 0) continue;
        size_t cell = (size_t)image->frame * V + (size_t)view;
        memcpy(job->poses + 16 * cell, image->world_from_camera, 16 * sizeof(double));
        job->seen[cell] = 1;
    }
    for (size_t i = 0; i < cells; i++) {
        if (!job->seen[i])
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected a picture of every view at every time, found none of view %zu at "
                             "frame %zu",
                             job->folder, i % V + (size_t)job->first, i / V);
    }
    choose_heldout(job);
    if (info->heldout_count == info->V)
        return error_set(err, STATUS_BAD_INPUT, "%s: %d views are too few to hold any out", job->folder, info->V);
    return STATUS_OK;
}

// K belongs to the picture as recorded; the episode has one size for all.
static Status take_intrinsics(Job *job, Error *err) {
    for (size_t i = 0; i < job->set.count; i++) {
        PosedImage *image = &job->set.images[i];
        int view = view_of(job, image);
        if (view < 0) continue;
        if (image->K_H == 0) {
            Image colour;
            Status status = image_read(image->colour, &colour, err);
            if (status) return status;
            image->K_H = colour.H;
            image->K_W = colour.W;
            image_free(&colour);
        }
        camera_resize_intrinsics(image->K, image->K_H, image->K_W, job->info.H, job->info.W, job->K + 9 * view);
    }
    return STATUS_OK;
}

static void describe(Job *job) {
    EpisodeInfo *info = &job->info;
    info->split = job->options->split;
    info->source = job->set.source;
    info->scene = job->set.scene;
    info->F = job->set.F;
    info->moving_cameras = job->set.F > 1;
    info->depth_is_u16 = !job->is_f32;
    info->depth_scale = job->is_f32 ? 1 : job->set.depth_scale;
    info->intrinsics = job->K;
    info->world_from_camera = job->poses;
    info->time = job->set.time ? job->set.time : &job->still;
    info->heldout_views = job->heldout;
    info->bounds = job->options->has_bounds ? job->options->bounds : NULL;
}

static uint16_t decode_u16(DepthCoding coding, uint16_t units) {
    return coding == DEPTH_ROTATED ? (uint16_t)(units << 13 | units >> 3) : units;
}

// Units to what is stored: rotation undone, out of range dropped, floats scaled to metres.
static Status decode_depth(const Job *job, const char *path, Image *depth, Error *err) {
    const PosedSet *set = &job->set;
    size_t pixels = (size_t)depth->H * (size_t)depth->W;
    if (depth->channels != 1 || depth->type != (job->is_f32 ? PIXEL_F32 : PIXEL_U16))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected one channel of %s, found %d of %d bytes", path,
                         job->is_f32 ? "float32" : "16 bit", depth->channels, (int)depth->type);
    for (size_t i = 0; i < pixels; i++) {
        double metres;
        if (job->is_f32) {
            float *value = (float *)depth->pixels + i;
            *value = (float)(*value * set->depth_scale);
            metres = *value;
            if (!(metres >= set->near && metres <= set->far && metres > 0 && isfinite(metres))) *value = 0;
        } else {
            uint16_t *value = (uint16_t *)depth->pixels + i;
            *value = decode_u16(set->coding, *value);
            metres = *value * set->depth_scale;
            if (!(metres >= set->near && metres <= set->far)) *value = 0;
        }
    }
    return STATUS_OK;
}

static Status read_colour(const Job *job, const PosedImage *image, Image *out, Error *err) {
    Image read = {0}, rgb = {0};
    Status status = image_read(image->colour, &read, err);
    if (!status) status = image_to_rgb8(&read, &rgb, err);
    if (!status && (rgb.H != job->info.H || rgb.W != job->info.W))
        status = image_resize(&rgb, job->info.H, job->info.W, out, err);
    else *out = rgb, rgb = (Image){0};
    image_free(&read);
    image_free(&rgb);
    return status;
}

static Status read_depth(const Job *job, const PosedImage *image, Image *out, Error *err) {
    Image depth = {0};
    Status status = image_read(image->depth, &depth, err);
    if (!status) status = decode_depth(job, image->depth, &depth, err);
    if (!status && (depth.H != job->info.H || depth.W != job->info.W))
        status = image_resize_depth(&depth, job->info.H, job->info.W, out, err);
    else *out = depth, depth = (Image){0};
    image_free(&depth);
    return status;
}

static Status write_images(Job *job, Progress *progress, Error *err) {
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < job->set.count; i++) {
        const PosedImage *image = &job->set.images[i];
        int view = view_of(job, image);
        if (view < 0) continue;
        Image colour = {0}, depth = {0};
        status = read_colour(job, image, &colour, err);
        if (!status) status = read_depth(job, image, &depth, err);
        if (!status)
            status = dataset_writer_put_image(job->writer, image->frame, view, colour.pixels, depth.pixels, NULL, err);
        image_free(&colour);
        image_free(&depth);
        progress_update(progress, ++job->written, NULL);
    }
    return status;
}

// The views [first, first + count) as one episode.
static Status write_episode(Job *job, int first, int count, Progress *progress, Error *err) {
    job->first = first;
    job->info.V = count;
    job->info.heldout_count = 0;
    Status status = gather(job, err);
    if (!status) status = take_intrinsics(job, err);
    if (status) return status;
    describe(job);
    status = dataset_writer_begin_episode(job->writer, &job->info, err);
    if (!status) status = write_images(job, progress, err);
    if (!status) status = dataset_writer_end_episode(job->writer, err);
    return status;
}

// One episode of all views, or one for each window of consecutive ones; what is left over joins the last window.
static Status write_windows(Job *job, Error *err) {
    int V = job->set.V, window = job->options->window;
    int count = window && window < V ? V / window : 1;
    Status status = STATUS_OK;
    Progress progress;
    if (window && job->set.F > 1)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected a still scene to cut into windows of views, found %d frames", job->folder,
                         job->set.F);
    progress_start(&progress, job->log, "import", "pictures", 0, job->set.count);
    for (int i = 0; i < count && !status; i++) {
        job_free_episode(job);
        status = write_episode(job, i * window, i + 1 < count ? window : V - i * window, &progress, err);
    }
    return status;
}

static Status import_episode(Job *job, const Importer *importer, int episode, Error *err) {
    const ImportOptions *options = job->options;
    PosedSet *set = &job->set;
    job->info = (EpisodeInfo){0};
    job->written = 0;
    Status status = importer->run(job->folder, episode, job->log, set, err);
    if (status) return status;
    if (set->count == 0 || set->V > VIEWS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected 1 to %d posed pictures, found %zu", job->folder,
                         VIEWS_MAX, set->count);
    if (options->every > 1) thin(set, options->every);
    if (!isnan(options->near)) set->near = options->near;
    if (!isnan(options->far)) set->far = options->far;
    status = look_at_first(job, err);
    return status ? status : write_windows(job, err);
}

static Status find_importer(const char *folder, const char *format, const Importer **out, Error *err) {
    char known[512] = "";
    for (const Importer *const *i = importers; *i; i++) {
        size_t used = strlen(known);
        bool wanted = format ? strcmp(format, (*i)->name) == 0 : (*i)->detect(folder);
        if (wanted) *out = *i;
        if (wanted && (*i)->detect(folder)) return STATUS_OK;
        snprintf(known + used, sizeof known - used, "%s%s (%s)", used ? ", " : "", (*i)->name, (*i)->layout);
        if (wanted)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected the layout of %s: %s", folder, (*i)->name,
                             (*i)->layout);
    }
    if (format) return error_set(err, STATUS_BAD_INPUT, "--format: expected one of %s, found \"%.50s\"", known, format);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected a folder in one of these layouts, found none of them: %s",
                     folder, known);
}

// The folder's own name, without slashes at its end.
static void folder_name(const char *folder, char *out, size_t size) {
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/') begin--;
    snprintf(out, size, "%.*s", (int)(end - begin), folder + begin);
}

Status dataset_import(const char *folder, const ImportOptions *options, const char *path, const Log *log, Error *err) {
    const Importer *importer = NULL;
    char name[128], generator[64];
    Job job = {.options = options, .folder = folder, .log = log};
    Status status = find_importer(folder, options->format, &importer, err);
    if (status) return status;
    folder_name(folder, name, sizeof name);
    snprintf(generator, sizeof generator, "vpd %s data import %s", version_number(), importer->name);
    WriterOptions writing = {.name = options->name ? options->name : name, .generator = generator};
    status = dataset_writer_open(path, &writing, &job.writer, err);
    int count = importer->count(folder);
    for (int i = 0; !status && i < count; i++) {
        status = import_episode(&job, importer, i, err);
        job_free(&job);
    }
    if (!status) return dataset_writer_finish(job.writer, err);
    dataset_writer_discard(job.writer);
    return status;
}
