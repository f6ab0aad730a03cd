// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/colmap_model.h"

#include "base/file.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 12, SIDE_MAX = 100000 };
#define BINARY_MAX ((size_t)1 << 31)
#define COUNT_MAX ((size_t)1 << 22)

// The parameters of each camera model, in COLMAP's order and numbering. A model without a lens here is refused.
static const struct {
    const char *name;
    int parameters;
    bool known;
} MODELS[] = {
    {"SIMPLE_PINHOLE", 3, true},
    {"PINHOLE", 4, true},
    {"SIMPLE_RADIAL", 4, true},
    {"RADIAL", 5, true},
    {"OPENCV", 8, true},
    {"OPENCV_FISHEYE", 8, true},
    {"FULL_OPENCV", 12, false},
    {"FOV", 5, false},
    {"SIMPLE_RADIAL_FISHEYE", 4, false},
    {"RADIAL_FISHEYE", 5, false},
    {"THIN_PRISM_FISHEYE", 12, false},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static Lens lens_of_model(size_t model, const double *p) {
    bool one_focal = model == 0 || model == 2 || model == 3;
    const double *rest = one_focal ? p + 3 : p + 4;
    Lens lens = one_focal ? lens_of(p[0], p[0], p[1], p[2]) : lens_of(p[0], p[1], p[2], p[3]);
    int left = MODELS[model].parameters - (one_focal ? 3 : 4);
    lens.fisheye = model == 5;
    for (int i = 0; i < left; i++) {
        if (model == 4 && i >= 2) lens.tangential[i - 2] = rest[i];
        else lens.radial[i] = rest[i];
    }
    return lens;
}

static Status add_camera(const char *path, unsigned id, size_t model, double w, double h, const double *p,
                         ColmapModel *out, Error *err) {
    if (!MODELS[model].known)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected camera models SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL, RADIAL, OPENCV or "
                         "OPENCV_FISHEYE, found %s; run \"colmap image_undistorter\" first",
                         path, MODELS[model].name);
    if (!(w >= 1 && h >= 1 && w <= SIDE_MAX && h <= SIDE_MAX))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected sides of 1 to %d pixels, found %.0f x %.0f", path,
                         SIDE_MAX, w, h);
    ColmapCamera *grown = realloc(out->cameras, (out->camera_count + 1) * sizeof *grown);
    if (!grown) return error_no_memory(err, "%s", path);
    out->cameras = grown;
    ColmapCamera *camera = &grown[out->camera_count++];
    *camera = (ColmapCamera){id, lens_of_model(model, p)};
    camera->lens.W = (int)w;
    camera->lens.H = (int)h;
    return STATUS_OK;
}

static Status add_image(const char *path, const double *numbers, unsigned camera, const char *name, ColmapModel *out,
                        Error *err) {
    if (out->image_count % 1024 == 0) {
        ColmapImage *grown = realloc(out->images, (out->image_count + 1024) * sizeof *grown);
        if (!grown) return error_no_memory(err, "%s", path);
        out->images = grown;
    }
    ColmapImage image = {.name = strdup(name), .camera = camera};
    if (!image.name) return error_no_memory(err, "%s", path);
    memcpy(image.wxyz, numbers, sizeof image.wxyz);
    memcpy(image.t, numbers + 4, sizeof image.t);
    out->images[out->image_count++] = image;
    return STATUS_OK;
}

// ---- text

static Status parse_camera(const TextFile *text, char *line, ColmapModel *out, Error *err) {
    char name[40];
    double p[PARAMETERS_MAX], sides[2];
    unsigned id;
    int used = 0;
    size_t model = 0;
    if (sscanf(line, "%u %39s %lf %lf%n", &id, name, &sides[0], &sides[1], &used) != 4)
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected a number, a model, width, height and parameters",
                         text->path, text->line);
    while (model < MODEL_COUNT && strcmp(MODELS[model].name, name) != 0) model++;
    if (model == MODEL_COUNT)
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected one of COLMAP's camera models, found %s", text->path,
                         text->line, name);
    Status status = text_numbers(text, line + used, p, MODELS[model].parameters, err);
    return status ? status : add_camera(text->path, id, model, sides[0], sides[1], p, out, err);
}

static Status parse_image(const TextFile *text, char *line, ColmapModel *out, Error *err) {
    double n[7];
    unsigned id, camera;
    int used = 0;
    int found = sscanf(line, "%u %lf %lf %lf %lf %lf %lf %lf %u %n", &id, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6,
                       &camera, &used);
    if (found != 9 || !line[used])
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected \"id qw qx qy qz tx ty tz camera name\", found %.60s",
                         text->path, text->line, line);
    return add_image(text->path, n, camera, line + used, out, err);
}

static Status read_cameras_text(const char *path, ColmapModel *out, Error *err) {
    TextFile text;
    char *line;
    Status status = text_open(path, &text, err);
    while (!status && text_next_line(&text, &line)) {
        if (line[0] != '#') status = parse_camera(&text, line, out, err);
    }
    text_close(&text);
    return status;
}

// Two lines an image; the second holds points, or nothing at all.
static Status read_images_text(const char *path, ColmapModel *out, Error *err) {
    TextFile text;
    char *line;
    Status status = text_open(path, &text, err);
    while (!status && text_next_raw_line(&text, &line)) {
        if (line[0] == '#' || !line[strspn(line, " \t")]) continue;
        status = parse_image(&text, line, out, err);
        text_next_raw_line(&text, &line);
    }
    text_close(&text);
    return status;
}

// ---- binary

typedef struct Bytes {
    const char *path;
    char *bytes;
    size_t size, at;
    bool short_of; // set when reads go beyond the end
} Bytes;

static void take(Bytes *in, void *out, size_t count) {
    if (in->short_of || count > in->size - in->at) {
        in->short_of = true;
        memset(out, 0, count);
        return;
    }
    memcpy(out, in->bytes + in->at, count);
    in->at += count;
}

static uint64_t take_u64(Bytes *in) {
    uint64_t value;
    take(in, &value, sizeof value);
    return value;
}

static uint32_t take_u32(Bytes *in) {
    uint32_t value;
    take(in, &value, sizeof value);
    return value;
}

static Status cut_short(const Bytes *in, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected a COLMAP model, found %zu bytes that end too early or do not belong to one",
                     in->path, in->size);
}

static Status take_camera(Bytes *in, ColmapModel *out, Error *err) {
    double p[PARAMETERS_MAX];
    unsigned id = take_u32(in);
    size_t model = take_u32(in);
    double w = (double)take_u64(in), h = (double)take_u64(in);
    if (in->short_of || model >= MODEL_COUNT) return cut_short(in, err);
    take(in, p, (size_t)MODELS[model].parameters * sizeof *p);
    return in->short_of ? cut_short(in, err) : add_camera(in->path, id, model, w, h, p, out, err);
}

static Status take_image(Bytes *in, ColmapModel *out, Error *err) {
    double numbers[7];
    take_u32(in); // its own number
    take(in, numbers, sizeof numbers);
    unsigned camera = take_u32(in);
    const char *name = in->bytes + in->at;
    size_t length = in->short_of ? 0 : strnlen(name, in->size - in->at);
    if (in->short_of || length == in->size - in->at || length >= FILE_PATH_SIZE) return cut_short(in, err);
    in->at += length + 1;
    uint64_t points = take_u64(in);
    if (in->short_of || points > (in->size - in->at) / 24) return cut_short(in, err);
    in->at += (size_t)points * 24;
    return add_image(in->path, numbers, camera, name, out, err);
}

static Status read_binary(const char *path, Status (*each)(Bytes *, ColmapModel *, Error *), ColmapModel *out,
                          Error *err) {
    Bytes in = {.path = path};
    Status status = file_read_all(path, BINARY_MAX, &in.bytes, &in.size, err);
    uint64_t count = status ? 0 : take_u64(&in);
    if (!status && (in.short_of || count > COUNT_MAX)) status = cut_short(&in, err);
    for (uint64_t i = 0; !status && i < count; i++) status = each(&in, out, err);
    free(in.bytes);
    return status;
}

// ---- both

static bool has_binary(const char *folder) { return has_file(folder, "cameras.bin") && has_file(folder, "images.bin"); }

bool colmap_has_model(const char *folder) {
    return has_binary(folder) || (has_file(folder, "cameras.txt") && has_file(folder, "images.txt"));
}

static int by_name(const void *a, const void *b) {
    return strverscmp(((const ColmapImage *)a)->name, ((const ColmapImage *)b)->name);
}

static int by_id(const void *a, const void *b) {
    unsigned x = ((const ColmapCamera *)a)->id, y = ((const ColmapCamera *)b)->id;
    return (x > y) - (x < y);
}

static Status sort(const char *path, ColmapModel *model, Error *err) {
    if (model->camera_count) qsort(model->cameras, model->camera_count, sizeof *model->cameras, by_id);
    if (model->image_count) qsort(model->images, model->image_count, sizeof *model->images, by_name);
    for (size_t i = 1; i < model->camera_count; i++) {
        if (model->cameras[i].id == model->cameras[i - 1].id)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected each camera once, found two of number %u", path,
                             model->cameras[i].id);
    }
    return STATUS_OK;
}

Status colmap_read(const char *folder, ColmapModel *out, Error *err) {
    char cameras[FILE_PATH_SIZE], images[FILE_PATH_SIZE];
    bool binary = has_binary(folder);
    *out = (ColmapModel){0};
    Status status = file_join(cameras, sizeof cameras, folder, binary ? "cameras.bin" : "cameras.txt", err);
    if (!status) status = file_join(images, sizeof images, folder, binary ? "images.bin" : "images.txt", err);
    if (!status) status = binary ? read_binary(cameras, take_camera, out, err) : read_cameras_text(cameras, out, err);
    if (!status) status = binary ? read_binary(images, take_image, out, err) : read_images_text(images, out, err);
    return status ? status : sort(cameras, out, err);
}

void colmap_free(ColmapModel *model) {
    for (size_t i = 0; i < model->image_count; i++) free(model->images[i].name);
    free(model->images);
    free(model->cameras);
    *model = (ColmapModel){0};
}

const ColmapCamera *colmap_camera(const ColmapModel *model, unsigned id) {
    const ColmapCamera key = {.id = id};
    if (!model->camera_count) return NULL;
    return bsearch(&key, model->cameras, model->camera_count, sizeof key, by_id);
}
