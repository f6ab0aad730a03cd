// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_data.h"

#include "datasets/h5.h"
#include "files/rollout_file.h"
#include "lab/fit_pictures.h"
#include "lab/footage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fit_data_close(FitData *data) {
    free(data->position);
    free(data->centre);
    fit_pictures_close(data->pictures);
    *data = (FitData){0};
}

// From the axes of files, whose z is up, to the scene's; the inverse of scene_turn.
static void turn_back(const SimScene *scene, double x[3]) {
    const double turned[3] = {x[0], x[2], -x[1]};
    if (scene->y_up) memcpy(x, turned, sizeof turned);
}

// ---- checks

#define UNEVEN 1e-2      // of the time between two frames: how far one may be from its place
#define MILLISECOND 1e-3 // to which some recordings round their times

// Whether frames come `step` seconds apart, or would but for rounding to milliseconds, up, down or to the nearest: then
// all of them are moved by less than one of another. *frame: the first that does not.
static bool are_even(const double *time, size_t frames, double step, size_t *frame) {
    double least = 0, most = 0;
    bool rounded = true, even = true;
    for (size_t f = 0; f < frames; f++) {
        const double off = time[f] - time[0] - (double)f * step;
        rounded = rounded && fabs(time[f] / MILLISECOND - round(time[f] / MILLISECOND)) < 1e-3;
        if (even && fabs(off) > UNEVEN * step) even = false, *frame = f;
        least = fmin(least, off);
        most = fmax(most, off);
    }
    return even || (rounded && most - least < 0.999999 * MILLISECOND);
}

static Status check_kinds(const FitData *data, uint32_t has, const char *why, Error *err) {
    for (int i = 0; i < FIT_KINDS; i++)
        if (data->kinds & ~has & (1u << i))
            return error_set(err, STATUS_BAD_INPUT, "%s: cannot compare %s: %s", data->source, fit_kinds[i], why);
    return STATUS_OK;
}

// The error for a frame that comes at another time than the scene's: the recording's own frames per second, if its
// frames are even.
static Status wrong_time(const FitData *data, const double *time, size_t f, Error *err) {
    double least = INFINITY, most = 0, squares = 0, products = 0;
    size_t uneven;
    for (size_t i = 1; i < data->frames; i++) {
        least = fmin(least, time[i] - time[i - 1]);
        most = fmax(most, time[i] - time[i - 1]);
        squares += (double)i * (double)i;
        products += (double)i * (time[i] - time[0]);
    }
    const double step = products / squares;
    if (!(step > 0) || !are_even(time, data->frames, step, &uneven))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: times are uneven, %.6g to %.6g s from frame to frame: resample it to even ones",
                         data->source, least, most);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: frame %zu comes %.6g s after the first, and the scene's %.6g s: say \"fps: %.6g\"",
                     data->source, f, time[f] - time[0], (double)f * data->scene->frame_time, 1 / step);
}

// Frames must come when the scene's do; the shorter of both is compared.
static Status check_times(FitData *data, const double *time, size_t frames, Error *err) {
    const SimScene *scene = data->scene;
    size_t wrong;
    data->frames = frames < (size_t)scene->frames + 1 ? frames : (size_t)scene->frames + 1;
    if (data->frames < 2)
        return error_set(err, STATUS_BAD_INPUT, "%s: has one frame, and a fit needs motion", data->source);
    if (are_even(time, data->frames, scene->frame_time, &wrong)) return STATUS_OK;
    return wrong_time(data, time, wrong, err);
}

// ---- states

static Status copy_positions(FitData *data, const double *from, Error *err) {
    const size_t bytes = data->frames * 3 * data->scene->model.particles * sizeof *from;
    data->position = malloc(bytes);
    if (!data->position) return error_no_memory(err, "a fit to %s", data->source);
    memcpy(data->position, from, bytes);
    return STATUS_OK;
}

static Status take_positions(FitData *data, const double *from, size_t count, Error *err) {
    const SimScene *scene = data->scene;
    const size_t N = scene->model.particles;
    if (count != N)
        return error_set(err, STATUS_BAD_INPUT, "%s: has %zu particles, and %s %zu: expected the same ones",
                         data->source, count, scene->path, N);
    Status status = copy_positions(data, from, err);
    for (size_t i = 0; i < data->frames * N && status == STATUS_OK; i++) turn_back(scene, data->position + 3 * i);
    return status;
}

static Status take_centres(FitData *data, const EpisodeInfo *info, Error *err) {
    const SimScene *scene = data->scene;
    const size_t O = scene->object_count;
    if ((size_t)info->O != O)
        return error_set(err, STATUS_BAD_INPUT, "%s: has %d objects, and %s %zu: expected the same ones in this order",
                         data->source, info->O, scene->path, O);
    data->centre = malloc(data->frames * 3 * O * sizeof *data->centre);
    if (!data->centre) return error_no_memory(err, "a fit to %s", data->source);
    memcpy(data->centre, info->object_position, data->frames * 3 * O * sizeof *data->centre);
    for (size_t i = 0; i < data->frames * O; i++) turn_back(scene, data->centre + 3 * i);
    return STATUS_OK;
}

// Of several kinds each counts by what is a usual error of it.
static void choose_sizes(FitData *data) {
    static const double usual[FIT_KINDS] = {0.01, 0.02, 0.01, 0.1}; // m, colour, m, alpha
    const bool one = (data->kinds & (data->kinds - 1)) == 0;
    data->usual = 1;
    for (int k = 0; k < FIT_KINDS; k++) {
        data->size[k] = one ? 1 : usual[k];
        if (one && data->kinds & (1u << k)) data->usual = usual[k];
    }
}

Status fit_data_open_rollout(const char *path, uint32_t kinds, const SimScene *scene, FitData *out, Error *err) {
    RolloutFile file = {0};
    double *all = NULL;
    *out = (FitData){.scene = scene, .kinds = kinds ? kinds : FIT_STATES};
    snprintf(out->source, sizeof out->source, "%s", path);
    choose_sizes(out);
    Status status = check_kinds(out, FIT_STATES, "a rollout file has no pictures", err);
    if (status == STATUS_OK) status = rollout_file_read(path, &file, err);
    const size_t N = status == STATUS_OK ? file.sets[0].N : 0;
    if (status == STATUS_OK) status = check_times(out, file.time, file.steps + 1, err);
    if (status == STATUS_OK && !(all = malloc(out->frames * 3 * N * sizeof *all)))
        status = error_no_memory(err, "a fit to %s", out->source);
    for (size_t i = 0; status == STATUS_OK && i < out->frames * 3 * N; i++)
        all[i] = (double)(i < 3 * N ? file.sets[0].positions[i] : file.positions[i - 3 * N]);
    if (status == STATUS_OK) status = take_positions(out, all, N, err);
    rollout_file_free(&file);
    free(all);
    if (status != STATUS_OK) fit_data_close(out);
    return status;
}

Status fit_data_open_states(const double *position, size_t frames, const SimScene *scene, FitData *out, Error *err) {
    const size_t N = scene->model.particles, most = (size_t)scene->frames + 1;
    *out = (FitData){.scene = scene, .kinds = FIT_STATES, .frames = frames < most ? frames : most};
    snprintf(out->source, sizeof out->source, "%zu frames of states", frames);
    choose_sizes(out);
    if (out->frames < 2)
        return error_set(err, STATUS_BAD_INPUT, "states: found %zu frames, and a fit needs two or more", frames);
    for (size_t i = 0; i < out->frames * 3 * N; i++)
        if (!isfinite(position[i]))
            return error_set(err, STATUS_BAD_INPUT, "states: the position of particle %zu in frame %zu is not finite",
                             i / 3 % N, i / 3 / N);
    return copy_positions(out, position, err);
}

Status fit_data_record(SimScene *scene, uint32_t kind, int threads, FitData *out, Error *err) {
    Footage footage;
    *out = (FitData){.scene = scene};
    const SimPrecision own = scene->precision;
    scene->precision = SIM_F64;
    Status status = footage_run(scene, &(SimOptions){.threads = threads}, &footage, err);
    scene->precision = own;
    if (status != STATUS_OK) return status;
    if (kind == FIT_COLOUR) {
        *out = (FitData){.scene = scene, .kinds = kind, .frames = footage.frames};
        snprintf(out->source, sizeof out->source, "%zu frames of pictures", footage.frames);
        choose_sizes(out);
        status = fit_pictures_record(scene, footage.position, footage.frames, threads, &out->pictures, err);
    } else status = fit_data_open_states(footage.position, footage.frames, scene, out, err);
    footage_free(&footage);
    if (status != STATUS_OK) fit_data_close(out);
    return status;
}

static Status open_states(const Dataset *dataset, int episode, FitData *data, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    double *vertices = NULL;
    size_t count;
    Status status = dataset_read_vertices(dataset, episode, &vertices, &count, err);
    if (status == STATUS_OK && !data->kinds) data->kinds = vertices || info->O ? FIT_STATES : FIT_COLOUR;
    if (status == STATUS_OK)
        status = check_kinds(data, ~(uint32_t)FIT_STATES | (vertices || info->O ? FIT_STATES : 0),
                             "the data set has neither state/vertices nor state/object_position", err);
    if (status == STATUS_OK && data->kinds & FIT_STATES)
        status = vertices ? take_positions(data, vertices, count, err) : take_centres(data, info, err);
    free(vertices);
    return status;
}

Status fit_data_open(const Dataset *dataset, int episode, uint32_t kinds, const SimScene *scene, bool smooth,
                     int threads, FitData *out, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    *out = (FitData){.scene = scene, .kinds = kinds};
    snprintf(out->source, sizeof out->source, "%s, episode %s", dataset_info(dataset)->path, info->name);
    Status status = check_times(out, info->time, (size_t)info->F, err);
    if (status == STATUS_OK) status = open_states(dataset, episode, out, err);
    if (status == STATUS_OK)
        status =
            check_kinds(out, ~(uint32_t)FIT_MASK | (info->has_mask ? FIT_MASK : 0), "the data set has no masks", err);
    choose_sizes(out);
    if (status == STATUS_OK && out->kinds & ~(uint32_t)FIT_STATES)
        status = fit_pictures_open(dataset, episode, out->frames, out->kinds, out->size, scene, smooth, threads,
                                   &out->pictures, err);
    if (status != STATUS_OK) fit_data_close(out);
    return status;
}

Status fit_data_open_file(const FitFile *file, const SimScene *scene, Dataset **dataset, int *episode, FitData *out,
                          Error *err) {
    char format[64] = "";
    Error ignored;
    *dataset = NULL;
    *episode = 0;
    h5_read_format(file->path, format, sizeof format, &ignored);
    const bool rollout = !strcmp(format, "vpd-rollout");
    if (rollout && file->episode)
        return error_set(err, STATUS_BAD_INPUT, "episode: needs a data set, and %s is a rollout file", file->path);
    if (rollout) return fit_data_open_rollout(file->path, file->kinds, scene, out, err);
    Status status = dataset_open(file->path, dataset, err);
    if (status == STATUS_OK && file->episode) status = dataset_find_episode(*dataset, file->episode, episode, err);
    if (status != STATUS_OK) return status;
    return fit_data_open(*dataset, *episode, file->kinds, scene, file->smooth, file->threads, out, err);
}

void fit_data_blur(FitData *data, double pixels) {
    if (data->pictures) fit_pictures_blur(data->pictures, pixels);
}

// ---- residuals

static void compare_positions(const FitData *data, const FitFrame *in, MinimiseSums *sums) {
    const size_t N = data->scene->model.particles;
    const double scale = 1 / data->size[0], *y = data->position + in->frame * 3 * N;
    double J[FIT_VARIABLES_MAX];
    for (size_t i = 0; i < 3 * N; i++) {
        const double r = scale * in->position[i] - scale * y[i];
        for (size_t p = 0; p < in->variables && in->along; p++) J[p] = scale * in->along[p * 3 * N + i];
        if (in->slope) in->slope[i] += r * scale;
        minimise_add_rows(sums, in->along ? in->variables : 0, 1, &r, J);
    }
}

// Coordinate c of an object's centre of mass against y. Where masses are free, they move it too.
static void compare_centre(const FitData *data, const FitFrame *in, const SceneObject *object, size_t c, double y,
                           MinimiseSums *sums) {
    const size_t N = data->scene->model.particles, first = object->particle, end = first + object->particles;
    double total = 0, centre = 0, J[FIT_VARIABLES_MAX];
    for (size_t i = first; i < end; i++) {
        total += in->mass[i];
        centre += in->mass[i] * in->position[3 * i + c];
    }
    centre /= total;
    const double r = (centre - y) / data->size[0], scale = 1 / total / data->size[0];
    for (size_t p = 0; p < in->variables && in->along; p++) {
        const double *along = in->along + p * 3 * N, *mass_along = in->mass_along + p * N;
        J[p] = 0;
        for (size_t i = first; i < end; i++)
            J[p] += scale * (in->mass[i] * along[3 * i + c] + mass_along[i] * (in->position[3 * i + c] - centre));
    }
    for (size_t i = first; i < end && in->slope; i++) {
        in->slope[3 * i + c] += r * scale * in->mass[i];
        in->mass_slope[i] += r * scale * (in->position[3 * i + c] - centre);
    }
    minimise_add_rows(sums, in->along ? in->variables : 0, 1, &r, J);
}

static void compare_centres(const FitData *data, const FitFrame *in, MinimiseSums *sums) {
    const SimScene *scene = data->scene;
    const double *y = data->centre + in->frame * 3 * scene->object_count;
    for (size_t i = 0; i < 3 * scene->object_count; i++)
        compare_centre(data, in, scene->objects + i / 3, i % 3, y[i], sums);
}

Status fit_data_compare(FitData *data, const FitFrame *in, MinimiseSums *sums, Error *err) {
    if (data->position) compare_positions(data, in, sums);
    if (data->centre) compare_centres(data, in, sums);
    return data->pictures ? fit_pictures_compare(data->pictures, in, sums, err) : STATUS_OK;
}
