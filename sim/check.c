// SPDX-License-Identifier: Apache-2.0
#include "sim/check.h"

#include "sim/topology.h"

#include <math.h>
#include <stdlib.h>

static const char *const kind_names[SIM_KINDS] = {"spring", "tet", "hinge", "slide", "socket"};

static Status check_sizes(const SimModel *model, Error *err) {
    size_t all[SIM_KINDS + 2] = {model->particles, model->faces}, total;
    for (int k = 0; k < SIM_KINDS; k++) all[k + 2] = sim_elements(model, (SimKind)k);
    for (int k = 0; k < SIM_KINDS + 2; k++)
        if (__builtin_mul_overflow(all[k], model->scenes, &total) || total > INT32_MAX / 8)
            return error_set(err, STATUS_BAD_INPUT, "%zu scenes of %zu %ss: more than %d in all", model->scenes, all[k],
                             k < 2 ? k ? "face" : "particle" : kind_names[k - 2], INT32_MAX / 8);
    if (model->scenes < 1 || model->particles < 1)
        return error_set(err, STATUS_BAD_INPUT, "a simulation needs at least one scene and one particle");
    if (!(model->dt > 0 && model->dt < 1e6))
        return error_set(err, STATUS_BAD_INPUT, "time step %g s: expected a number above 0", model->dt);
    return STATUS_OK;
}

static Status check_corners(const SimModel *model, const char *name, const int32_t *all, size_t count, size_t corners,
                            Error *err) {
    for (size_t e = 0; e < count; e++)
        for (size_t j = 0; j < corners; j++) {
            const int32_t at = all[corners * e + j];
            if (at < 0 || (size_t)at >= model->particles)
                return error_set(err, STATUS_BAD_INPUT, "%s %zu: particle %d is not one of 0 to %zu", name, e, at,
                                 model->particles - 1);
            for (size_t i = 0; i < j; i++)
                if (all[corners * e + i] == at)
                    return error_set(err, STATUS_BAD_INPUT, "%s %zu: particle %d occurs twice", name, e, at);
        }
    return STATUS_OK;
}

static Status check_material(const SimModel *model, int32_t material, const char *of, size_t i, Error *err) {
    if (material >= 0 && (size_t)material < model->materials) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s %zu: there is no material %d, only %zu of them", of, i, material,
                     model->materials);
}

static Status check_contact(const SimModel *model, Error *err) {
    Status status = STATUS_OK;
    for (size_t k = 0; k < model->planes && status == STATUS_OK; k++) {
        const double *n = model->plane[k].normal, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (!(length > 0 && isfinite(length)) || !isfinite(model->plane[k].offset))
            return error_set(err, STATUS_BAD_INPUT, "plane %zu: its normal (%g, %g, %g) has no direction", k, n[0],
                             n[1], n[2]);
        status = check_material(model, model->plane[k].material, "plane", k, err);
    }
    for (size_t i = 0; i < model->particles && (model->planes || model->faces) && status == STATUS_OK; i++)
        status = check_material(model, model->material ? model->material[i] : 0, "particle", i, err);
    for (size_t m = 0; m < model->materials && status == STATUS_OK; m++)
        if (!isfinite(model->contacts[m].margin) || !(model->contacts[m].fade >= 0 && model->contacts[m].fade < 1e30))
            status = error_set(err, STATUS_BAD_INPUT,
                               "material %zu: margin %g m, fade %g m; expected numbers, fade at least 0", m,
                               model->contacts[m].margin, model->contacts[m].fade);
    return status;
}

// Bodies are numbered from 0, and there are at most as many as particles.
static Status check_bodies(const SimModel *model, Error *err) {
    int32_t bodies = 0;
    for (size_t i = 0; i < model->particles && model->faces; i++) {
        if (!model->body || model->body[i] < 0 || (size_t)model->body[i] >= model->particles)
            return error_set(err, STATUS_BAD_INPUT, "particle %zu: body %d is not one of 0 to %zu", i,
                             model->body ? model->body[i] : -1, model->particles - 1);
        bodies = model->body[i] < bodies ? bodies : model->body[i] + 1;
    }
    for (size_t i = 0; i < 2 * model->joints && model->faces; i++)
        if (model->joined[i] < 0 || model->joined[i] >= bodies)
            return error_set(err, STATUS_BAD_INPUT, "joint %zu: body %d is not one of 0 to %d", i / 2, model->joined[i],
                             bodies - 1);
    for (size_t f = 0; f < model->faces; f++)
        for (size_t j = 0; j < 3; j++)
            if (model->body[model->face[3 * f + j]] != model->body[model->face[3 * f]])
                return error_set(err, STATUS_BAD_INPUT, "face %zu: particles %d and %d belong to different bodies", f,
                                 model->face[3 * f], model->face[3 * f + j]);
    return STATUS_OK;
}

// Springs, hinges, slides and sockets may hold a rigid body at something else, but not at itself.
static Status check_across(const SimModel *model, SimKind kind, Error *err) {
    const size_t corners = sim_corners(kind);
    for (size_t e = 0; e < sim_elements(model, kind); e++) {
        const int32_t *at = sim_element_particles(model, kind) + corners * e;
        size_t same = 1;
        while (same < corners && model->rigid[at[same]] == model->rigid[at[0]]) same++;
        if (model->rigid[at[0]] >= 0 && same == corners)
            return error_set(err, STATUS_BAD_INPUT, "%s %zu: particles %d and %d belong to one rigid body, %d",
                             kind_names[kind], e, at[0], at[1], model->rigid[at[0]]);
    }
    return STATUS_OK;
}

// The first tetrahedron that holds a particle of a rigid body.
static Status check_tets(const SimModel *model, Error *err) {
    for (size_t i = 0; i < 4 * model->tets; i++)
        if (model->rigid[model->tet[i]] >= 0)
            return error_set(err, STATUS_BAD_INPUT, "tet %zu: particle %d belongs to rigid body %d", i / 4,
                             model->tet[i], model->rigid[model->tet[i]]);
    return STATUS_OK;
}

// Each rigid body has three particles; a body that meets others is rigid as a whole or not at all. `count` (rigids) is
// zero, `of` (N) has room.
static Status check_members(const SimModel *model, int32_t *count, int32_t *of, Error *err) {
    for (size_t i = model->particles; i-- > 0;) {
        if (model->rigid[i] >= 0) count[model->rigid[i]]++;
        if (model->faces) of[model->body[i]] = model->rigid[i];
    }
    for (size_t i = 0; i < model->particles && model->faces; i++)
        if (of[model->body[i]] != model->rigid[i])
            return error_set(err, STATUS_BAD_INPUT, "particle %zu: body %d is rigid in part, or of two rigid bodies", i,
                             model->body[i]);
    for (size_t r = 0; r < model->rigids; r++)
        if (count[r] < 3)
            return error_set(err, STATUS_BAD_INPUT, "rigid body %zu has %d particles; it needs three", r, count[r]);
    return STATUS_OK;
}

static Status check_rigid_particles(const SimModel *model, Error *err) {
    for (size_t i = 0; i < model->particles; i++) {
        const int32_t rigid = model->rigid[i];
        if (rigid < -1 || (rigid >= 0 && (size_t)rigid >= model->rigids))
            return error_set(err, STATUS_BAD_INPUT, "particle %zu: there is no rigid body %d, only %zu of them", i,
                             rigid, model->rigids);
        if (rigid >= 0 && model->fixed && model->fixed[i])
            return error_set(err, STATUS_BAD_INPUT, "particle %zu of rigid body %d is fixed", i, rigid);
        if (model->inertia && !isfinite(model->inertia[i]))
            return error_set(err, STATUS_BAD_INPUT, "particle %zu: its share in the inertia is not finite", i);
    }
    return STATUS_OK;
}

static Status check_rigid(const SimModel *model, Error *err) {
    if (!model->rigids) return STATUS_OK;
    if (!model->rigid || model->rigids > model->particles)
        return error_set(err, STATUS_BAD_INPUT, "%zu rigid bodies of %zu particles", model->rigids, model->particles);
    Status status = check_rigid_particles(model, err);
    for (int k = 0; k < SIM_KINDS && status == STATUS_OK; k++)
        if (k != SIM_KIND_TET) status = check_across(model, (SimKind)k, err);
    if (status == STATUS_OK) status = check_tets(model, err);
    if (status != STATUS_OK) return status;
    int32_t *count = calloc(model->rigids, sizeof *count), *of = malloc(model->particles * sizeof *of);
    status = count && of ? check_members(model, count, of, err)
                         : error_set(err, STATUS_FAILED, "out of memory for %zu rigid bodies", model->rigids);
    free(count);
    free(of);
    return status;
}

Status sim_check_model(const SimModel *model, Error *err) {
    Status status = check_sizes(model, err);
    for (int k = 0; k < SIM_KINDS && status == STATUS_OK; k++)
        status = check_corners(model, kind_names[k], sim_element_particles(model, (SimKind)k),
                               sim_elements(model, (SimKind)k), sim_corners((SimKind)k), err);
    if (status == STATUS_OK) status = check_corners(model, "face", model->face, model->faces, 3, err);
    if (status == STATUS_OK) status = check_bodies(model, err);
    if (status == STATUS_OK) status = check_rigid(model, err);
    return status == STATUS_OK ? check_contact(model, err) : status;
}

static Status check_masses(const SimModel *model, const SimValues *values, Error *err) {
    for (size_t i = 0; i < model->scenes * model->particles; i++) {
        const size_t particle = i % model->particles;
        const double mass = values->of[SIM_MASS] ? values->of[SIM_MASS][i] : 0;
        if (!(model->fixed && model->fixed[particle]) && !(mass > 0))
            return error_set(
                err, STATUS_BAD_INPUT,
                "particle %zu of scene %zu: mass %g kg is not above 0; a particle that does not move is fixed",
                particle, i / model->particles, mass);
    }
    return STATUS_OK;
}

Status sim_check_values(const SimModel *model, const SimValues *values, Error *err) {
    for (SimValue v = SIM_GRAVITY; v < SIM_VALUES; v++) {
        const SimValueInfo *info = &sim_value_info[v];
        const size_t rows = sim_value_rows(model, v);
        for (size_t i = 0; values->of[v] && i < sim_value_count(model, 0, v); i++) {
            const double value = values->of[v][i];
            if (!(value >= info->low && value <= info->high))
                return error_set(err, STATUS_BAD_INPUT, "%s %zu of scene %zu: %g %s is not from %g to %g", info->name,
                                 i / info->axes % rows, i / info->axes / rows, value, info->unit, info->low,
                                 info->high);
        }
    }
    return check_masses(model, values, err);
}
