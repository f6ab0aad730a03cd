// SPDX-License-Identifier: Apache-2.0
#include "sim/failure.h"

#include <math.h>
#include <stdio.h>

static double speed_of(const Sim *sim, const char *state, int32_t vertex) {
    double sum = 0;
    for (size_t c = SIM_QUAD; c < SIM_QUAD + 3; c++) {
        double u = sim_get(sim, state, (size_t)vertex * SIM_RECORD + c);
        sum += u * u;
    }
    return sqrt(sum);
}

// The first particle (of all scenes) whose record is not finite.
static size_t first_bad(const Sim *sim, const char *state) {
    size_t i = 0;
    for (; i < sim->topology.vertices; i++)
        for (size_t c = 0; c < SIM_RECORD; c++)
            if (!isfinite(sim_get(sim, state, (size_t)sim->topology.vertex_of[i] * SIM_RECORD + c))) return i;
    return i;
}

typedef struct Worst {
    SimKind kind;
    size_t element;
    double speed;
} Worst;

// Looks through the elements of one kind for those at `particle` of `scene`.
static void look(const Sim *sim, const char *before, SimKind kind, size_t scene, size_t particle, Worst *worst) {
    const int32_t *all = sim_element_particles(&sim->model, kind);
    const size_t corners = sim_corners(kind), N = sim->model.particles;
    for (size_t e = 0; e < sim_elements(&sim->model, kind); e++) {
        double speed = -1;
        bool here = false;
        for (size_t j = 0; j < corners; j++) {
            const size_t at = (size_t)all[corners * e + j];
            here |= at == particle;
            speed = fmax(speed, speed_of(sim, before, sim->topology.vertex_of[scene * N + at]));
        }
        if (here && speed > worst->speed) *worst = (Worst){kind, e, speed};
    }
}

Status sim_failure(const Sim *sim, const char *before, const char *after, size_t step, Error *err) {
    static const char *const names[SIM_KINDS] = {"spring", "tetrahedron", "hinge", "slide", "socket"};
    const size_t bad = first_bad(sim, after), N = sim->model.particles;
    Worst worst = {.speed = -1};
    for (int k = 0; k < SIM_KINDS; k++) look(sim, before, (SimKind)k, bad / N, bad % N, &worst);
    char element[64] = "", scene[32] = "";
    if (sim->model.scenes > 1) snprintf(scene, sizeof scene, " of scene %zu", bad / N);
    if (worst.speed >= 0) snprintf(element, sizeof element, " (%s %zu)", names[worst.kind], worst.element);
    return error_set(err, STATUS_FAILED,
                     "step %zu: the state of particle %zu%s%s is not finite; a smaller time step may help", step,
                     bad % N, element, scene);
}
