// SPDX-License-Identifier: Apache-2.0
// `vpd sim run` and `vpd sim gradcheck`.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "app/sim_scene.h"
#include "device/sim_options.h"
#include "lab/fit_free.h"
#include "lab/gradcheck.h"
#include "lab/record.h"

#include <stdio.h>

void sim_scene_warn(const CommandLine *line, const SimScene *scene) {
    double bound = sim_stable_step(&scene->model, &scene->values);
    if (scene->model.dt > bound)
        log_warning(&line->log, "%s: the time step %.3g s is above the stable bound %.3g s: take %.0f substeps",
                    scene->path, scene->model.dt, bound, scene->frame_time / bound + 1);
    if (scene->model.materials && !scene->model.planes && !scene->model.faces)
        log_warning(&line->log,
                    "%s: there are \"contacts\" and no \"planes\", so nothing is touched: \"planes: [{}]\" is the "
                    "ground",
                    scene->path);
    const RecordWorst inside = record_start(scene);
    if (inside.share > RECORD_INSIDE_MOST)
        log_warning(&line->log, "%s: %s starts %.2g m inside another object: place them apart", scene->path,
                    inside.object->name, inside.deep);
    const SceneObject *lowest;
    const double below = record_below(scene, &lowest);
    if (below > RECORD_BELOW_MOST)
        log_warning(&line->log, "%s: %s starts %.2g m below a plane, which pushes it out", scene->path, lowest->name,
                    below);
    for (size_t i = 0; i < scene->object_count; i++)
        if (*scene->objects[i].note)
            log_warning(&line->log, "%s: %s: %s", scene->path, scene->objects[i].name, scene->objects[i].note);
}

Status sim_scene_read(const CommandLine *line, SimScene *scene, Error *err) {
    Status status = scene_read(command_argument(line, 0), scene, err);
    if (status == STATUS_OK) status = fit_free_check(scene, err);
    if (status == STATUS_OK) sim_scene_warn(line, scene);
    return status;
}

// 0 without --threads: as many as pay.
static int threads_of(const CommandLine *line) { return command_text(line, "threads", NULL) ? line->threads : 0; }

Status sim_scene_device(const CommandLine *line, Device **device, SimOptions *on, Error *err) {
    *device = NULL;
    *on = (SimOptions){0};
    Status status = command_text(line, "device", NULL) ? command_open_device(line, device, err) : STATUS_OK;
    if (*device) *on = sim_options_of(*device, SIM_F32);
    on->threads = threads_of(line);
    return status;
}

// ---- run

static const Flag run_flags[] = {
    {.name = "output",
     .value = "FILE.h5",
     .help = "rollout file to write",
     .letter = 'o',
     .writes = "vpd-rollout vpd-particles"},
    FLAG_SIM_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static Status tell_run(const CommandLine *line, const char *out, const SimScene *scene, const RolloutFile *r,
                       const RecordWorst *worst, Error *err) {
    const SimModel *m = &scene->model;
    char inside[192] = "", beyond[192] = "", beyond_m[192] = "", rigid[48] = "";
    if (m->rigids) snprintf(rigid, sizeof rigid, "%zu rigid bod%s, ", m->rigids, m->rigids == 1 ? "y" : "ies");
    if (worst->object)
        snprintf(inside, sizeof inside, ", %s up to %.2g m inside another object", worst->object->name, worst->deep);
    if (worst->turning)
        snprintf(beyond, sizeof beyond, ", joint %s up to %.2g degrees beyond its limits", worst->turning->name,
                 worst->beyond);
    if (worst->slider)
        snprintf(beyond_m, sizeof beyond_m, ", joint %s up to %.2g m beyond its limits", worst->slider->name,
                 worst->beyond_m);
    json_t *object =
        json_pack("{s:[s] s:I s:I s:I s:I s:I s:I s:I s:I s:o s:o s:o s:o s:o}", "written", out, "particles",
                  (json_int_t)m->particles, "springs", (json_int_t)m->springs, "tets", (json_int_t)m->tets, "hinges",
                  (json_int_t)m->hinges, "slides", (json_int_t)m->slides, "sockets", (json_int_t)m->sockets, "rigids",
                  (json_int_t)m->rigids, "frames", (json_int_t)r->steps, "time_step", json_finite(m->dt), "frame_time",
                  json_finite(scene->frame_time), "inside", json_finite(worst->deep), "beyond",
                  json_finite(worst->beyond), "beyond_m", json_finite(worst->beyond_m));
    return result_tell(line, object, RESULT_STDOUT, err,
                       "%s: %zu particles, %zu springs, %zu tetrahedra, %s%zu frames of %ld steps of %.4g s%s%s%s", out,
                       m->particles, m->springs, m->tets, rigid, r->steps, scene->substeps, m->dt, inside, beyond,
                       beyond_m);
}

static Status run_run(const CommandLine *line, Error *err) {
    SimScene scene = {0};
    RolloutFile rollout = {0};
    Device *device = NULL;
    SimOptions on;
    RecordWorst worst = {0};
    const char *out;
    Error later;
    Status status = command_required(line, "output", &out, err);
    if (status == STATUS_OK) status = sim_scene_read(line, &scene, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = sim_scene_device(line, &device, &on, err);
    if (status == STATUS_OK) {
        status = record_run(&scene, &on, &rollout, &worst, err);
        bool good = status == STATUS_OK;
        if (good) status = rollout_file_write(&rollout, out, err);
        else if (rollout.set_count && rollout_file_write(&rollout, out, &later) == STATUS_OK)
            log_warning(&line->log, "%s: holds the first %zu of %ld frames", out, rollout.steps + 1, scene.frames + 1);
    }
    if (status == STATUS_OK) status = tell_run(line, out, &scene, &rollout, &worst, err);
    rollout_file_free(&rollout);
    scene_free(&scene);
    device_close(device);
    return status;
}

const Command command_sim_run = {
    .name = "sim run",
    .summary = "simulate a scene of springs, soft solids, rigid bodies and contact",
    .arguments = "SCENE.yaml",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = run_flags,
    .details = "docs/simulator.md describes scenes; the folder scenes/ has examples. \"vpd inspect\", \"vpd view\" and "
               "\"vpd export\" read the file.",
    .run = run_run,
};

// ---- gradcheck

static const Flag check_flags[] = {FLAG_SIM_DEVICE, FLAG_JSON, {0}};

static json_t *check_json(const Gradcheck *check) {
    json_t *rows = json_array();
    for (size_t i = 0; i < check->rows; i++) {
        const GradcheckRow *r = check->row + i;
        json_t *differences = json_array(), *steps = json_array();
        for (int s = 0; s < GRADCHECK_STEPS; s++) {
            json_array_append_new(steps, json_finite(r->step[s]));
            json_array_append_new(differences, json_finite(r->difference[s]));
        }
        json_array_append_new(rows,
                              json_pack("{s:s s:s s:I s:o s:o s:o s:o s:b s:s}", "name", sim_value_info[r->value].name,
                                        "unit", sim_value_info[r->value].unit, "entries", (json_int_t)r->entries,
                                        "adjoint", json_finite(r->adjoint), "steps", steps, "differences", differences,
                                        "error", json_finite(r->error), "pass", r->verdict == GRADCHECK_RIGHT,
                                        "verdict", gradcheck_verdicts[r->verdict]));
    }
    return json_pack("{s:s s:o s:o s:b s:o}", "precision", check->precision == SIM_F64 ? "f64" : "f32", "limit",
                     json_finite(check->limit), "growth", json_finite(check->growth), "pass",
                     check->of[GRADCHECK_RIGHT] == check->rows, "values", rows);
}

static void print_check(const Gradcheck *check) {
    printf("%-14s %-6s %8s %14s %6s %14s %14s %14s %9s\n", "value", "unit", "entries", "adjoint", "h",
           "difference at h", "at h/10", "at h/100", "error");
    for (size_t i = 0; i < check->rows; i++) {
        const GradcheckRow *r = check->row + i;
        const SimValueInfo *info = sim_value_info + r->value;
        printf("%-14s %-6s %8zu %14.7g %6.0e", info->name, info->unit, r->entries, r->adjoint, r->step[0]);
        for (int s = 0; s < GRADCHECK_STEPS; s++) printf(" %14.7g", r->difference[s]);
        bool effect = r->adjoint != 0 || r->difference[0] != 0;
        const char *words = r->verdict == GRADCHECK_WRONG   ? "WRONG"
                            : r->verdict != GRADCHECK_RIGHT ? gradcheck_verdicts[r->verdict]
                            : !effect                       ? "no effect"
                            : r->error > check->limit       ? "within rounding"
                                                            : "";
        printf(" %9.2g%s%s\n", r->error, *words ? "  " : "", words);
    }
}

// How many are not right, and why.
static Status count_wrong(const SimScene *scene, const Gradcheck *check, Error *err) {
    const size_t *of = check->of, bad = check->rows - of[GRADCHECK_RIGHT];
    char unknown[96] = "", alone[96] = "";
    if (!bad) return STATUS_OK;
    if (of[GRADCHECK_UNKNOWN])
        snprintf(unknown, sizeof unknown,
                 "; of %zu the differences disagree among themselves (kinks, chaos or rounding)",
                 of[GRADCHECK_UNKNOWN]);
    if (of[GRADCHECK_F32_ALONE]) snprintf(alone, sizeof alone, "; %zu are right in f64", of[GRADCHECK_F32_ALONE]);
    return error_set(err, STATUS_FAILED, "%s: %zu of %zu gradients differ from the differences by more than %g%s%s",
                     scene->path, bad, check->rows, check->limit, unknown, alone);
}

static Status run_gradcheck(const CommandLine *line, Error *err) {
    SimScene scene = {0};
    Gradcheck check;
    Device *device = NULL;
    SimOptions on;
    Status status = sim_scene_read(line, &scene, err);
    if (status == STATUS_OK) status = sim_scene_device(line, &device, &on, err);
    if (status == STATUS_OK) status = gradcheck_run(&scene, &on, &check, err);
    if (status == STATUS_OK) {
        if (check.growth > GRADCHECK_GROWTH)
            log_warning(&line->log,
                        "%s: the adjoint grows %.2g fold over the rollout: even a right gradient is useless for a fit; "
                        "take a shorter time, or softer and more damped contact",
                        scene.path, check.growth);
        if (command_has(line, "json")) status = result_json(line, check_json(&check), err);
        else print_check(&check);
    }
    if (status == STATUS_OK) status = count_wrong(&scene, &check, err);
    scene_free(&scene);
    device_close(device);
    return status;
}

const Command command_sim_gradcheck = {
    .name = "sim gradcheck",
    .summary = "hold a scene's gradients against differences",
    .arguments = "SCENE.yaml",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = check_flags,
    .details =
        "Each kind of parameter is changed along one random direction. The adjoint is that of the precision that the "
        "scene\nnames, else f64; the differences are always f64. An error above 1e-6 (f32: 1e-3) ends with status 1.\n"
        "Where rounding hides a slope, h = 0.1, 0.01 and 0.001 are taken; \"within rounding\": right as far as they "
        "can tell.\nWhere none of three step sizes h fits, 1e-7, 1e-8 and 1e-9 are taken: near a kink (a contact that "
        "begins, "
        "friction\nthat stops a particle) only short steps stay on one side of it. \"differences disagree\": no two of "
        "them are the\nsame, because of kinks, chaos or rounding, so they judge no gradient. \"f32 alone\": the same "
        "gradient in f64 is\nright.",
    .run = run_gradcheck,
};
