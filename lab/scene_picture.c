// SPDX-License-Identifier: Apache-2.0
// Cameras, lights and pictures of a scene file.
#include "base/camera.h"
#include "base/check.h"
#include "base/vector.h"
#include "lab/scene_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6
#define DEGREE 0.017453292519943295
#define FIELD_OF_VIEW 40.0 // degrees across
enum { SIDE_MAX = 4096, LIGHTS_MAX = 16, TURNS = 720 };

// ---- picture

typedef struct PictureFields {
    int size[2], rasteriser; // width, height
    double background[3];
    long samples;
} PictureFields;

static Status read_picture(const ArgumentReader *reader, const YamlNode *node, ScenePicture *out) {
    PictureFields fields = {.size = {128, 128}, .background = {236, 240, 245}};
#define OF(field) offsetof(PictureFields, field)
    static const Argument own[] = {
        {.key = "size", .type = ARG_WHOLES, .offset = OF(size), .min = 1, .max = SIDE_MAX, .numbers = 2},
        {.key = "rasteriser", .type = ARG_WORD, .offset = OF(rasteriser), .words = "z-buffer|soft|dib-r"},
        {.key = "samples", .type = ARG_WHOLE, .offset = OF(samples), .min = 1, .max = 2},
        {.key = "background", .type = ARG_NUMBERS, .offset = OF(background), .max = 255, .numbers = 3}};
#undef OF
#define NUMBER(word, field, least, most)                                                                               \
    { .key = word, .type = ARG_NUMBER, .offset = offsetof(ScenePicture, field), .min = least, .max = most }
    static const Argument rest[] = {NUMBER("sigma", raster.sigma, 1e-12, 1),
                                    NUMBER("gamma", raster.gamma, 1e-12, 1),
                                    NUMBER("delta", raster.delta, 1e-12, 1),
                                    NUMBER("near", near, 1e-6, FAR),
                                    NUMBER("far", far, 1e-6, FAR),
                                    NUMBER("ambient", ambient, 0, 10),
                                    {.key = "planes", .type = ARG_YES, .offset = offsetof(ScenePicture, planes)}};
#undef NUMBER
    static const RasterMethod methods[] = {RASTER_HARD, RASTER_SOFT, RASTER_DIBR};
    const ArgumentGroup groups[] = {{own, sizeof own / sizeof *own, &fields}, {rest, sizeof rest / sizeof *rest, out}};
    Status status = node ? arguments_read(reader, node, groups, 2, NULL) : STATUS_OK;
    if (status == STATUS_OK && out->near > 0 && out->far > 0 && out->near >= out->far)
        status = argument_error(reader, node, "picture: near %g is not below far %g", out->near, out->far);
    out->W = fields.size[0], out->H = fields.size[1];
    out->raster.shadow_size = 2048; // of the planes too
    out->raster.method = methods[fields.rasteriser];
    out->raster.samples = fields.samples ? (int)fields.samples : fields.rasteriser ? 1 : 2;
    for (int c = 0; c < 3; c++) out->background[c] = fields.background[c] / 255;
    return status;
}

// ---- lights

static Status read_light(const ArgumentReader *reader, const YamlNode *node, RasterLight *out) {
#define OF(field) offsetof(RasterLight, field)
    static const Argument table[] = {
        {.key = "direction",
         .type = ARG_NUMBERS,
         .offset = OF(direction),
         .min = -FAR,
         .max = FAR,
         .numbers = 3,
         .required = true},
        {.key = "colour", .type = ARG_NUMBERS, .offset = OF(colour), .max = 10, .numbers = 3},
        {.key = "shadow", .type = ARG_YES, .offset = OF(shadow)}};
#undef OF
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    *out = (RasterLight){.colour = {1, 1, 1}};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status == STATUS_OK && !(vector_dot(out->direction, out->direction) > 0))
        status = argument_error(reader, node, "direction: expected a vector of non-zero length");
    return status;
}

// One from the upper left that casts shadows, and a weak one from the other side.
static void default_lights(const SimScene *scene, RasterLight light[2]) {
    const double from[2][3] = {{-0.5, -0.45, 1}, {0.6, 0.5, -0.15}}, strength[2] = {0.65, 0.2};
    for (int i = 0; i < 2; i++) {
        const double *d = from[i], turned[3] = {d[0], d[2], -d[1]};
        light[i] = (RasterLight){.shadow = i == 0};
        for (int c = 0; c < 3; c++) {
            light[i].direction[c] = scene->y_up ? turned[c] : d[c];
            light[i].colour[c] = strength[i];
        }
    }
}

static Status read_lights(const ArgumentReader *reader, const SceneHead *head) {
    ScenePicture *out = &head->scene->picture;
    const YamlNode *list = head->lights;
    if (list && list->kind != YAML_LIST) return argument_wrong(reader, list, "a list of lights [{direction: ..}]");
    if (list && list->count > LIGHTS_MAX) return argument_error(reader, list, "lights: more than %d", LIGHTS_MAX);
    out->lights = list ? list->count : 2;
    out->light = calloc(out->lights ? out->lights : 1, sizeof *out->light);
    if (!out->light) return scene_no_memory(reader);
    if (!list) default_lights(head->scene, out->light);
    Status status = STATUS_OK;
    size_t count = 0;
    for (const YamlNode *node = list ? list->child : NULL; node && status == STATUS_OK; node = node->next)
        status = read_light(reader, node, out->light + count++);
    return status;
}

// ---- cameras

typedef struct CameraFields {
    double eye[3], look_at[3], fov, pose[16], intrinsics[4];
    bool has_eye, has_look_at, has_fov, has_pose, has_intrinsics;
} CameraFields;

static Status read_camera_fields(const ArgumentReader *reader, const YamlNode *node, CameraFields *out) {
#define OF(field) offsetof(CameraFields, field)
#define NUMBERS(word, field, least, most, count)                                                                       \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBERS, .offset = OF(field), .min = least, .max = most, .numbers = count,            \
        .given = OF(has_##field)                                                                                       \
    }
    static const Argument table[] = {
        NUMBERS("eye", eye, -FAR, FAR, 3),
        NUMBERS("look_at", look_at, -FAR, FAR, 3),
        {.key = "fov", .type = ARG_NUMBER, .offset = OF(fov), .min = 1, .max = 170, .given = OF(has_fov)},
        NUMBERS("pose", pose, -FAR, FAR, 16),
        NUMBERS("intrinsics", intrinsics, -FAR, FAR, 4)};
#undef NUMBERS
#undef OF
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    *out = (CameraFields){.fov = FIELD_OF_VIEW};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status != STATUS_OK) return status;
    if (out->has_pose == out->has_eye || out->has_eye != out->has_look_at)
        return argument_error(reader, node, "%s: expected eye and look_at, or pose", node->key);
    if (out->has_fov && out->has_intrinsics)
        return argument_error(reader, node, "%s: expected fov or intrinsics, not both", node->key);
    return STATUS_OK;
}

static Status place_camera(const ArgumentReader *reader, const YamlNode *node, const CameraFields *fields, bool y_up,
                           double pose[16]) {
    const double up[3] = {0, y_up, !y_up}, top[3] = {0, !y_up, -y_up}; // of pictures straight from above or below
    double apart, determinant;
    if (fields->has_eye)
        return camera_look_at(fields->eye, fields->look_at, up, pose) ||
                       camera_look_at(fields->eye, fields->look_at, top, pose)
                   ? STATUS_OK
                   : argument_error(reader, node, "%s: eye and look_at are at one place", node->key);
    memcpy(pose, fields->pose, sizeof fields->pose);
    if (pose_rotation_error(pose, &apart, &determinant) && apart <= POSE_TOLERANCE && determinant > 0) return STATUS_OK;
    return argument_error(reader, node, "%s: pose: expected a rotation and a place, [R t; 0 0 0 1] row by row",
                          node->key);
}

static Status read_camera(const ArgumentReader *reader, const YamlNode *node, const SimScene *scene, SceneCamera *out) {
    CameraFields fields;
    const double *f = fields.intrinsics;
    if (strlen(node->key) >= sizeof out->name) return argument_error(reader, node, "the name is too long");
    strcpy(out->name, node->key);
    Status status = read_camera_fields(reader, node, &fields);
    if (status == STATUS_OK) status = place_camera(reader, node, &fields, scene->y_up, out->world_from_camera);
    if (status != STATUS_OK) return status;
    camera_intrinsics_from_fov(fields.fov * DEGREE, scene->picture.H, scene->picture.W, out->K);
    if (!fields.has_intrinsics) return STATUS_OK;
    if (!(f[0] > 0 && f[1] > 0)) return argument_error(reader, node, "intrinsics: expected fx and fy above 0");
    const double K[9] = {f[0], 0, f[2], 0, f[1], f[3], 0, 0, 1};
    memcpy(out->K, K, sizeof K);
    return STATUS_OK;
}

static Status read_cameras(const ArgumentReader *reader, const SceneHead *head) {
    ScenePicture *out = &head->scene->picture;
    const YamlNode *node = head->cameras;
    double number = 1;
    bool around = !node || (yaml_tree_number(node, &number) && number == floor(number));
    if (!(around && number >= 1 && number <= SCENE_CAMERAS_MAX) &&
        !(node && node->kind == YAML_MAP && node->count && node->count <= SCENE_CAMERAS_MAX))
        return argument_wrong(reader, node,
                              "how many stand around the scene, or a map {front: {eye: .., look_at: ..}}");
    out->has_cameras = !around;
    out->cameras = around ? (size_t)number : node->count;
    out->camera = calloc(out->cameras, sizeof *out->camera);
    if (!out->camera) return scene_no_memory(reader);
    if (around) scene_aim(head->scene, out->box);
    Status status = STATUS_OK;
    size_t count = 0;
    for (const YamlNode *entry = around ? NULL : node->child; entry && status == STATUS_OK; entry = entry->next)
        status = read_camera(reader, entry, head->scene, out->camera + count++);
    return status;
}

// ---- the box and the cameras around it

// Of the particles at the start, and of the points of planes below them.
static void find_box(SimScene *scene) {
    const SimModel *m = &scene->model;
    double *box = scene->picture.box;
    for (int c = 0; c < 3; c++) box[c] = INFINITY, box[3 + c] = -INFINITY;
    for (size_t i = 0; i < m->particles; i++) {
        const double *x = scene->values.of[SIM_POSITION] + 3 * i;
        scene_grow_box(box, x);
        for (size_t p = 0; p < m->planes; p++) {
            const double *n = m->plane[p].normal, length = sqrt(vector_dot(n, n));
            const double below = scene_height(&m->plane[p], x) - m->plane[p].offset;
            const double foot[3] = {x[0] - below * n[0] / length, x[1] - below * n[1] / length,
                                    x[2] - below * n[2] / length};
            if (n[scene->y_up ? 1 : 2] > 0.7 * length) scene_grow_box(box, foot);
        }
    }
}

void scene_turn(const SimScene *scene, const double in[3], double out[3]) {
    const double x[3] = {in[0], scene->y_up ? -in[2] : in[1], scene->y_up ? in[1] : in[2]};
    memcpy(out, x, sizeof x);
}

void scene_turn_pose(const SimScene *scene, const double in[16], double out[16]) {
    if (out != in) memcpy(out, in, 16 * sizeof *out);
    for (int c = 0; c < 4; c++) {
        double column[3] = {in[c], in[4 + c], in[8 + c]};
        scene_turn(scene, column, column);
        for (int row = 0; row < 3; row++) out[4 * row + c] = column[row];
    }
}

// The distance from its centre at which a camera that looks along `pose` sees all of the box.
static double see_all(const ScenePicture *p, const double box[6], const double pose[16]) {
    const double tangent[2] = {tan(0.5 * FIELD_OF_VIEW * DEGREE), tan(0.5 * FIELD_OF_VIEW * DEGREE) * p->H / p->W};
    double distance = memcmp(box, box + 3, 3 * sizeof *box) ? 0 : 1e-2; // a point alone
    for (int corner = 0; corner < 8; corner++) {
        double seen[3] = {0};
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                seen[k] += pose[4 * c + k] * 0.5 * (box[3 + c] - box[c]) * (corner >> c & 1 ? 1 : -1);
        for (int k = 0; k < 2; k++) distance = fmax(distance, 1.15 * fabs(seen[k]) / tangent[k] - seen[2]);
    }
    return distance;
}

// Puts a camera where it sees all of the box from this direction.
static void stand(const SimScene *scene, const double box[6], double turn, SceneCamera *camera) {
    const double tilt = 22 * DEGREE, upward[3] = {0, scene->y_up, !scene->y_up}, origin[3] = {0};
    const double x = cos(tilt) * cos(turn), y = cos(tilt) * sin(turn), z = sin(tilt);
    const double away[3] = {x, scene->y_up ? z : y, scene->y_up ? -y : z};
    CHECK(camera_look_at(away, origin, upward, camera->world_from_camera));
    const double distance = see_all(&scene->picture, box, camera->world_from_camera);
    for (int c = 0; c < 3; c++) camera->world_from_camera[4 * c + 3] = 0.5 * (box[c] + box[3 + c]) + distance * away[c];
}

// Whether a camera in this direction stands before all planes: behind one it would see the plane's back alone.
static bool is_before_planes(const SimScene *scene, const double box[6], double turn) {
    SceneCamera camera;
    stand(scene, box, turn, &camera);
    const double *pose = camera.world_from_camera, eye[3] = {pose[3], pose[7], pose[11]};
    for (size_t p = 0; p < scene->model.planes; p++)
        if (!(scene_height(&scene->model.plane[p], eye) > scene->model.plane[p].offset)) return false;
    return true;
}

static double turn_of(double share) { return -60 * DEGREE + 6.283185307179586 * share; }

// The turns before all planes are shared out among the cameras; all turns, when there is no plane to hide anything.
static void choose_turns(const SimScene *scene, const double box[6], double *turn) {
    const size_t cameras = scene->picture.cameras;
    size_t open[TURNS], count = 0;
    bool all = true;
    for (size_t i = 0; i < cameras; i++) {
        turn[i] = turn_of((double)i / (double)cameras);
        all = all && is_before_planes(scene, box, turn[i]);
    }
    for (size_t i = 0; i < TURNS && !all; i++)
        if (is_before_planes(scene, box, turn_of((double)i / TURNS))) open[count++] = i;
    for (size_t i = 0; i < cameras && count; i++) turn[i] = turn_of((double)open[i * count / cameras] / TURNS);
}

void scene_aim(SimScene *scene, const double box[6]) {
    ScenePicture *p = &scene->picture;
    double turn[SCENE_CAMERAS_MAX];
    if (p->has_cameras) return;
    choose_turns(scene, box, turn);
    for (size_t i = 0; i < p->cameras; i++) {
        snprintf(p->camera[i].name, sizeof p->camera[i].name, "camera%zu", i + 1);
        camera_intrinsics_from_fov(FIELD_OF_VIEW * DEGREE, p->H, p->W, p->camera[i].K);
        stand(scene, box, turn[i], p->camera + i);
    }
}

Status scene_read_picture(const ArgumentReader *reader, const SceneHead *head) {
    ScenePicture *picture = &head->scene->picture;
    picture->ambient = 0.38;
    picture->planes = true;
    find_box(head->scene);
    Status status = read_picture(reader, head->picture, picture);
    if (status == STATUS_OK) status = read_lights(reader, head);
    return status == STATUS_OK ? read_cameras(reader, head) : status;
}
