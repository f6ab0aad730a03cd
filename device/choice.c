// SPDX-License-Identifier: Apache-2.0
#include "device/choice.h"

#include "device/cuda_module.h"
#include "device/room_video.h"
#include "model/vpd.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 2, VIEWS = 2, SIDE = 24, RAYS = SIDE * SIDE };
// Largest allowed difference relative to the largest magnitude; a hundred times the effect of another summation order.
static const double ALLOWED = 1e-3;

// Result of one step, on the host.
typedef struct Outcome {
    real colour[3 * RAYS], depth[RAYS];
    real *gradients; // of all parameters
    size_t count;
} Outcome;

static Status small_config(Config *config, Error *err) {
    static const char *const small[] = {"model.T=2",
                                        "model.C=32",
                                        "model.D=8",
                                        "encoder.N=384",
                                        "gnn.graph=hierarchical",
                                        "gnn.M=48",
                                        "gnn.L=2",
                                        "data.extent=2",
                                        "gnn.length_scale=.1",
                                        "gnn.displacement_scale=.05",
                                        "gnn.colour_length=1",
                                        "gnn.moving_threshold=.005",
                                        "renderer.radius=.1",
                                        "encoder.widths=[8, 16]",
                                        "renderer.widths=[16, 16]"};
    config_defaults(config);
    Status status = config_set(config, sizeof small / sizeof *small, small, err);
    return status == STATUS_OK ? config_resolve(config, err) : status;
}

// Renders the first camera's view of the predicted frame.
static RendererOutput draw(Tape *tape, const Vpd *model, const Observation *frames, const Scene *scene) {
    real origin[3 * RAYS], direction[3 * RAYS];
    RendererCamera camera = observation_camera(frames, 0, 0);
    renderer_camera_rays(&camera, 0, RAYS, origin, direction);
    return vpd_render(tape, model, scene, RAYS, origin, direction, NULL, NULL);
}

static Status step_model(Tape *tape, Vpd *model, Workspace *workspace, const Observation *frames, Outcome *out,
                         Error *err) {
    Scene scene;
    Device *device = tape->device;
    parameters_zero_grad(&model->parameters);
    Status status = vpd_observe_and_encode(tape, model, workspace, frames, (SceneKey){1, 0, 0}, &scene, err);
    if (status != STATUS_OK) return status;
    vpd_step(tape, model, &scene);
    RendererOutput seen = draw(tape, model, frames, &scene);
    if (device->failed) return device_status(device, err);
    device->nn->download(device, out->colour, seen.colour->value, sizeof out->colour);
    device->nn->download(device, out->depth, seen.depth->value, sizeof out->depth);
    tape_backward(tape, tensor_add(tape, reduce_mean(tape, seen.colour), reduce_mean(tape, seen.depth)));
    if (!device->failed)
        device->nn->download(device, out->gradients, model->parameters.grads, out->count * sizeof(real));
    return device_status(device, err);
}

static Status run_model(Device *device, const Config *config, const Observation *frames, Outcome *out, Error *err) {
    Vpd *model = NULL;
    Tape tape;
    Workspace workspace = {0};
    tape_init(&tape, device);
    tape_reset(&tape);
    Status status = vpd_create(config, device, &model, err);
    if (status == STATUS_OK) {
        out->count = model->parameters.size;
        out->gradients = calloc(out->count, sizeof(real));
        status = out->gradients ? step_model(&tape, model, &workspace, frames, out, err)
                                : error_set(err, STATUS_FAILED, "out of memory for a check of the device");
    }
    workspace_free(&workspace);
    tape_free(&tape);
    vpd_free(model);
    return status;
}

static Status compare(const char *what, const real *expected, const real *found, size_t count, Error *err) {
    double largest = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)(found[i] - expected[i]));
        largest = fmax(largest, fabs((double)expected[i]));
        off = isnan(difference) ? INFINITY : fmax(off, difference);
    }
    return off <= ALLOWED * largest
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "%s of a small model's step differ from the CPU's by %.2g of the largest", what,
                           off / largest);
}

static Status compare_outcomes(const Outcome *expected, const Outcome *found, Error *err) {
    Status status = compare("colours", expected->colour, found->colour, 3 * RAYS, err);
    if (status == STATUS_OK) status = compare("depths", expected->depth, found->depth, RAYS, err);
    if (status == STATUS_OK) status = compare("gradients", expected->gradients, found->gradients, expected->count, err);
    return status;
}

Status device_prove(Device *device, Device *reference, Error *err) {
    RoomVideo room;
    Config config;
    Outcome *outcomes = calloc(2, sizeof *outcomes);
    Status status = room_video_make(&room, T, VIEWS, SIDE, SIDE, err);
    if (status == STATUS_OK && !outcomes)
        status = error_set(err, STATUS_FAILED, "out of memory for a check of the device");
    if (status == STATUS_OK) status = small_config(&config, err);
    if (status == STATUS_OK) status = run_model(reference, &config, &room.observation, &outcomes[0], err);
    if (status == STATUS_OK) status = run_model(device, &config, &room.observation, &outcomes[1], err);
    if (status == STATUS_OK) status = compare_outcomes(&outcomes[0], &outcomes[1], err);
    for (int i = 0; outcomes && i < 2; i++) free(outcomes[i].gradients);
    free(outcomes);
    room_video_free(&room);
    return status;
}

// Replaces *cpu by a GPU if its check succeeds.
static void prefer_gpu(Device **cpu, int index, char *why) {
    Device *gpu = NULL;
    Error against = {0};
    Status status = device_open_cuda(index, (*cpu)->threads, &gpu, &against);
    if (status != STATUS_OK) {
        snprintf(why, DEVICE_WHY_SIZE, "%.1000s", against.text);
        return;
    }
    if (device_prove(gpu, *cpu, &against) != STATUS_OK)
        snprintf(why, DEVICE_WHY_SIZE, "%s: %.800s; \"vpd selftest --device cuda\" says more", gpu->name, against.text);
    Device *other = why[0] ? gpu : *cpu;
    if (!why[0]) *cpu = gpu;
    device_close(other);
}

Status device_choose(const char *spec, int threads, Device **out, char *why, Error *err) {
    bool is_auto = !spec || !strcmp(spec, "auto") || !strncmp(spec, "auto:", 5);
    int index = is_auto && spec && spec[4] ? atoi(spec + 5) : 0;
    why[0] = 0;
    Status status = device_open(is_auto ? "cpu" : spec, threads, out, err);
    if (status == STATUS_OK && is_auto && !getenv("VPD_ISA") && device_has_cuda()) prefer_gpu(out, index, why);
    return status;
}
