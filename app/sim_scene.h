// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `vpd sim` share.
#ifndef VPD_APP_SIM_SCENE_H
#define VPD_APP_SIM_SCENE_H

#include "app/command.h"
#include "lab/scene.h"

// Reads the scene of the first argument, and warns about a time step above the stable bound.
Status sim_scene_read(const CommandLine *line, SimScene *scene, Error *err);
// 0 without --threads: as many as pay.
int sim_scene_threads(const CommandLine *line);

#endif
