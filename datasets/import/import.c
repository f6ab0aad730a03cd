// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/import.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/progress.h"
#include "base/version.h"
#include "datasets/dataset_private.h"
#include "datasets/h5.h"
#include "datasets/import/formats.h"
#include "datasets/import/job.h"
#include "datasets/import/listing.h"
#include "datasets/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// More specific layouts come first.
const Importer *const importers[] = {&import_hololens,
                                     &import_apc,
                                     &import_transforms,
                                     &import_kubric,
                                     &import_tum,
                                     &import_scannet,
                                     &import_bop,
                                     &import_open3d,
                                     &import_colmap,
                                     &import_pgnd,
                                     &import_phystwin,
                                     &import_robot,
                                     NULL};

static void free_episode(ImportJob *job) {
    free(job->views);
    free(job->K);
    free(job->poses);
    free(job->heldout);
    free(job->pictures);
    job->views = NULL;
    job->K = job->poses = NULL;
    job->heldout = NULL;
    job->pictures = NULL;
}

static void job_free(ImportJob *job) {
    posed_set_free(&job->set);
    free_episode(job);
}

static void choose_heldout(ImportJob *job) {
    const ImportOptions *options = job->options;
    for (int v = 0; options->holdout && v < job->info.V; v++)
        if ((job->first + v) % options->holdout == options->holdout_first) job->heldout[job->info.heldout_count++] = v;
}

// The pictures of views first .. first + V - 1, in the order of frames and views.
static Status gather(ImportJob *job, Error *err) {
    PosedSet *set = &job->set;
    EpisodeInfo *info = &job->info;
    size_t V = (size_t)info->V, cells = (size_t)set->F * V;
    job->views = calloc(V, sizeof *job->views);
    job->K = calloc(9 * V, sizeof *job->K);
    job->poses = calloc(16 * cells, sizeof *job->poses);
    job->heldout = calloc(V, sizeof *job->heldout);
    job->pictures = calloc(cells, sizeof(const PosedImage *));
    if (!job->views || !job->K || !job->poses || !job->heldout || !job->pictures)
        return error_set(err, STATUS_FAILED, "%s: no memory to import it", job->path);
    for (size_t i = 0; i < set->count; i++) {
        const PosedImage *image = &set->images[i];
        CHECK(image->view >= 0 && image->view < set->V && image->frame >= 0 && image->frame < set->F);
        int view = image->view - job->first;
        if (view < 0 || view >= info->V) continue;
        size_t cell = (size_t)image->frame * V + (size_t)view;
        memcpy(job->poses + 16 * cell, image->world_from_camera, 16 * sizeof(double));
        job->pictures[cell] = image;
    }
    for (size_t i = 0; i < cells; i++) {
        if (!job->pictures[i])
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected a picture of every view in every frame, found none of view %zu in frame %zu",
                             job->path, i % V + (size_t)job->first, i / V);
    }
    choose_heldout(job);
    if (info->heldout_count == info->V)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at least 2 views to hold some of them out, found %d",
                         job->path, info->V);
    return STATUS_OK;
}

// The intrinsics of a view are those of its first picture, scaled to the episode's size, without distortion.
static void choose_grids(ImportJob *job) {
    for (int v = 0; v < job->info.V; v++) {
        const Lens *lens = &job->pictures[v]->lens;
        View *view = &job->views[v];
        view->H = job->info.H;
        view->W = job->info.W;
        camera_resize_intrinsics(lens->K, lens->H, lens->W, view->H, view->W, view->K);
        memcpy(job->K + 9 * v, view->K, sizeof view->K);
    }
}

static bool cameras_move(const ImportJob *job) {
    size_t V = (size_t)job->info.V;
    for (size_t i = 16 * V; i < 16 * V * (size_t)job->set.F; i++) {
        if (job->poses[i] != job->poses[i % (16 * V)]) return true;
    }
    return false;
}

static void describe(ImportJob *job) {
    EpisodeInfo *info = &job->info;
    const PosedSet *set = &job->set;
    info->split = job->options->split;
    info->source = set->source;
    info->scene = set->scene;
    info->F = set->F;
    info->O = set->object_position ? set->O : 0;
    info->A = set->actions ? set->A : 0;
    info->moving_cameras = cameras_move(job);
    info->has_mask = job->pictures[0]->mask != NULL;
    info->depth_is_u16 = !job->is_f32;
    info->depth_scale = job->is_f32 ? 1 : set->depth_scale;
    info->intrinsics = job->K;
    info->world_from_camera = job->poses;
    info->time = set->time ? set->time : &job->still;
    info->heldout_views = job->heldout;
    info->bounds = job->options->has_bounds ? job->options->bounds : NULL;
    info->object_position = set->object_position;
    info->object_quaternion = set->object_quaternion;
    info->actions = set->actions;
}

// Decodes, resamples and compresses one picture, on any thread.
static Status prepare(const ImportJob *job, size_t cell, PackedImage *out, ImportKept *kept, Error *err) {
    const PosedImage *image = job->pictures[cell];
    const View *view = &job->views[cell % (size_t)job->info.V];
    Image colour = {0}, depth = {0}, mask = {0};
    Status status = picture_colour(&job->set, image, view, &colour, err);
    if (!status) status = picture_depth(&job->set, image, view, job->is_f32, &depth, err);
    if (!status && job->info.has_mask) {
        if (image->mask) status = picture_mask(&job->set, image, view, &mask, err);
        else status = error_set(err, STATUS_BAD_INPUT, "%s: expected a mask for every picture", image->colour);
    }
    status = job_advise_skip(job, status, err);
    if (!status) status = dataset_writer_pack(job->writer, colour.pixels, depth.pixels, mask.pixels, out, err);
    if (!status) kept_add(kept, &job->info, cell, &depth);
    image_free(&colour);
    image_free(&depth);
    image_free(&mask);
    return status;
}

// All threads prepare pictures; they are written in order. The first error in that order is returned.
static Status write_images(ImportJob *job, Progress *progress, Error *err) {
    size_t V = (size_t)job->info.V, cells = (size_t)job->info.F * V;
    Status status = STATUS_OK;
#pragma omp parallel for ordered schedule(dynamic, 1)
    for (size_t i = 0; i < cells; i++) {
        PackedImage packed = {0};
        ImportKept kept = {0};
        Error own = {0};
        Status here, before;
#pragma omp atomic read
        before = status;
        here = before ? before : prepare(job, i, &packed, &kept, &own);
#pragma omp ordered
        {
            if (!status) {
                if (here && err) *err = own;
                kept_merge(&job->kept, &kept);
                if (!here) here = dataset_writer_put_packed(job->writer, (int)(i / V), (int)(i % V), &packed, err);
#pragma omp atomic write
                status = here;
                progress_update(progress, ++job->written, NULL);
            }
        }
        packed_image_free(&packed);
    }
    return status;
}

// Writes the views [first, first + count) as one episode.
static Status write_episode(ImportJob *job, int first, int count, Progress *progress, Error *err) {
    job->first = first;
    job->info.V = count;
    job->info.heldout_count = 0;
    Status status = gather(job, err);
    if (status) return status;
    choose_grids(job);
    describe(job);
    status = dataset_writer_begin_episode(job->writer, &job->info, err);
    if (!status) status = write_images(job, progress, err);
    if (!status) status = dataset_writer_end_episode(job->writer, err);
    return status;
}

// One episode of all views, or one for each window of consecutive ones; remaining views join the last window.
static Status write_windows(ImportJob *job, Error *err) {
    int V = job->set.V, window = job->options->window;
    int count = window && window < V ? V / window : 1;
    Status status = STATUS_OK;
    Progress progress;
    if (window && job->set.F > 1)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a still scene for --window, found %d frames", job->path,
                         job->set.F);
    progress_start(&progress, job->log, "import", "pictures", 0, job->set.count);
    for (int i = 0; i < count && !status; i++) {
        free_episode(job);
        status = write_episode(job, i * window, i + 1 < count ? window : V - i * window, &progress, err);
    }
    return status;
}

// The folder's own name, without slashes at its end.
static void folder_name(const char *folder, char *out, size_t size) {
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/') begin--;
    snprintf(out, size, "%.*s", (int)(end - begin), folder + begin);
}

static int count_episodes(const Importer *importer, const char *path) {
    if (importer->count) return importer->count(path);
    return importer->in_folders ? find_episode(path, importer->is_episode, -1, NULL) : importer->is_episode(path);
}

static Status import_episode(ImportJob *job, const Importer *importer, int episode, Error *err) {
    char folder[FILE_PATH_SIZE] = "";
    ImportSource source = {job->path, episode, job->options, job->log};
    job->info = (EpisodeInfo){0};
    job->written = 0;
    job->set = (PosedSet){.depth_scale = 1, .far = INFINITY};
    if (importer->in_folders) {
        find_episode(job->path, importer->is_episode, episode, folder);
        folder_name(folder, job->set.scene, sizeof job->set.scene);
        source.path = folder;
    }
    Status status = importer->run(&source, &job->set, err);
    if (!status) status = job_complete(job, err);
    job->kept.left_out.moments += job->set.moments_left_out;
    job->kept.left_out.pictures += job->set.pictures_left_out;
    return status ? status : write_windows(job, err);
}

// An error where folders of `path` are recordings that are imported one by one; all is well where none is.
static Status refuse_folders(const char *path, const char *format, Error *err) {
    char first[FILE_PATH_SIZE];
    for (const Importer *const *i = importers; *i; i++) {
        bool alone = (*i)->is_episode && !(*i)->in_folders && (!format || strcmp(format, (*i)->name) == 0);
        int count = alone ? find_episode(path, (*i)->is_episode, 0, first) : 0;
        if (count == 0) continue;
        const char *others = count > 1 ? ", and the others, then put all together with \"vpd data convert A.h5 B.h5 .. "
                                         "-o OUT.h5\""
                                       : "";
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected one recording, found %d in folders of it, in the layout of %s; import %s%s",
                         path, count, (*i)->name, first, others);
    }
    return STATUS_OK;
}

static Status refuse_data_set(const char *path, Error *err) {
    char format[64];
    Error unsaid = {0}; // of files that are none
    if (file_is_folder(path) || h5_read_format(path, format, sizeof format, &unsaid)) return STATUS_OK;
    if (strcmp(format, "vpd-dataset") != 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected a recording, found a data set, which needs no import; \"vpd data convert\" crops, "
                     "resizes and merges data sets",
                     path);
}

static Status find_importer(const char *path, const char *format, const Importer **out, Error *err) {
    char known[900] = "";
    for (const Importer *const *i = importers; *i; i++) {
        size_t used = strlen(known);
        bool wanted = format ? strcmp(format, (*i)->name) == 0 : count_episodes(*i, path) > 0;
        if (wanted) *out = *i;
        if (wanted && count_episodes(*i, path) > 0) return STATUS_OK;
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", (*i)->name);
        if (wanted && refuse_folders(path, format, err)) return STATUS_BAD_INPUT;
        if (wanted)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected the layout of %s: %s", path, (*i)->name,
                             (*i)->layout);
    }
    if (format) return error_set(err, STATUS_BAD_INPUT, "--format: expected one of %s, found \"%.50s\"", known, format);
    if (refuse_folders(path, NULL, err) || refuse_data_set(path, err)) return STATUS_BAD_INPUT;
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s: expected a recording in one of these layouts, found %s: %s; \"vpd data import --help\" describes them",
        path, file_is_folder(path) ? "none of them" : file_kind(path), known);
}

Status dataset_import_count(const char *path, const ImportOptions *options, int *count, Error *err) {
    const Importer *importer = NULL;
    Status status = find_importer(path, options->format, &importer, err);
    *count = status ? 0 : count_episodes(importer, path);
    return status;
}

// What all processes keep; also the place where each learns that the others have come this far.
static Status join_kept(ImportKept *kept, const ImportPart *part, Error *err) {
    ImportKept *all = calloc((size_t)part->processes, sizeof *all);
    if (!all) return error_set(err, STATUS_FAILED, "no memory for %d processes", part->processes);
    Status status = part->gather(part->owner, kept, sizeof *kept, all, err);
    *kept = (ImportKept){0};
    for (int i = 0; !status && i < part->processes; i++) kept_merge(kept, &all[i]);
    free(all);
    return status;
}

Status dataset_import(const char *path, const ImportOptions *options, const char *target, const Log *log, Error *err) {
    const Importer *importer = NULL;
    char name[128], generator[64];
    ImportJob job = {.options = options, .path = path, .log = log};
    Status status = find_importer(path, options->format, &importer, err);
    if (status) return status;
    folder_name(path, name, sizeof name);
    snprintf(generator, sizeof generator, "vpd %s data import %s", version_number(), importer->name);
    WriterOptions writing = {
        .name = options->name ? options->name : name, .generator = generator, .deflate_level = options->level};
    status = dataset_writer_open(target, &writing, &job.writer, err);
    const ImportPart all = {.end = status ? 0 : count_episodes(importer, path)},
                     *part = options->part ? options->part : &all;
    for (int i = part->first; !status && i < part->end; i++) {
        status = import_episode(&job, importer, i, err);
        job_free(&job);
    }
    if (!status && options->part) status = join_kept(&job.kept, part, err);
    if (!status) status = kept_check(&job.kept, options, path, err);
    if (options->left_out) *options->left_out = job.kept.left_out;
    if (!status) return dataset_writer_finish(job.writer, err);
    dataset_writer_discard(job.writer);
    return status;
}
