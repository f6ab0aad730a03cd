// SPDX-License-Identifier: Apache-2.0
// The one table of differentiable values of the simulator. Gradient checks, fits, the scene reader and the
// documentation read it.
#ifndef VPD_SIM_VALUES_H
#define VPD_SIM_VALUES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum SimValue {
    // what a rollout is given
    SIM_POSITION,
    SIM_VELOCITY,
    SIM_FORCE,
    SIM_ACTIVATION,
    SIM_DRIVE,
    // parameters (sim_set)
    SIM_GRAVITY,
    SIM_MASS,
    SIM_REST, // shape of tets, and edge length of hinges; springs have lengths of their own
    SIM_SPRING_LENGTH,
    SIM_SPRING_KE,
    SIM_SPRING_KD,
    SIM_TET_MU,
    SIM_TET_LAMBDA,
    SIM_TET_KD,
    SIM_TET_ACT, // above 0 contracts
    SIM_HINGE_KE,
    SIM_HINGE_KD,
    SIM_HINGE_ANGLE,
    SIM_CONTACT_KE,
    SIM_CONTACT_KD,
    SIM_CONTACT_KF,
    SIM_CONTACT_MU,
    // a control, behind those before it, because draws of checks and tests count from the first
    SIM_TORQUE,
    // limits and friction of hinges, which most scenes leave out
    SIM_HINGE_LOW,
    SIM_HINGE_HIGH,
    SIM_STOP_KE, // beyond low and high
    SIM_STOP_KD,
    SIM_HINGE_FRICTION,
    SIM_HINGE_KF,
    // of slides
    SIM_SLIDE_KE,
    SIM_SLIDE_KD,
    SIM_SLIDE_POSITION,
    SIM_SLIDE_LOW,
    SIM_SLIDE_HIGH,
    SIM_SLIDE_STOP_KE, // beyond low and high
    SIM_SLIDE_STOP_KD,
    SIM_SLIDE_FRICTION,
    SIM_SLIDE_KF,
    SIM_THRUST, // a control
    // of sockets
    SIM_SOCKET_KE,
    SIM_SOCKET_KD,
    SIM_SOCKET_HIGH,
    SIM_SOCKET_STOP_KE, // beyond high
    SIM_SOCKET_STOP_KD,
    SIM_SOCKET_FRICTION,
    SIM_SOCKET_KF,
    SIM_VALUES
} SimValue;

// What one row of a value belongs to.
typedef enum SimPer {
    SIM_PER_SCENE,
    SIM_PER_PARTICLE,
    SIM_PER_SPRING,
    SIM_PER_TET,
    SIM_PER_HINGE,
    SIM_PER_SLIDE,
    SIM_PER_SOCKET,
    SIM_PER_MATERIAL,
    SIM_PER_CONTROL_PARTICLE, // per control interval and particle
    SIM_PER_CONTROL_TET,
    SIM_PER_CONTROL_HINGE,
    SIM_PER_CONTROL_SLIDE
} SimPer;

typedef struct SimValueInfo {
    const char *name; // "tet.mu"
    const char *unit;
    SimPer per;
    size_t axes;      // 1 or 3
    double low, high; // allowed values, both included
    const char *help;
} SimValueInfo;

extern const SimValueInfo sim_value_info[SIM_VALUES];

// One array per value: the values themselves, or gradients of a loss. (B,count,axes), controls (C,B,count,axes).
typedef struct SimValues {
    double *of[SIM_VALUES];
} SimValues;

static inline bool sim_value_is_control(SimValue value) {
    return (value >= SIM_FORCE && value <= SIM_DRIVE) || value == SIM_TORQUE || value == SIM_THRUST;
}
static inline bool sim_value_is_parameter(SimValue value) {
    return value >= SIM_GRAVITY && !sim_value_is_control(value);
}
static inline bool sim_value_is_stop(SimValue value) { return value >= SIM_HINGE_LOW && value <= SIM_HINGE_KF; }

struct SimModel;

// Rows of one scene (of one scene and control interval): N, springs, .., 1 for SIM_PER_SCENE.
size_t sim_value_rows(const struct SimModel *model, SimValue value);
// Doubles of the whole array; `controls` is sim_controls(run). 0 when the model has none of its kind.
size_t sim_value_count(const struct SimModel *model, size_t controls, SimValue value);

#endif
