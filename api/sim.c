// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "base/options.h"
#include "device/choice.h"
#include "device/sim_options.h"
#include "lab/fit_free.h"

#include <stdlib.h>
#include <string.h>

enum { SCENES_MAX = 1 << 20 };

struct vpd_sim {
    SimScene scene;
    Device *device; // NULL: none was asked for
    char device_why[DEVICE_WHY_SIZE];
    Sim *sim;
    pthread_mutex_t lock;
    char *objects, *joints, *sliders, *balls; // names
    SimRun run;                               // of the last rollout
    bool ran;                                 // it has a gradient
};

// ---- open

static Status read_options(const vpd_sim_options *options, SimOptions *out, size_t *scenes, bool *precise, Error *err) {
    static const char *const names[] = {"f32", "f64"};
    *scenes = 1;
    if (!options) return STATUS_OK;
    Status status = API_CHECK_STRUCT(options, vpd_sim_options, err);
    if (status == STATUS_OK) status = api_check_threads(options->threads, err);
    if (status != STATUS_OK) return status;
    if (options->scenes < 0 || options->scenes > SCENES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "scenes: expected 0 to %d, found %d", SCENES_MAX, options->scenes);
    if (!(options->memory_mib >= 0 && options->memory_mib <= 1e6))
        return error_set(err, STATUS_BAD_INPUT, "memory_mib: expected 0 to 1e6, found %g", options->memory_mib);
    *precise = options->precision;
    if (*precise && strcmp(options->precision, names[0]) != 0 && strcmp(options->precision, names[1]) != 0)
        return error_set(err, STATUS_BAD_INPUT, "precision: expected f32 or f64, found \"%.40s\"", options->precision);
    if (options->scenes) *scenes = (size_t)options->scenes;
    out->threads = options->threads;
    out->memory_mib = options->memory_mib;
    if (*precise) out->precision = strcmp(options->precision, names[1]) ? SIM_F32 : SIM_F64;
    return STATUS_OK;
}

static Status choose_device(vpd_sim *sim, const char *name, int threads, SimOptions *used, Error *err) {
    *used = scene_options(&sim->scene);
    if (name) {
        Status status = device_choose(name, threads, &sim->device, sim->device_why, err);
        if (status != STATUS_OK) return status;
        const SimOptions on = sim_options_of(sim->device, used->precision);
        *used = scene_options_on(&sim->scene, &on);
    }
    used->threads = threads;
    return STATUS_OK;
}

static bool list_names(vpd_sim *sim) {
    const SimScene *scene = &sim->scene;
    sim->objects = malloc(1 + scene->object_count * (SCENE_NAME_SIZE + 1));
    sim->joints = malloc(1 + scene->hinges * (SCENE_NAME_SIZE + 1));
    sim->sliders = malloc(1 + scene->sliders * (SCENE_NAME_SIZE + 1));
    sim->balls = malloc(1 + scene->balls * (SCENE_NAME_SIZE + 1));
    if (!sim->objects || !sim->joints || !sim->sliders || !sim->balls) return false;
    char *at = sim->objects, *joint = sim->joints, *slider = sim->sliders, *ball = sim->balls;
    *at = *joint = *slider = *ball = 0;
    for (size_t i = 0; i < scene->object_count; i++) at = stpcpy(stpcpy(at, scene->objects[i].name), "\n");
    for (size_t i = 0; i < scene->hinges; i++) joint = stpcpy(stpcpy(joint, scene->hinge[i].name), "\n");
    for (size_t i = 0; i < scene->sliders; i++) slider = stpcpy(stpcpy(slider, scene->slider[i].name), "\n");
    for (size_t i = 0; i < scene->balls; i++) ball = stpcpy(stpcpy(ball, scene->ball[i].name), "\n");
    return true;
}

static Status open_sim(const char *path, const vpd_sim_options *options, vpd_sim *sim, Error *err) {
    SimOptions wanted = {0};
    size_t scenes;
    bool precise = false;
    Status status = read_options(options, &wanted, &scenes, &precise, err);
    if (status == STATUS_OK) status = scene_read(path, &sim->scene, err);
    if (status == STATUS_OK) status = fit_free_check(&sim->scene, err);
    if (status == STATUS_OK) status = scene_repeat(&sim->scene, scenes, err);
    if (status != STATUS_OK) return status;
    if (precise) sim->scene.precision = wanted.precision;
    if (wanted.memory_mib > 0) sim->scene.memory_mib = wanted.memory_mib;
    if (!list_names(sim)) return error_set(err, STATUS_FAILED, "out of memory for a simulation");
    SimOptions used;
    status = choose_device(sim, options ? options->device : NULL, wanted.threads, &used, err);
    return status == STATUS_OK ? sim_open(&sim->scene.model, &used, &sim->sim, err) : status;
}

void vpd_sim_close(vpd_sim *sim) {
    if (!sim) return;
    sim_close(sim->sim);
    device_close(sim->device);
    scene_free(&sim->scene);
    pthread_mutex_destroy(&sim->lock);
    free(sim->objects);
    free(sim->joints);
    free(sim->sliders);
    free(sim->balls);
    free(sim);
}

vpd_status vpd_sim_open(const char *path, const vpd_sim_options *options, vpd_sim **out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(out, "out", &e);
    if (status == STATUS_OK) *out = NULL;
    if (status == STATUS_OK) status = api_check_pointer(path, "scene", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    vpd_sim *sim = calloc(1, sizeof *sim);
    if (!sim) return api_result(error_set(&e, STATUS_FAILED, "out of memory for a simulation"), &e, err);
    pthread_mutex_init(&sim->lock, NULL); // cannot fail without attributes
    Call call = call_begin(NULL, 0, false);
    status = open_sim(path, options, sim, &e);
    call_end(&call);
    if (status == STATUS_OK) *out = sim;
    else vpd_sim_close(sim);
    return api_result(status, &e, err);
}

// ---- what is in it

vpd_status vpd_sim_get_facts(const vpd_sim *sim, vpd_sim_facts *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(sim, "sim", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_sim_facts, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    const SimScene *scene = &sim->scene;
    const SimModel *m = &scene->model;
    *out = (vpd_sim_facts){.struct_size = sizeof *out,
                           .scenes = m->scenes,
                           .particles = m->particles,
                           .springs = m->springs,
                           .tets = m->tets,
                           .hinges = m->hinges,
                           .materials = m->materials,
                           .frames = (size_t)scene->frames,
                           .substeps = (size_t)scene->substeps,
                           .time_step = m->dt,
                           .frame_time = scene->frame_time,
                           .stable_step = sim_stable_step(m, &scene->values),
                           .values = SIM_VALUES,
                           .precision = scene->precision == SIM_F64 ? "f64" : "f32",
                           .objects = sim->objects,
                           .joints = sim->joints,
                           .sliders = sim->sliders,
                           .balls = sim->balls,
                           .device = sim->device ? sim->device->name : "cpu",
                           .device_why = sim->device_why};
    return api_result(STATUS_OK, &e, err);
}

vpd_status vpd_sim_get_value(const vpd_sim *sim, size_t index, vpd_sim_value *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(sim, "sim", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_sim_value, &e);
    if (status == STATUS_OK && index >= SIM_VALUES)
        status = error_set(&e, STATUS_BAD_INPUT, "value %zu: expected 0 to %d", index, SIM_VALUES - 1);
    if (status != STATUS_OK) return api_result(status, &e, err);
    const SimValueInfo *info = sim_value_info + index;
    const SimModel *m = &sim->scene.model;
    const size_t intervals = sim_value_is_control((SimValue)index) ? (size_t)sim->scene.frames : 0;
    *out = (vpd_sim_value){.struct_size = sizeof *out,
                           .name = info->name,
                           .unit = info->unit,
                           .help = info->help,
                           .intervals = intervals,
                           .rows = sim_value_rows(m, (SimValue)index),
                           .axes = info->axes,
                           .count = sim_value_count(m, intervals, (SimValue)index),
                           .low = info->low,
                           .high = info->high,
                           .data = sim->scene.values.of[index]};
    return api_result(STATUS_OK, &e, err);
}

// ---- rollout and adjoint

static Status unknown_value(const char *name, Error *err) {
    const char *words[SIM_VALUES];
    for (int v = 0; v < SIM_VALUES; v++) words[v] = sim_value_info[v].name;
    const char *near = options_nearest_word(name, words, SIM_VALUES);
    return error_set(err, STATUS_BAD_INPUT, "there is no value \"%.60s\"; %s%s%s", name, near ? "did you mean \"" : "",
                     near ? near : "docs/simulator.md lists them", near ? "\"?" : "");
}

// Puts each array of the caller into `values`. A value that is named twice would leave one array unused.
static Status take_arrays(const vpd_sim *sim, const vpd_sim_array *arrays, size_t count, SimValues *values,
                          Error *err) {
    bool given[SIM_VALUES] = {false};
    Status status = api_check_list(arrays, count, SIM_VALUES, "arrays", err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        int v = 0;
        status = api_check_pointer(arrays[i].name, "name of an array", err);
        if (status == STATUS_OK) status = api_check_pointer(arrays[i].data, arrays[i].name, err);
        if (status != STATUS_OK) return status;
        while (v < SIM_VALUES && strcmp(sim_value_info[v].name, arrays[i].name) != 0) v++;
        if (v == SIM_VALUES) return unknown_value(arrays[i].name, err);
        size_t wanted = sim_value_count(&sim->scene.model, (size_t)sim->scene.frames, (SimValue)v);
        if (arrays[i].count != wanted)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected %zu numbers, found %zu", arrays[i].name, wanted,
                             arrays[i].count);
        if (given[v]) return error_set(err, STATUS_BAD_INPUT, "%s: given twice", arrays[i].name);
        given[v] = true;
        values->of[v] = arrays[i].data;
    }
    return status;
}

static Call begin(vpd_sim *sim) {
    pthread_mutex_lock(&sim->lock);
    return call_begin(NULL, sim_threads(sim->sim), true);
}

static void end(vpd_sim *sim, Call *call) {
    call_end(call);
    pthread_mutex_unlock(&sim->lock);
}

static Status roll(vpd_sim *sim, const SimValues *values, bool gradient, double *position, double *velocity,
                   Error *err) {
    SimArrays arrays = {3 * sim->scene.model.particles * sim->scene.model.scenes, position, velocity};
    SimRun run = scene_run(&sim->scene);
    run.position = values->of[SIM_POSITION];
    run.velocity = values->of[SIM_VELOCITY];
    run.force = values->of[SIM_FORCE];
    run.activation = values->of[SIM_ACTIVATION];
    run.torque = values->of[SIM_TORQUE];
    run.thrust = values->of[SIM_THRUST];
    run.drive = values->of[SIM_DRIVE];
    run.control_every = run.every;
    run.gradient = gradient;
    run.keep = sim_keep_arrays;
    run.context = &arrays;
    sim->ran = false;
    Status status = sim_set(sim->sim, values, err);
    if (status == STATUS_OK) status = sim_rollout(sim->sim, &run, err);
    run.keep = NULL;
    run.context = NULL;
    sim->run = run;
    sim->ran = status == STATUS_OK && gradient;
    return status;
}

vpd_status vpd_sim_rollout(vpd_sim *sim, const vpd_sim_array *inputs, size_t input_count, int gradient,
                           double *position, double *velocity, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(sim, "sim", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    SimValues values = sim->scene.values;
    status = take_arrays(sim, inputs, input_count, &values, &e);
    if (status == STATUS_OK) {
        Call call = begin(sim);
        status = roll(sim, &values, gradient, position, velocity, &e);
        end(sim, &call);
    }
    return api_result(status, &e, err);
}

vpd_status vpd_sim_adjoint(vpd_sim *sim, const double *position, const double *velocity, const vpd_sim_array *gradients,
                           size_t gradient_count, double *growth, vpd_error *err) {
    Error e = {0};
    SimValues values = {{NULL}};
    const SimLoss loss = {position, velocity};
    Status status = api_check_pointer(sim, "sim", &e);
    if (status == STATUS_OK) status = take_arrays(sim, gradients, gradient_count, &values, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = begin(sim);
    if (sim->ran) status = sim_adjoint(sim->sim, &sim->run, &loss, &values, growth, &e);
    else status = error_set(&e, STATUS_BAD_INPUT, "vpd_sim_adjoint: expected a rollout with gradient = 1 before it");
    end(sim, &call);
    return api_result(status, &e, err);
}
