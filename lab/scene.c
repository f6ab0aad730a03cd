// SPDX-License-Identifier: Apache-2.0
#include "lab/scene.h"

#include "base/check.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "lab/scene_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6
enum { FILE_MAX = 1 << 24, NAMES_MAX = 64 };

static Status read_head(const ArgumentReader *reader, const YamlNode *root, SceneHead *head) {
#define OF(field) offsetof(SimScene, field)
    static const Argument scene[] = {
        {.key = "frames", .type = ARG_WHOLE, .offset = OF(frames), .min = 1, .max = 1 << 20, .required = true},
        {.key = "substeps", .type = ARG_WHOLE, .offset = OF(substeps), .min = 1, .max = 1 << 20, .required = true},
        {.key = "memory_mib", .type = ARG_NUMBER, .offset = OF(memory_mib), .min = 1e-3, .max = 1e6},
        {.key = "seed", .type = ARG_WHOLE, .offset = OF(seed), .max = 4294967295.0}};
#undef OF
#define OF(field) offsetof(SceneHead, field)
    static const Argument rest[] = {
        {.key = "fps", .type = ARG_NUMBER, .offset = OF(fps), .min = 1e-3, .max = 1e6},
        {.key = "precision", .type = ARG_WORD, .offset = OF(precision), .words = "f32|f64"},
        {.key = "up", .type = ARG_WORD, .offset = OF(up), .words = "y|z"},
        {.key = "gravity",
         .type = ARG_NUMBERS,
         .offset = OF(gravity),
         .min = -FAR,
         .max = FAR,
         .numbers = 3,
         .given = OF(has_gravity)},
        {.key = "damping", .type = ARG_WORD, .offset = OF(damping), .words = "strain|velocity"},
        {.key = "contacts", .type = ARG_OTHER, .offset = OF(contacts), .read = argument_keep},
        {.key = "planes", .type = ARG_OTHER, .offset = OF(planes), .read = argument_keep},
        {.key = "objects", .type = ARG_OTHER, .offset = OF(objects), .required = true, .read = argument_keep},
        {.key = "joints", .type = ARG_OTHER, .offset = OF(joints), .read = argument_keep},
        {.key = "controls", .type = ARG_OTHER, .offset = OF(controls), .read = argument_keep},
        {.key = "values", .type = ARG_OTHER, .offset = OF(values), .read = argument_keep},
        {.key = "cameras", .type = ARG_OTHER, .offset = OF(cameras), .read = argument_keep},
        {.key = "picture", .type = ARG_OTHER, .offset = OF(picture), .read = argument_keep},
        {.key = "lights", .type = ARG_OTHER, .offset = OF(lights), .read = argument_keep},
        {.key = "fit", .type = ARG_OTHER, .offset = OF(fit), .read = argument_keep}, // lab/fit_free.h reads these
        {.key = "random", .type = ARG_OTHER, .offset = OF(random), .read = argument_keep}};
#undef OF
    const ArgumentGroup groups[] = {{scene, sizeof scene / sizeof *scene, head->scene},
                                    {rest, sizeof rest / sizeof *rest, head}};
    *head = (SceneHead){.scene = head->scene, .fps = 30, .up = 1, .precision = 0};
    head->scene->memory_mib = 256;
    Status status = arguments_read(reader, root, groups, 2, NULL);
    if (status != STATUS_OK) return status;
    SimScene *out = head->scene;
    out->y_up = head->up == 0;
    out->precision = head->precision ? SIM_F64 : SIM_F32;
    out->has_precision = yaml_tree_find(root, "precision");
    out->has_fit = head->fit;
    out->has_random = head->random;
    const YamlNode *memory = yaml_tree_find(root, "memory_mib");
    out->memory_line = memory ? memory->line : 0;
    out->frame_time = 1 / head->fps;
    if (!head->has_gravity) head->gravity[out->y_up ? 1 : 2] = -9.81;
    return STATUS_OK;
}

// ---- contacts

static Status read_contact(const ArgumentReader *reader, const YamlNode *node, SceneContact *out) {
#define NUMBER(word, field, most)                                                                                      \
    { .key = word, .type = ARG_NUMBER, .offset = offsetof(SceneContact, field), .max = most }
    static const Argument table[] = {
        {.key = "k_e", .type = ARG_NUMBER, .offset = offsetof(SceneContact, k_e), .max = 1e15, .required = true},
        NUMBER("k_d", k_d, 1e15),
        NUMBER("k_f", k_f, 1e15),
        NUMBER("mu", mu, 1e3),
        NUMBER("fade", fade, FAR),
        NUMBER("margin", margin, FAR)};
#undef NUMBER
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    Status status = scene_check_name(reader, node);
    if (status != STATUS_OK) return status;
    strcpy(out->name, node->key);
    return arguments_read(reader, node, &group, 1, NULL);
}

static Status read_contacts(const ArgumentReader *reader, SceneHead *head) {
    if (!head->contacts) return STATUS_OK;
    Status status = scene_need(reader, head->contacts, YAML_MAP, "a map of contact materials {rubber: {k_e: ..}}");
    if (status != STATUS_OK) return status;
    head->contact = calloc(head->contacts->count, sizeof *head->contact);
    if (!head->contact) return scene_no_memory(reader);
    for (const YamlNode *node = head->contacts->child; node && status == STATUS_OK; node = node->next)
        status = read_contact(reader, node, head->contact + head->contact_count++);
    return status;
}

// The contact of that name; without a name the first one.
static Status find_contact(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node, const char *name,
                           int *out) {
    const char *words[NAMES_MAX];
    size_t known = 0;
    *out = 0;
    for (size_t i = 0; i < head->contact_count; i++) {
        if (!*name || !strcmp(head->contact[i].name, name)) {
            *out = (int)i;
            return STATUS_OK;
        }
        if (known < NAMES_MAX) words[known++] = head->contact[i].name;
    }
    if (!*name) return STATUS_OK;
    const YamlNode *entry = yaml_tree_find(node, "contact");
    YamlNode named = {.line = entry ? entry->line : node->line, .key = (char *)name};
    if (!known) return argument_error(reader, &named, "contact: the scene has no \"contacts\"");
    return argument_unknown(reader, &named, "contact material", words, known);
}

// ---- planes

typedef struct PlaneFields {
    double normal[3], offset;
    char contact[ARGUMENT_NAME_SIZE];
} PlaneFields;

static Status read_plane(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node, SimPlane *out) {
#define OF(field) offsetof(PlaneFields, field)
    static const Argument table[] = {
        {.key = "normal", .type = ARG_NUMBERS, .offset = OF(normal), .min = -FAR, .max = FAR, .numbers = 3},
        {.key = "offset", .type = ARG_NUMBER, .offset = OF(offset), .min = -FAR, .max = FAR},
        {.key = "contact", .type = ARG_NAME, .offset = OF(contact)}};
#undef OF
    PlaneFields fields = {.normal = {0, head->scene->y_up, !head->scene->y_up}};
    const ArgumentGroup group = {table, sizeof table / sizeof *table, &fields};
    int material;
    Status status = arguments_read(reader, node, &group, 1, NULL);
    const double *n = fields.normal;
    if (status == STATUS_OK && !(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > 0))
        status = argument_error(reader, node, "normal: expected a vector of non-zero length");
    if (status == STATUS_OK && !head->contact_count)
        status = argument_error(reader, node, "a plane needs a material: \"contacts: {ground: {k_e: .., mu: ..}}\"");
    if (status == STATUS_OK) status = find_contact(reader, head, node, fields.contact, &material);
    if (status != STATUS_OK) return status;
    *out = (SimPlane){{n[0], n[1], n[2]}, fields.offset, material};
    return STATUS_OK;
}

static Status read_planes(const ArgumentReader *reader, const SceneHead *head) {
    SimModel *model = &head->scene->model;
    if (!head->planes) return STATUS_OK;
    Status status = scene_need(reader, head->planes, YAML_LIST, "a list of planes [{normal: .., offset: ..}]");
    SimPlane *planes = status == STATUS_OK ? calloc(head->planes->count, sizeof *planes) : NULL;
    if (status == STATUS_OK && !planes) return scene_no_memory(reader);
    model->plane = planes;
    for (const YamlNode *node = status == STATUS_OK ? head->planes->child : NULL; node && status == STATUS_OK;
         node = node->next)
        status = read_plane(reader, head, node, planes + model->planes++);
    return status;
}

// ---- objects

static Status read_parts(const ArgumentReader *reader, SceneHead *head) {
    Status status = scene_need(reader, head->objects, YAML_MAP, "a map of objects {ball: {sphere: ..}}");
    if (status == STATUS_OK && head->objects->count > SCENE_OBJECTS_MAX)
        status = argument_error(reader, head->objects, "more than %d objects", SCENE_OBJECTS_MAX);
    if (status != STATUS_OK) return status;
    head->part = calloc(head->objects->count, sizeof *head->part);
    if (!head->part) return scene_no_memory(reader);
    for (const YamlNode *node = head->objects->child; node && status == STATUS_OK; node = node->next) {
        Part *part = head->part + head->part_count++;
        status = scene_check_name(reader, node);
        if (status == STATUS_OK) status = part_read(reader, node, part);
        if (status == STATUS_OK) status = find_contact(reader, head, node, part->contact, &part->material);
    }
    return status;
}

static bool any_hidden(const SceneHead *head) {
    size_t hidden = 0;
    for (size_t i = 0; i < head->part_count; i++) hidden += head->part[i].hidden;
    return hidden > 0;
}

// ---- all of it

static Status read_tree(const ArgumentReader *reader, const YamlNode *root, SimScene *out) {
    SceneHead head = {.scene = out};
    Status status = read_head(reader, root, &head);
    if (status == STATUS_OK) status = read_contacts(reader, &head);
    if (status == STATUS_OK) status = read_planes(reader, &head);
    if (status == STATUS_OK) status = read_parts(reader, &head);
    if (status == STATUS_OK) status = scene_read_joints(reader, &head);
    out->model.scenes = 1;
    // Hidden points have a material that touches nothing.
    out->model.materials = head.contact_count + (head.contact_count && any_hidden(&head));
    out->model.damping = head.damping ? SIM_DAMPING_VELOCITY : SIM_DAMPING_STRAIN;
    out->model.dt = out->frame_time / (double)(out->substeps ? out->substeps : 1);
    if (status == STATUS_OK) status = scene_fill(reader, &head);
    if (status == STATUS_OK) status = scene_read_controls(reader, &head);
    if (status == STATUS_OK) status = scene_read_values(reader, &head);
    if (status == STATUS_OK) status = scene_read_drives(reader, &head);
    if (status == STATUS_OK) status = scene_read_picture(reader, &head);
    for (size_t i = 0; i < head.part_count; i++) part_free(head.part + i);
    free(head.part);
    free(head.contact);
    free(head.control);
    free(head.tie);
    free(head.hinge);
    free(head.slider);
    free(head.hold);
    free(head.ball);
    free(head.joined);
    return status;
}

Status scene_parse(const char *text, size_t length, const char *name, const char *folder, SimScene *out, Error *err) {
    const ArgumentReader reader = {name, folder, err};
    YamlNode *root = NULL;
    *out = (SimScene){0};
    Status status = yaml_tree_read(text, length, name, &root, err);
    out->path = strdup(name);
    if (status == STATUS_OK && !out->path) status = scene_no_memory(&reader);
    if (status == STATUS_OK && root->kind != YAML_MAP)
        status = argument_error(&reader, root, "expected a scene, a map with frames, substeps and objects");
    if (status == STATUS_OK) status = read_tree(&reader, root, out);
    yaml_tree_free(root);
    if (status != STATUS_OK) scene_free(out);
    return status;
}

Status scene_read(const char *path, SimScene *out, Error *err) {
    char *text = NULL, folder[FILE_PATH_SIZE];
    size_t length;
    *out = (SimScene){0};
    Status status = file_expect_text(path, "a scene in YAML", err);
    if (status == STATUS_OK) status = file_read_all(path, FILE_MAX, &text, &length, err);
    if (status == STATUS_OK) status = file_folder(folder, path, err);
    if (status == STATUS_OK) status = scene_parse(text, length, path, folder, out, err);
    free(text);
    return status;
}

void scene_free(SimScene *scene) {
    const SimModel *m = &scene->model;
    const void *const arrays[] = {m->fixed, m->material, m->spring, m->tet,  m->hinge, m->slide,   m->socket,
                                  m->plane, m->contacts, m->face,   m->body, m->rigid, m->inertia, m->joined};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free((void *)arrays[i]);
    for (int v = 0; v < SIM_VALUES; v++) free(scene->values.of[v]);
    free(scene->objects);
    free(scene->face);
    free(scene->hinge);
    free(scene->slider);
    free(scene->ball);
    free(scene->picture.light);
    free(scene->picture.camera);
    free(scene->path);
    *scene = (SimScene){0};
}

Status scene_repeat(SimScene *scene, size_t B, Error *err) {
    const SimRun run = scene_run(scene);
    const size_t controls = sim_controls(&run);
    SimModel more = scene->model;
    more.scenes = B;
    for (int v = 0; v < SIM_VALUES; v++) {
        size_t count = sim_value_count(&scene->model, controls, v), all, bytes;
        if (!count || B == 1 || !scene->values.of[v]) continue;
        const size_t intervals = sim_value_is_control(v) ? controls : 1, row = intervals ? count / intervals : 0;
        bool fits = size_mul(count, B, &all) && size_mul(all, sizeof(double), &bytes);
        double *values = fits ? malloc(bytes) : NULL;
        if (!values) return error_set(err, STATUS_FAILED, "%s: out of memory for %zu scenes", scene->path, B);
        for (size_t i = 0; i < intervals; i++)
            for (size_t b = 0; b < B; b++)
                memcpy(values + (i * B + b) * row, scene->values.of[v] + i * row, row * sizeof *values);
        free(scene->values.of[v]);
        scene->values.of[v] = values;
    }
    scene->model = more;
    return STATUS_OK;
}

SimRun scene_run(const SimScene *scene) {
    double *const *of = scene->values.of;
    return (SimRun){.steps = (size_t)scene->frames * (size_t)scene->substeps,
                    .every = (size_t)scene->substeps,
                    .position = of[SIM_POSITION],
                    .velocity = of[SIM_VELOCITY],
                    .force = of[SIM_FORCE],
                    .activation = of[SIM_ACTIVATION],
                    .torque = of[SIM_TORQUE],
                    .thrust = of[SIM_THRUST],
                    .drive = of[SIM_DRIVE],
                    .control_every = of[SIM_FORCE] ? (size_t)scene->substeps : 0};
}

Status scene_failed(const SimScene *scene, Status status, Error *err) {
    if (status == STATUS_OK || status == STATUS_INTERRUPTED) return status;
    if (status == STATUS_BAD_INPUT && scene->memory_line) // of a scene that was read, only its budget can be wrong
        return error_prefix(err, "%s:%zu", scene->path, scene->memory_line);
    return error_prefix(err, "%s", scene->path);
}

SimOptions scene_options(const SimScene *scene) {
    return (SimOptions){.precision = scene->precision, .memory_mib = scene->memory_mib};
}

SimOptions scene_options_on(const SimScene *scene, const SimOptions *on) {
    SimOptions options = scene_options(scene);
    options.threads = on->threads;
    options.isa = on->isa;
    options.device = on->device;
    return options;
}
