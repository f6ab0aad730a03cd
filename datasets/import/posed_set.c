// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/posed_set.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void posed_image_free(PosedImage *image) {
    free(image->colour);
    free(image->depth);
    free(image->mask);
    image->colour = image->depth = image->mask = NULL;
}

Status posed_set_add(PosedSet *set, PosedImage *image, Error *err) {
    bool good = set->read || (image->colour && image->depth);
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
    posed_image_free(image);
    return error_set(err, STATUS_FAILED, "no memory for %zu pictures", set->count + 1);
}

void posed_set_free(PosedSet *set) {
    for (size_t i = 0; i < set->count; i++) posed_image_free(&set->images[i]);
    free(set->images);
    free(set->time);
    free(set->object_position);
    free(set->object_quaternion);
    free(set->actions);
    if (set->close) set->close(set->owner);
    *set = (PosedSet){0};
}

Status posed_path(const char *folder, const char *name, char **out, Error *err) {
    char path[FILE_PATH_SIZE];
    Status status = file_resolve_beneath(path, folder, name, err);
    // A missing picture is reported when it is read.
    bool beneath = name[0] != '/' && !strstr(name, "..");
    if (status && beneath && file_join(path, sizeof path, folder, name, NULL) == STATUS_OK && !file_exists(path))
        status = STATUS_OK;
    if (status) return status;
    *out = strdup(path);
    return *out ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory", path);
}

long nearest_time(const double *times, size_t count, double time, double gap) {
    size_t low = 0, high = count;
    while (low < high) { // the first that is not earlier
        size_t middle = low + (high - low) / 2;
        if (times[middle] < time) low = middle + 1;
        else high = middle;
    }
    if (low == count || (low > 0 && time - times[low - 1] <= times[low] - time)) {
        if (low == 0) return -1;
        low--;
    }
    return fabs(times[low] - time) <= gap ? (long)low : -1;
}

static bool has_pose(const PosedImage *image) {
    for (int i = 0; i < 16; i++) {
        if (!isfinite(image->world_from_camera[i])) return false;
    }
    return true;
}

Status posed_set_drop_lost(PosedSet *set, const char *place, const Log *log, Error *err) {
    size_t kept = 0, count = set->count;
    for (size_t i = 0; i < count; i++) {
        if (has_pose(&set->images[i])) set->images[kept++] = set->images[i];
        else posed_image_free(&set->images[i]);
    }
    set->count = kept;
    set->pictures_left_out += count - kept;
    if (kept == count) return STATUS_OK;
    if (kept == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected finite poses, found none in %zu pictures", place, count);
    log_warning(log, "%s: %zu of %zu pictures have no finite pose and are left out", place, count - kept, count);
    return STATUS_OK;
}

// Copies row `from` of all arrays per frame to row `to`.
static void move_frame(PosedSet *set, size_t from, size_t to) {
    size_t O = (size_t)set->O, A = (size_t)set->A;
    if (set->time) set->time[to] = set->time[from];
    if (set->object_position)
        memmove(set->object_position + 3 * O * to, set->object_position + 3 * O * from, 3 * O * sizeof(double));
    if (set->object_quaternion)
        memmove(set->object_quaternion + 4 * O * to, set->object_quaternion + 4 * O * from, 4 * O * sizeof(double));
    if (set->actions) memmove(set->actions + A * to, set->actions + A * from, A * sizeof(float));
}

Status posed_set_keep(PosedSet *set, const bool *keep, Error *err) {
    bool still = set->F == 1;
    int groups = still ? set->V : set->F, left = 0, *numbers = malloc(((size_t)groups + 1) * sizeof *numbers);
    size_t kept = 0;
    if (!numbers) return error_set(err, STATUS_FAILED, "no memory for %d frames", groups);
    for (int g = 0; g < groups; g++) {
        numbers[g] = left;
        if (keep[g] && !still) move_frame(set, (size_t)g, (size_t)left);
        left += keep[g];
    }
    for (size_t i = 0; i < set->count; i++) {
        PosedImage *image = &set->images[i];
        int *number = still ? &image->view : &image->frame;
        if (!keep[*number]) {
            posed_image_free(image);
            continue;
        }
        *number = numbers[*number];
        set->images[kept++] = *image;
    }
    free(numbers);
    set->count = kept;
    *(still ? &set->V : &set->F) = left;
    return STATUS_OK;
}

// ---- frames out of times

static int by_view_and_time(const void *a, const void *b) {
    const PosedImage *x = a, *y = b;
    if (x->view != y->view) return x->view - y->view;
    return (x->time > y->time) - (x->time < y->time);
}

typedef struct Alignment {
    size_t *first;  // (V + 1) of each view's pictures
    double *times;  // (count) of all pictures, sorted
    size_t *chosen; // (frames, V) pictures
    int reference;
} Alignment;

static bool alignment_make(const PosedSet *set, Alignment *out) {
    size_t V = (size_t)set->V;
    out->first = calloc(V + 1, sizeof *out->first);
    out->times = calloc(set->count, sizeof *out->times);
    if (!out->first || !out->times) return false;
    for (size_t i = 0; i < set->count; i++) {
        out->first[set->images[i].view + 1]++;
        out->times[i] = set->images[i].time;
    }
    for (size_t v = 0; v < V; v++) {
        if (out->first[v + 1] < out->first[out->reference + 1]) out->reference = (int)v;
    }
    size_t moments = out->first[out->reference + 1];
    for (size_t v = 0; v < V; v++) out->first[v + 1] += out->first[v];
    out->chosen = calloc(moments * V + 1, sizeof *out->chosen);
    return out->chosen != NULL;
}

static void alignment_free(Alignment *alignment) {
    free(alignment->first);
    free(alignment->times);
    free(alignment->chosen);
}

// The pictures of all views at one moment; false when one view has none.
static bool choose_moment(const PosedSet *set, const Alignment *alignment, double time, double gap, size_t *chosen) {
    for (int v = 0; v < set->V; v++) {
        size_t first = alignment->first[v], count = alignment->first[v + 1] - first;
        long at = nearest_time(alignment->times + first, count, time, gap);
        if (at < 0) return false;
        chosen[v] = first + (size_t)at;
    }
    return true;
}

// A picture of two moments is copied with its paths.
static Status copy_image(const PosedImage *from, int frame, PosedSet *to, Error *err) {
    PosedImage image = *from;
    image.frame = frame;
    image.colour = from->colour ? strdup(from->colour) : NULL;
    image.depth = from->depth ? strdup(from->depth) : NULL;
    image.mask = from->mask ? strdup(from->mask) : NULL;
    return posed_set_add(to, &image, err);
}

// Replaces the pictures by the chosen ones.
static Status take_chosen(PosedSet *set, const Alignment *alignment, int frames, Error *err) {
    PosedSet kept = {.read = set->read};
    double *time = calloc((size_t)frames, sizeof *time);
    Status status = time ? STATUS_OK : error_set(err, STATUS_FAILED, "no memory for %d frames", frames);
    for (int f = 0; !status && f < frames; f++) {
        const size_t *chosen = alignment->chosen + (size_t)f * (size_t)set->V;
        time[f] = alignment->times[chosen[alignment->reference]];
        for (int v = 0; !status && v < set->V; v++) status = copy_image(&set->images[chosen[v]], f, &kept, err);
    }
    if (status) {
        posed_set_free(&kept);
        free(time);
        return status;
    }
    for (size_t i = 0; i < set->count; i++) posed_image_free(&set->images[i]);
    free(set->images);
    free(set->time);
    set->images = kept.images;
    set->count = kept.count;
    set->capacity = kept.capacity;
    set->F = frames;
    set->time = time;
    return STATUS_OK;
}

// Checks that times are finite and different within a view.
static Status check_times(const PosedSet *set, const char *place, Error *err) {
    for (size_t i = 0; i < set->count; i++) {
        const PosedImage *image = &set->images[i];
        if (!isfinite(image->time))
            return error_set(err, STATUS_BAD_INPUT, "%s: expected a time for every picture, found none for %s", place,
                             image->colour ? image->colour : "one of them");
        if (i > 0 && image->view == image[-1].view && image->time == image[-1].time)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected each time once in a camera, found %.9g s twice in camera %d; pictures of "
                             "several cameras need the camera's name (camera_id)",
                             place, image->time, image->view);
    }
    return STATUS_OK;
}

static size_t most_pictures(const PosedSet *set, const Alignment *alignment) {
    size_t most = 0;
    for (int v = 0; v < set->V; v++) {
        size_t count = alignment->first[v + 1] - alignment->first[v];
        most = count > most ? count : most;
    }
    return most;
}

static Status align(PosedSet *set, Alignment *alignment, double gap, const char *place, const Log *log, Error *err) {
    const double *times = alignment->times + alignment->first[alignment->reference];
    size_t moments = alignment->first[alignment->reference + 1] - alignment->first[alignment->reference];
    int frames = 0;
    if (moments == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected pictures of every camera, found none of camera %d", place,
                         alignment->reference);
    if (gap == 0 && moments > 1) gap = 0.5 * (times[moments - 1] - times[0]) / (double)(moments - 1);
    for (size_t m = 0; m < moments; m++) {
        size_t *chosen = alignment->chosen + (size_t)frames * (size_t)set->V;
        frames += choose_moment(set, alignment, times[m], gap, chosen);
    }
    if (frames == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected moments that every camera saw within %.4g s, found none; are the clocks the "
                         "same? (--gap)",
                         place, gap);
    size_t most = most_pictures(set, alignment);
    if (moments < most)
        log_note(
            log,
            "%s: camera %d has the fewest pictures, %zu where another has %zu: its moments become frames, and pictures "
            "at other times are left out",
            place, alignment->reference, moments, most);
    if ((size_t)frames < moments)
        log_warning(log, "%s: %zu of %zu moments are left out: not every camera has a picture within %.4g s", place,
                    moments - (size_t)frames, moments, gap);
    set->moments_left_out = moments - (size_t)frames;
    return take_chosen(set, alignment, frames, err);
}

Status posed_set_align(PosedSet *set, double gap, const char *place, const Log *log, Error *err) {
    Alignment alignment = {0};
    Status status = posed_set_drop_lost(set, place, log, err);
    if (set->count) qsort(set->images, set->count, sizeof *set->images, by_view_and_time);
    if (!status) status = check_times(set, place, err);
    if (!status && !alignment_make(set, &alignment))
        status = error_set(err, STATUS_FAILED, "%s: no memory to bring its pictures together", place);
    if (!status) status = align(set, &alignment, gap, place, log, err);
    alignment_free(&alignment);
    return status;
}

// ---- video or still

Status posed_set_as_video(PosedSet *set, double fps, const char *place, Error *err) {
    if (set->F > 1 || set->V == 1) return STATUS_OK;
    bool timed = true;
    for (size_t i = 0; i < set->count; i++) timed = timed && isfinite(set->images[i].time);
    if (!timed && !(fps > 0))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: --as video needs --fps N (pictures a second), since the recording has no times; if its "
                         "pictures are not evenly apart, give each its time: \"time\" of its frame in a "
                         "transforms.json, or a line of rgb.txt (layout of tum)",
                         place);
    double *time = calloc(set->count, sizeof *time);
    if (!time) return error_set(err, STATUS_FAILED, "%s: no memory to import it", place);
    for (size_t i = 0; i < set->count; i++) {
        PosedImage *image = &set->images[i];
        image->frame = image->view;
        image->view = 0;
        time[image->frame] = timed ? image->time : image->frame / fps;
    }
    free(set->time);
    set->time = time;
    set->F = (int)set->count;
    set->V = 1;
    for (int f = 1; f < set->F; f++) {
        if (!(time[f] > time[f - 1]))
            return error_set(err, STATUS_BAD_INPUT, "%s: expected increasing times, found %.9g s after %.9g s", place,
                             time[f], time[f - 1]);
    }
    return STATUS_OK;
}

Status posed_set_as_still(PosedSet *set, const char *place, Error *err) {
    if (set->F == 1) return STATUS_OK;
    if (set->V > 1)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected one moving camera for --as still, found %d cameras",
                         place, set->V);
    for (size_t i = 0; i < set->count; i++) {
        set->images[i].view = set->images[i].frame;
        set->images[i].frame = 0;
    }
    set->V = set->F;
    set->F = 1;
    free(set->time);
    set->time = NULL;
    return STATUS_OK;
}
