// SPDX-License-Identifier: Apache-2.0
#include "sim/values.h"

#include "sim/sim.h"

const SimValueInfo sim_value_info[SIM_VALUES] = {
    [SIM_POSITION] = {"position", "m", SIM_PER_PARTICLE, 3, -1e30, 1e30, "initial position"},
    [SIM_VELOCITY] = {"velocity", "m/s", SIM_PER_PARTICLE, 3, -1e30, 1e30, "initial velocity"},
    [SIM_FORCE] = {"force", "N", SIM_PER_CONTROL_PARTICLE, 3, -1e30, 1e30, "external force"},
    [SIM_ACTIVATION] = {"activation", "1", SIM_PER_CONTROL_TET, 1, -1e30, 1e30, "added to tet.act"},
    [SIM_DRIVE] = {"drive", "m/s", SIM_PER_CONTROL_PARTICLE, 3, -1e30, 1e30, "velocity of a fixed particle"},
    [SIM_GRAVITY] = {"gravity", "m/s2", SIM_PER_SCENE, 3, -1e30, 1e30, "acceleration of free particles"},
    [SIM_MASS] = {"mass", "kg", SIM_PER_PARTICLE, 1, 0, 1e30, "mass of a particle"},
    [SIM_REST] = {"rest", "m", SIM_PER_PARTICLE, 3, -1e30, 1e30, "position in the rest pose"},
    [SIM_SPRING_LENGTH] = {"spring.length", "m", SIM_PER_SPRING, 1, 0, 1e30, "rest length"},
    [SIM_SPRING_KE] = {"spring.k_e", "N/m", SIM_PER_SPRING, 1, 0, 1e30, "stiffness"},
    [SIM_SPRING_KD] = {"spring.k_d", "N s/m", SIM_PER_SPRING, 1, 0, 1e30, "damping"},
    [SIM_TET_MU] = {"tet.mu", "Pa", SIM_PER_TET, 1, 0, 1e30, "stiffness against change of shape"},
    [SIM_TET_LAMBDA] = {"tet.lambda", "Pa", SIM_PER_TET, 1, 0, 1e30, "stiffness against change of volume"},
    [SIM_TET_KD] = {"tet.k_d", "Pa s", SIM_PER_TET, 1, 0, 1e30, "damping"},
    [SIM_TET_ACT] = {"tet.act", "1", SIM_PER_TET, 1, -1e30, 1e30, "actuation; above 0 contracts"},
    [SIM_HINGE_KE] = {"hinge.k_e", "N", SIM_PER_HINGE, 1, 0, 1e30, "bending stiffness"},
    [SIM_HINGE_KD] = {"hinge.k_d", "N s", SIM_PER_HINGE, 1, 0, 1e30, "bending damping"},
    [SIM_HINGE_ANGLE] = {"hinge.angle", "rad", SIM_PER_HINGE, 1, -3.141592653589794, 3.141592653589794,
                         "rest angle; 0 is flat"},
    [SIM_CONTACT_KE] = {"contact.k_e", "N/m", SIM_PER_MATERIAL, 1, 0, 1e30, "stiffness of contact"},
    [SIM_CONTACT_KD] = {"contact.k_d", "N s/m", SIM_PER_MATERIAL, 1, 0, 1e30, "damping of contact"},
    [SIM_CONTACT_KF] = {"contact.k_f", "N s/m", SIM_PER_MATERIAL, 1, 0, 1e30, "friction at low speed"},
    [SIM_CONTACT_MU] = {"contact.mu", "1", SIM_PER_MATERIAL, 1, 0, 1e30, "coefficient of friction"},
    [SIM_TORQUE] = {"torque", "N m", SIM_PER_CONTROL_HINGE, 1, -1e30, 1e30, "opens a hinge, against its angle of rest"},
    [SIM_HINGE_LOW] = {"hinge.low", "rad", SIM_PER_HINGE, 1, -6.283185307179587, 6.283185307179587, "lower limit"},
    [SIM_HINGE_HIGH] = {"hinge.high", "rad", SIM_PER_HINGE, 1, -6.283185307179587, 6.283185307179587, "upper limit"},
    [SIM_STOP_KE] = {"hinge.stop_k_e", "N m", SIM_PER_HINGE, 1, 0, 1e30, "stiffness beyond a limit"},
    [SIM_STOP_KD] = {"hinge.stop_k_d", "N m s", SIM_PER_HINGE, 1, 0, 1e30, "damping beyond a limit"},
    [SIM_HINGE_FRICTION] = {"hinge.friction", "N m", SIM_PER_HINGE, 1, 0, 1e30, "Coulomb friction"},
    [SIM_HINGE_KF] = {"hinge.k_f", "N m s", SIM_PER_HINGE, 1, 0, 1e30, "friction at low speed"},
    [SIM_SLIDE_KE] = {"slide.k_e", "N/m", SIM_PER_SLIDE, 1, 0, 1e30, "stiffness"},
    [SIM_SLIDE_KD] = {"slide.k_d", "N s/m", SIM_PER_SLIDE, 1, 0, 1e30, "damping"},
    [SIM_SLIDE_POSITION] = {"slide.position", "m", SIM_PER_SLIDE, 1, -1e30, 1e30, "position of rest"},
    [SIM_SLIDE_LOW] = {"slide.low", "m", SIM_PER_SLIDE, 1, -1e30, 1e30, "lower limit"},
    [SIM_SLIDE_HIGH] = {"slide.high", "m", SIM_PER_SLIDE, 1, -1e30, 1e30, "upper limit"},
    [SIM_SLIDE_STOP_KE] = {"slide.stop_k_e", "N/m", SIM_PER_SLIDE, 1, 0, 1e30, "stiffness beyond a limit"},
    [SIM_SLIDE_STOP_KD] = {"slide.stop_k_d", "N s/m", SIM_PER_SLIDE, 1, 0, 1e30, "damping beyond a limit"},
    [SIM_SLIDE_FRICTION] = {"slide.friction", "N", SIM_PER_SLIDE, 1, 0, 1e30, "Coulomb friction"},
    [SIM_SLIDE_KF] = {"slide.k_f", "N s/m", SIM_PER_SLIDE, 1, 0, 1e30, "friction at low speed"},
    [SIM_THRUST] = {"thrust", "N", SIM_PER_CONTROL_SLIDE, 1, -1e30, 1e30, "pushes a slide towards larger positions"},
    [SIM_SOCKET_KE] = {"socket.k_e", "N m", SIM_PER_SOCKET, 1, 0, 1e30, "stiffness against turning"},
    [SIM_SOCKET_KD] = {"socket.k_d", "N m s", SIM_PER_SOCKET, 1, 0, 1e30, "damping of turning"},
    [SIM_SOCKET_HIGH] = {"socket.high", "rad", SIM_PER_SOCKET, 1, 0, 3.141592653589794, "limit of the swing"},
    [SIM_SOCKET_STOP_KE] = {"socket.stop_k_e", "N m", SIM_PER_SOCKET, 1, 0, 1e30, "stiffness beyond the limit"},
    [SIM_SOCKET_STOP_KD] = {"socket.stop_k_d", "N m s", SIM_PER_SOCKET, 1, 0, 1e30, "damping beyond the limit"},
    [SIM_SOCKET_FRICTION] = {"socket.friction", "N m", SIM_PER_SOCKET, 1, 0, 1e30, "Coulomb friction"},
    [SIM_SOCKET_KF] = {"socket.k_f", "N m s", SIM_PER_SOCKET, 1, 0, 1e30, "friction at low speed"},
};

size_t sim_value_rows(const SimModel *model, SimValue value) {
    switch (sim_value_info[value].per) {
    case SIM_PER_SCENE: return 1;
    case SIM_PER_SPRING: return model->springs;
    case SIM_PER_TET:
    case SIM_PER_CONTROL_TET: return model->tets;
    case SIM_PER_HINGE:
    case SIM_PER_CONTROL_HINGE: return model->hinges;
    case SIM_PER_SLIDE:
    case SIM_PER_CONTROL_SLIDE: return model->slides;
    case SIM_PER_SOCKET: return model->sockets;
    case SIM_PER_MATERIAL: return model->materials;
    default: return model->particles;
    }
}

size_t sim_value_count(const SimModel *model, size_t controls, SimValue value) {
    size_t count = model->scenes * sim_value_rows(model, value) * sim_value_info[value].axes;
    return sim_value_is_control(value) ? count * controls : count;
}
