// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `vpd sim` share.
#ifndef VPD_APP_SIM_SCENE_H
#define VPD_APP_SIM_SCENE_H

#include "app/command.h"
#include "lab/scene.h"
#include "nn/device.h"

// Warns about a time step above the stable bound.
void sim_scene_warn(const CommandLine *line, const SimScene *scene);
// Reads the scene of the first argument, and warns so.
Status sim_scene_read(const CommandLine *line, SimScene *scene, Error *err);

#define FLAG_SIM_DEVICE                                                                                                \
    { .name = "device", .value = "DEVICE", .help = "cpu, cpu:ISA, cuda, cuda:NUMBER or auto (default cpu)" }
// Where --device says to simulate; close *device (which may be NULL) afterwards.
Status sim_scene_device(const CommandLine *line, Device **device, SimOptions *on, Error *err);

#endif
