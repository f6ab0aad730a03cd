// SPDX-License-Identifier: Apache-2.0
// Shadows go with the bodies that edits move, copy or remove (docs/model.md, "Shadows").
#include "edit/scene.h"

#include <stdlib.h>
#include <string.h>

static ShadeMemory memory_of(EditScene *scene) { return (ShadeMemory){scene->device, &scene->memory}; }

static ShadeScene shade_scene(const RolloutSet *set) { return (ShadeScene){set->N, set->positions, set->body}; }

Status scene_see_shadows(EditScene *scene, Error *err) {
    const RolloutFile *file = scene->file;
    RolloutSet *now = scene_now(scene);
    scene->shadows = NULL;
    arena_init(&scene->memory, arena_host_source());
    if (!rollout_has_light(file) || !now->body || !now->features || file->features) return STATUS_OK;
    ShadeScene shade = shade_scene(now);
    scene->shadows = shadows_find(memory_of(scene), &shade, file->light, now->D, now->features);
    if (!scene->shadows) return device_status(scene->device, err);
    now->shown = malloc((2 * now->N + 1) * sizeof *now->shown);
    if (!now->shown) return scene_no_memory(err);
    memcpy(now->shown, shadows_shown(scene->shadows), 2 * now->N * sizeof *now->shown);
    return STATUS_OK;
}

Status scene_cast_shadows(EditScene *scene, Status status, Error *err) {
    RolloutSet *now = scene_now(scene);
    if (status == STATUS_OK && scene->shadows && now->N > 0) {
        ShadeScene shade = shade_scene(now);
        shadows_cast(memory_of(scene), scene->shadows, &shade, now->shown, now->features);
        status = device_status(scene->device, err);
    }
    free(now->shown);
    now->shown = NULL;
    scene->shadows = NULL;
    arena_free(&scene->memory);
    return status;
}
