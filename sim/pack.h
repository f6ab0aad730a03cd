// SPDX-License-Identifier: Apache-2.0
// Values of the caller into packed arrays (sim/backend.h), and gradients back.
#ifndef VPD_SIM_PACK_H
#define VPD_SIM_PACK_H

#include "sim/solver.h"

extern const size_t sim_element_fields[SIM_TABLES]; // reals of a lane of SimSpring, SimTet, ..
// Bytes of the packed arrays.
size_t sim_element_bytes(const Sim *sim, int table);
size_t sim_vertex_bytes(const Sim *sim);
size_t sim_contact_bytes(const Sim *sim);
size_t sim_rigid_mass_bytes(const Sim *sim);

// The packed arrays of one set of parameters, or of their gradients: allocates and zeroes them; zeroes them.
Status sim_pack_allocate(Sim *sim, void *element[SIM_TABLES], void **vertex, void **contact, Error *err);
void sim_pack_clear(const Sim *sim, void *const element[SIM_TABLES], void *vertex, void *contact);

// Rigid bodies: room for what sim_pack_parameters says of them.
Status sim_make_rigid(Sim *sim, Error *err);

// Parameters into sim->packed. STATUS_BAD_INPUT: an inverted or flat tetrahedron.
Status sim_pack_parameters(Sim *sim, const SimValues *values, Error *err);

// Records from position and velocity (B,N,3); either may be NULL: zero.
void sim_pack_records(const Sim *sim, const double *position, const double *velocity, void *records);
void sim_unpack_records(const Sim *sim, const void *records, double *position, double *velocity);

// What sim->back holds, into the parameters' arrays of `gradient`.
void sim_unpack_parameters(const Sim *sim, const SimValues *gradient);

#endif
