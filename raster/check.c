// SPDX-License-Identifier: Apache-2.0
#include "raster/check.h"

#include "base/check.h"
#include "raster/prepare.h"

#include <math.h>

enum { SIDE_MAX = 16384 };

static bool finite_all(const double *values, size_t count, size_t *bad) {
    for (*bad = 0; *bad < count; ++*bad)
        if (!isfinite(values[*bad])) return false;
    return true;
}

Status raster_check_options(const RasterOptions *o, Error *err) {
    const double width[] = {o->sigma, o->gamma, o->delta};
    const char *const name[] = {"sigma", "gamma", "delta"};
    for (int i = 0; i < 3; i++)
        if (!(width[i] > 0 && width[i] <= 1e6))
            return error_set(err, STATUS_BAD_INPUT, "rasteriser: %s is %g, not a number above 0", name[i], width[i]);
    if (o->samples < 1 || o->samples > 2)
        return error_set(err, STATUS_BAD_INPUT, "rasteriser: %d samples along a pixel; use 1 or 2", o->samples);
    if (o->shadow_size < 1 || o->shadow_size > SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "rasteriser: a shadow map of side %d; use 1 to %d", o->shadow_size,
                         SIDE_MAX);
    return STATUS_OK;
}

static Status check_texture(const RasterMesh *mesh, size_t number, Error *err) {
    size_t bad;
    if (!mesh->texel) return STATUS_OK;
    if (!mesh->uv) return error_set(err, STATUS_BAD_INPUT, "mesh %zu has a texture, but no uv", number);
    if (mesh->texture_H < 1 || mesh->texture_W < 1 || mesh->texture_H > SIDE_MAX || mesh->texture_W > SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: a texture of %d x %d; sides are 1 to %d", number,
                         mesh->texture_H, mesh->texture_W, SIDE_MAX);
    if (!finite_all(mesh->uv, 6 * mesh->faces, &bad))
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: uv of face %zu is not finite", number, bad / 6);
    if (!finite_all(mesh->texel, 3 * (size_t)mesh->texture_H * (size_t)mesh->texture_W, &bad))
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: texel %zu is not finite", number, bad / 3);
    return STATUS_OK;
}

static Status check_mesh(const RasterMesh *mesh, size_t number, Error *err) {
    size_t bad;
    if (!finite_all(mesh->position, 3 * mesh->vertices, &bad))
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: the position of vertex %zu is not finite", number, bad / 3);
    if (mesh->colour && !finite_all(mesh->colour, 3 * mesh->vertices, &bad))
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: the colour of vertex %zu is not finite", number, bad / 3);
    for (size_t i = 0; i < 3 * mesh->faces; i++)
        if (mesh->face[i] < 0 || (size_t)mesh->face[i] >= mesh->vertices)
            return error_set(err, STATUS_BAD_INPUT, "mesh %zu: face %zu names vertex %d of %zu", number, i / 3,
                             (int)mesh->face[i], mesh->vertices);
    if (!isfinite(mesh->specular) || (mesh->specular != 0 && !(mesh->shininess >= 1 && isfinite(mesh->shininess))))
        return error_set(err, STATUS_BAD_INPUT, "mesh %zu: specular %g with shininess %g; shininess is at least 1",
                         number, mesh->specular, mesh->shininess);
    return check_texture(mesh, number, err);
}

static Status check_lights(const RasterScene *scene, Error *err) {
    size_t bad, shadows = 0;
    for (size_t k = 0; k < scene->lights; k++) {
        const RasterLight *light = &scene->light[k];
        double unit[3], length = light_unit(light->direction, unit);
        if (!(length > 0) || !isfinite(length) || !finite_all(light->colour, 3, &bad))
            return error_set(err, STATUS_BAD_INPUT, "light %zu has no direction, or a number that is not finite", k);
        shadows += light->shadow;
    }
    if (shadows > RASTER_SHADOWS)
        return error_set(err, STATUS_BAD_INPUT, "%zu lights cast shadows; at most %d may", shadows, RASTER_SHADOWS);
    if (scene->harmonics && !finite_all(scene->harmonics, 27, &bad))
        return error_set(err, STATUS_BAD_INPUT, "harmonic %zu is not finite", bad / 3);
    if (!finite_all(scene->background, 3, &bad))
        return error_set(err, STATUS_BAD_INPUT, "the background's colour is not finite");
    return STATUS_OK;
}

Status raster_check_scene(const RasterScene *scene, Error *err) {
    size_t vertices = 0, faces = 0;
    for (size_t m = 0; m < scene->meshes; m++) {
        const RasterMesh *mesh = &scene->mesh[m];
        if (!size_add(vertices, mesh->vertices, &vertices) || !size_add(faces, mesh->faces, &faces) ||
            vertices > INT32_MAX / 4 || faces > INT32_MAX / 4)
            return error_set(err, STATUS_BAD_INPUT, "more than %d vertices or faces", INT32_MAX / 4);
        Status status = check_mesh(mesh, m, err);
        if (status != STATUS_OK) return status;
    }
    return check_lights(scene, err);
}

Status raster_check_camera(const RasterCamera *camera, Error *err) {
    size_t bad;
    if (camera->H < 1 || camera->W < 1 || camera->H > SIDE_MAX || camera->W > SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "a picture of %d x %d; sides are 1 to %d", camera->H, camera->W,
                         SIDE_MAX);
    if (!finite_all(camera->K, 9, &bad) || !finite_all(camera->world_from_camera, 16, &bad))
        return error_set(err, STATUS_BAD_INPUT, "the camera has a number that is not finite");
    if (!(camera->near > 0 && camera->near < camera->far && isfinite(camera->far)))
        return error_set(err, STATUS_BAD_INPUT, "near %g and far %g: expected 0 < near < far", camera->near,
                         camera->far);
    return STATUS_OK;
}
