// SPDX-License-Identifier: Apache-2.0
// A step and its adjoint on a GPU, in the precision of `real`, within SIM_CUDA_SPACE. Forces: a block for each chunk, a
// thread for each element, which leaves its corners' forces in shared memory; then a thread for each slot adds those of
// its vertex in a fixed order. Vertices: a thread each, which adds its slots. So there are two launches a step, one
// more for each further kind of element, three where bodies meet (sim/cuda/touches.h) and one where bodies are rigid
// (sim/cuda/rigid.h), and no atomics but the one that marks a step whose state is not finite.
#include "nn/cuda/launch.h"
#include "nn/cuda/unroll.h"
#include "sim/contact.h"
#include "sim/cuda/functions.h"
#include "sim/hinge.h"
#include "sim/rigid_particle.h"
#include "sim/slide.h"
#include "sim/socket.h"
#include "sim/spring.h"
#include "sim/tet.h"
#include "sim/touching.h"
#include "sim/vertex.h"

#include "sim/cuda/records.h"
#include "sim/cuda/rigid.h"
#include "sim/cuda/touches.h"

namespace SIM_CUDA_SPACE {

// ---- elements

template <SimKind kind> struct Element;

// Elements of a chunk at most, each of a thread.
template <SimKind kind>
constexpr unsigned THREADS = kind == SIM_KIND_SOCKET ? unsigned{SIM_CHUNK_SOCKETS} : unsigned{SIM_CHUNK_ELEMENTS};

// Shared memory: (corners, axes, THREADS).
template <SimKind kind>
static __device__ inline void share(real *shared, unsigned corner, unsigned axes, unsigned axis, const Num in[3]) {
    UNROLL_LOOP(i, 3) shared[(corner * axes + axis + i) * THREADS<kind> + threadIdx.x] = in[i];
}

// What a control adds to an element.
static __device__ inline real control_at(const SimDevicePacked &a, SimKind kind, size_t place) {
    const real *control = static_cast<const real *>(a.packed.control[kind]);
    return control ? control[place] : 0;
}

static __device__ inline void add_control(const SimDeviceBack &b, SimKind kind, size_t place, Num gradient) {
    if (b.control[kind]) static_cast<real *>(b.control[kind])[place] += gradient;
}

template <> struct Element<SIM_KIND_SPRING> {
    static constexpr unsigned CORNERS = 2;
    static __device__ void force(const SimDevicePacked &a, size_t place, const Num x[2][3], const Num v[2][3],
                                 Num f[2][3]) {
        const SimSpring spring = read_fields<SimSpring>(a.packed.element[SIM_KIND_SPRING], place);
        Num d[3], rate[3];
        num_sub(x[0], x[1], d);
        num_sub(v[0], v[1], rate);
        sim_spring_force(&spring, d, rate, f[0]);
        UNROLL_LOOP(i, 3) f[1][i] = -f[0][i];
    }
    template <bool rest>
    static __device__ void adjoint(const SimDevicePacked &a, const SimDeviceBack &b, size_t place, const Num x[2][3],
                                   const Num v[2][3], const Num w[2][3], Num gx[2][3], Num gv[2][3]) {
        const SimSpring spring = read_fields<SimSpring>(a.packed.element[SIM_KIND_SPRING], place);
        SimSpring gradient = zeros<SimSpring>();
        Num d[3], rate[3], across[3];
        num_sub(x[0], x[1], d);
        num_sub(v[0], v[1], rate);
        num_sub(w[0], w[1], across);
        sim_spring_adjoint(&spring, d, rate, across, gx[0], gv[0], &gradient);
        UNROLL_LOOP(i, 3) gx[1][i] = -gx[0][i], gv[1][i] = -gv[0][i];
        add_fields<SimSpring, 0, 3>(b.back.element[SIM_KIND_SPRING], place, gradient);
    }
};

template <> struct Element<SIM_KIND_TET> {
    static constexpr unsigned CORNERS = 4, REST_FIELDS = 10, FIELDS = 14;
    static __device__ SimTet read(const SimDevicePacked &a, size_t place) {
        SimTet tet = read_fields<SimTet>(a.packed.element[SIM_KIND_TET], place);
        tet.act += control_at(a, SIM_KIND_TET, place);
        return tet;
    }
    static __device__ void force(const SimDevicePacked &a, size_t place, const Num x[4][3], const Num v[4][3],
                                 Num f[4][3]) {
        const SimTet tet = read(a, place);
        sim_tet_force(&tet, a.packed.by_strain, x, v, f);
    }
    template <bool rest>
    static __device__ void adjoint(const SimDevicePacked &a, const SimDeviceBack &b, size_t place, const Num x[4][3],
                                   const Num v[4][3], const Num w[4][3], Num gx[4][3], Num gv[4][3]) {
        const SimTet tet = read(a, place);
        SimTet gradient = zeros<SimTet>();
        sim_tet_adjoint(&tet, a.packed.by_strain, rest, x, v, w, gx, gv, &gradient);
        add_fields<SimTet, rest ? 0 : REST_FIELDS, FIELDS>(b.back.element[SIM_KIND_TET], place, gradient);
        add_control(b, SIM_KIND_TET, place, gradient.act);
    }
};

template <> struct Element<SIM_KIND_HINGE> {
    static constexpr unsigned CORNERS = 4, PARAMETERS = 4, STOP_FIELDS = 6;
    static __device__ SimHinge read(const SimDevicePacked &a, size_t place) {
        SimHinge hinge = read_fields<SimHinge>(a.packed.element[SIM_KIND_HINGE], place);
        hinge.torque += control_at(a, SIM_KIND_HINGE, place);
        return hinge;
    }
    // NULL: no hinge of the scene has any; else `out`.
    static __device__ const SimStop *read_stop(const SimDevicePacked &a, size_t place, SimStop *out) {
        if (!a.packed.stops) return nullptr;
        *out = read_fields<SimStop>(a.packed.element[SIM_TABLE_STOP], place);
        return out;
    }
    static __device__ void force(const SimDevicePacked &a, size_t place, const Num x[4][3], const Num v[4][3],
                                 Num f[4][3]) {
        const SimHinge hinge = read(a, place);
        SimStop stop;
        sim_hinge_force(&hinge, read_stop(a, place, &stop), x, v, f);
    }
    template <bool rest>
    static __device__ void adjoint(const SimDevicePacked &a, const SimDeviceBack &b, size_t place, const Num x[4][3],
                                   const Num v[4][3], const Num w[4][3], Num gx[4][3], Num gv[4][3]) {
        const SimHinge hinge = read(a, place);
        SimHinge gradient = zeros<SimHinge>();
        SimStop stop, of_stop = zeros<SimStop>();
        sim_hinge_adjoint(&hinge, read_stop(a, place, &stop), x, v, w, gx, gv, &gradient, &of_stop);
        add_fields<SimHinge, 0, PARAMETERS>(b.back.element[SIM_KIND_HINGE], place, gradient);
        if (a.packed.stops) add_fields<SimStop, 0, STOP_FIELDS>(b.back.element[SIM_TABLE_STOP], place, of_stop);
        add_control(b, SIM_KIND_HINGE, place, gradient.torque);
    }
};

template <> struct Element<SIM_KIND_SLIDE> {
    static constexpr unsigned CORNERS = 4, PARAMETERS = 9;
    static __device__ SimSlide read(const SimDevicePacked &a, size_t place) {
        SimSlide slide = read_fields<SimSlide>(a.packed.element[SIM_KIND_SLIDE], place);
        slide.force += control_at(a, SIM_KIND_SLIDE, place);
        return slide;
    }
    static __device__ void force(const SimDevicePacked &a, size_t place, const Num x[4][3], const Num v[4][3],
                                 Num f[4][3]) {
        const SimSlide slide = read(a, place);
        sim_slide_force(&slide, x, v, f);
    }
    template <bool rest>
    static __device__ void adjoint(const SimDevicePacked &a, const SimDeviceBack &b, size_t place, const Num x[4][3],
                                   const Num v[4][3], const Num w[4][3], Num gx[4][3], Num gv[4][3]) {
        const SimSlide slide = read(a, place);
        SimSlide gradient = zeros<SimSlide>();
        sim_slide_adjoint(&slide, x, v, w, gx, gv, &gradient);
        add_fields<SimSlide, 0, PARAMETERS>(b.back.element[SIM_KIND_SLIDE], place, gradient);
        add_control(b, SIM_KIND_SLIDE, place, gradient.force);
    }
};

template <> struct Element<SIM_KIND_SOCKET> {
    static constexpr unsigned CORNERS = 6, PARAMETERS = 7;
    static __device__ void force(const SimDevicePacked &a, size_t place, const Num x[6][3], const Num v[6][3],
                                 Num f[6][3]) {
        const SimSocket socket = read_fields<SimSocket>(a.packed.element[SIM_KIND_SOCKET], place);
        sim_socket_force(&socket, x, v, f);
    }
    // So much is known of a socket that registers run out in f64, unless w is read after its state is there, and all
    // gradients leave theirs as soon as they are known.
    static __device__ void adjoint(const SimDevicePacked &a, const SimDeviceBack &b, size_t place, const Num x[6][3],
                                   const Num v[6][3], real *shared) {
        const SimSocket socket = read_fields<SimSocket>(a.packed.element[SIM_KIND_SOCKET], place);
        SimSocket gradient = zeros<SimSocket>();
        SimSocketState state;
        SimSocketBack back;
        Num w[6][3];
        sim_socket_state(&socket, x, v, &state);
        UNROLL_LOOP(j, CORNERS)
        read_quad(b.back.w, static_cast<size_t>(a.vertex[SIM_KIND_SOCKET][field_at(CORNERS, j, place)]), w[j]);
        sim_socket_parameters_back(&socket, &state, w, &back, &gradient);
        add_fields<SimSocket, 0, PARAMETERS>(b.back.element[SIM_KIND_SOCKET], place, gradient);
        UNROLL_LOOP(k, 2) {
            Num gx[3][3], gv[3][3];
            sim_socket_particles_back(&state, &back, k, gx, gv);
            UNROLL_LOOP(j, 3) {
                share<SIM_KIND_SOCKET>(shared, 3 * k + j, 6, 0, gx[j]);
                share<SIM_KIND_SOCKET>(shared, 3 * k + j, 6, 3, gv[j]);
            }
        }
    }
};

// Vertex at corner j of an element.
template <SimKind kind> static __device__ inline size_t vertex_of(const SimDevicePacked &a, size_t place, unsigned j) {
    return static_cast<size_t>(a.vertex[kind][field_at(Element<kind>::CORNERS, j, place)]);
}

// The element of this thread in a chunk; false: there is none.
template <SimKind kind>
static __device__ inline bool place_of(const SimDevicePacked &a, const SimChunk &chunk, size_t *place) {
    *place = static_cast<size_t>(chunk.block) * LANES + threadIdx.x;
    return threadIdx.x < static_cast<size_t>(chunk.blocks) * LANES && *place < a.elements[kind];
}

// The sum over the corners of a slot.
template <SimKind kind>
static __device__ inline void add_corners(const SimDevicePacked &a, size_t slot, const real *shared, unsigned axes,
                                          unsigned axis, Num sum[3]) {
    UNROLL_LOOP(i, 3) sum[i] = 0;
    for (int32_t c = a.corners_of[slot]; c < a.corners_of[slot + 1]; c++) {
        const unsigned entry = a.corner_list[c], corner = entry / SIM_CHUNK_ELEMENTS,
                       element = entry % SIM_CHUNK_ELEMENTS;
        UNROLL_LOOP(i, 3) sum[i] += shared[(corner * axes + axis + i) * THREADS<kind> + element];
    }
}

template <SimKind kind> __global__ void forces(SimDevicePacked a, SimStep step) {
    constexpr unsigned CORNERS = Element<kind>::CORNERS;
    SHARED(real, shared);
    BLOCK_LOOP(c, a.kind_chunks[kind]) {
        const SimChunk chunk = a.packed.chunk[a.first_chunk[kind] + c];
        size_t place;
        if (place_of<kind>(a, chunk, &place)) {
            Num x[CORNERS][3], v[CORNERS][3], f[CORNERS][3];
            UNROLL_LOOP(j, CORNERS) read_record(step.state, vertex_of<kind>(a, place, j), x[j], v[j]);
            Element<kind>::force(a, place, x, v, f);
            UNROLL_LOOP(j, CORNERS) share<kind>(shared, j, 3, 0, f[j]);
        }
        __syncthreads();
        THREAD_LOOP(s, static_cast<size_t>(chunk.vertices)) {
            const size_t slot = static_cast<size_t>(chunk.slot) + s;
            Num sum[3];
            add_corners<kind>(a, slot, shared, 3, 0, sum);
            write_quad(step.slots, slot, sum);
        }
        __syncthreads(); // the next chunk writes where slots have read
    }
}

template <SimKind kind, bool rest> __global__ void forces_back(SimDevicePacked a, SimDeviceBack b) {
    constexpr unsigned CORNERS = Element<kind>::CORNERS;
    SHARED(real, shared);
    BLOCK_LOOP(c, a.kind_chunks[kind]) {
        const SimChunk chunk = a.packed.chunk[a.first_chunk[kind] + c];
        size_t place;
        if (place_of<kind>(a, chunk, &place)) {
            Num x[CORNERS][3], v[CORNERS][3];
            UNROLL_LOOP(j, CORNERS) read_record(b.back.state, vertex_of<kind>(a, place, j), x[j], v[j]);
            if constexpr (kind == SIM_KIND_SOCKET) Element<kind>::adjoint(a, b, place, x, v, shared);
            else {
                Num w[CORNERS][3], gx[CORNERS][3], gv[CORNERS][3];
                UNROLL_LOOP(j, CORNERS) read_quad(b.back.w, vertex_of<kind>(a, place, j), w[j]);
                Element<kind>::template adjoint<rest>(a, b, place, x, v, w, gx, gv);
                UNROLL_LOOP(j, CORNERS) {
                    share<kind>(shared, j, 6, 0, gx[j]);
                    share<kind>(shared, j, 6, 3, gv[j]);
                }
            }
        }
        __syncthreads();
        THREAD_LOOP(s, static_cast<size_t>(chunk.vertices)) {
            const size_t slot = static_cast<size_t>(chunk.slot) + s;
            Num sum[2][3];
            add_corners<kind>(a, slot, shared, 6, 0, sum[0]);
            add_corners<kind>(a, slot, shared, 6, 3, sum[1]);
            write_record(b.back.slots, slot, sum[0], sum[1]);
        }
        __syncthreads(); // the next chunk writes where slots have read
    }
}

// ---- vertices

static __device__ inline void read_plane(const double plane[4], Num n[3], Num *offset) {
    UNROLL_LOOP(i, 3) n[i] = static_cast<real>(plane[i]);
    *offset = static_cast<real>(plane[3]);
}

// Place of vertex i's contact with plane k.
static __device__ inline size_t contact_place(const SimPacked &p, size_t i, size_t k) {
    return (i / LANES * p.planes + k) * LANES + i % LANES;
}

static __device__ inline void add_contacts(const SimPacked &p, size_t i, const Num x[3], const Num v[3], Num f[3]) {
    for (size_t k = 0; k < p.planes; k++) {
        const SimContact contact = read_fields<SimContact>(p.contact, contact_place(p, i, k));
        Num n[3], offset;
        read_plane(p.plane[k], n, &offset);
        const Num depth = sim_contact_depth(&contact, n, offset, x);
        if (depth > 0) sim_contact_force(&contact, n, depth, v, f);
    }
}

static __device__ inline void contacts_back(const SimPacked &p, const SimBack &b, size_t i, const Num w[3], Num gx[3],
                                            Num gv[3]) {
    Num x[3], v[3];
    read_record(b.state, i, x, v);
    for (size_t k = 0; k < p.planes; k++) {
        const size_t place = contact_place(p, i, k);
        const SimContact contact = read_fields<SimContact>(p.contact, place);
        SimContact gradient = zeros<SimContact>();
        Num n[3], offset;
        read_plane(p.plane[k], n, &offset);
        const Num depth = sim_contact_depth(&contact, n, offset, x);
        if (!(depth > 0)) continue;
        Num g_depth, gn[3];
        sim_contact_adjoint(&contact, n, depth, v, w, &g_depth, gn, gv, &gradient);
        num_add_scaled(-g_depth, n, gx);
        add_fields<SimContact, 0, 4>(b.contact, place, gradient);
    }
}

// A fixed vertex goes as it is driven. Its place follows from that at the start of the control interval, since many
// small steps would be rounded away.
static __device__ inline void go_driven(const SimPacked &p, const SimStep &step, size_t i, Num x[3], Num v[3]) {
    const real *drive = static_cast<const real *>(p.drive);
    UNROLL_LOOP(c, 3) {
        v[c] = drive[field_at(SIM_DRIVE_FIELDS, c, i)];
        x[c] = drive[field_at(SIM_DRIVE_FIELDS, 3 + c, i)] + static_cast<real>(step.into) * v[c];
    }
}

static __global__ void vertices(SimDevicePacked a, SimStep step, unsigned long long number) {
    if (*a.bad_step < number) return;
    const SimPacked &p = a.packed;
    const real dt = static_cast<real>(p.dt);
    GRID_LOOP(i, p.vertex_blocks * LANES) {
        const SimVertex vertex = read_fields<SimVertex>(p.vertex, i);
        Num x[3], v[3], f[3] = {0, 0, 0}, part[3], off = 0; // off stays 0 while all are finite
        for (int32_t s = p.slots_of[i]; s < p.slots_of[i + 1]; s++) {
            read_quad(step.slots, static_cast<size_t>(p.slot_list[s]), part);
            num_add_scaled(1, part, f);
        }
        read_record(step.state, i, x, v);
        if (p.force) UNROLL_LOOP(c, 3) f[c] += static_cast<const real *>(p.force)[field_at(3, c, i)];
        add_contacts(p, i, x, v, f);
        if (step.touch) {
            read_quad(p.touching.sum, i, part);
            num_add_scaled(1, part, f);
        }
        if (step.total) write_quad(step.total, i, f);
        UNROLL_LOOP(c, 3) {
            v[c] += dt * (vertex.inverse_mass * f[c] + vertex.gravity[c]);
            x[c] += dt * v[c];
        }
        if (p.drive && !(vertex.inverse_mass > 0)) go_driven(p, step, i, x, v);
        UNROLL_LOOP(c, 3) off += (x[c] - x[c]) + (v[c] - v[c]);
        write_record(step.next, i, x, v);
        // Of rigid bodies rigid_step writes others, and what moves alone may overflow.
        if (!(off == 0) && !sim_is_rigid(&p, i)) atomicMin(a.bad_step, number);
    }
}

// The adjoint of the record after the step, from its parts.
static __device__ inline void read_adjoint(const SimPacked &p, const SimBack &b, size_t i, Num gx[3], Num gv[3]) {
    Num x[3], v[3];
    read_record(b.adjoint, i, gx, gv);
    for (int32_t s = b.last ? p.slots_of[i + 1] : p.slots_of[i]; s < p.slots_of[i + 1]; s++) {
        read_record(b.slots, static_cast<size_t>(p.slot_list[s]), x, v);
        num_add_scaled(1, x, gx);
        num_add_scaled(1, v, gv);
    }
    const void *const others[2] = {b.touch ? b.touch_sum : nullptr, b.loss};
    UNROLL_LOOP(k, 2) {
        if (!others[k]) continue;
        read_record(others[k], i, x, v);
        num_add_scaled(1, x, gx);
        num_add_scaled(1, v, gv);
    }
}

// A fixed vertex has the velocity that is given, whatever it had before.
static __device__ inline void drive_back(const SimBack &b, size_t i, Num gv[3]) {
    UNROLL_LOOP(c, 3) {
        if (b.drive) static_cast<real *>(b.drive)[field_at(3, c, i)] += gv[c];
        gv[c] = 0;
    }
}

// From the adjoint after the step to that before it, less what planes do; with the gradients of mass and gravity.
static __device__ inline void vertex_back(const SimPacked &p, const SimBack &b, size_t i, const Num gx[3], Num gv[3],
                                          Num w[3]) {
    const SimVertex vertex = read_fields<SimVertex>(p.vertex, i);
    const real dt = static_cast<real>(p.dt);
    SimVertex gradient;
    Num f[3];
    UNROLL_LOOP(c, 3) {
        gv[c] += dt * gx[c]; // q' = q + dt u'
        w[c] = dt * vertex.inverse_mass * gv[c];
    }
    write_quad(b.w, i, w);
    read_quad(b.total, i, f);
    gradient.inverse_mass = num_dot(w, f);
    UNROLL_LOOP(c, 3) gradient.gravity[c] = vertex.inverse_mass > 0 ? dt * gv[c] : 0;
    add_fields<SimVertex, 0, 4>(b.vertex, i, gradient);
    if (p.drive && !(vertex.inverse_mass > 0)) drive_back(b, i, gv);
}

static __global__ void vertices_back(SimDevicePacked a, SimBack b) {
    const SimPacked &p = a.packed;
    Num most = 0;
    GRID_LOOP(i, p.vertex_blocks * LANES) {
        Num gx[3], gv[3], w[3];
        if (b.state && sim_is_rigid(&p, i)) { // rigid_back has been there
            read_record(b.adjoint, i, gx, gv);
            read_quad(b.w, i, w);
        } else {
            read_adjoint(p, b, i, gx, gv);
            UNROLL_LOOP(c, 3) most = num_max(most, num_max(real_fabs(gx[c]), real_fabs(gv[c])));
            if (b.state) vertex_back(p, b, i, gx, gv, w);
        }
        if (b.state) {
            if (b.force) UNROLL_LOOP(c, 3) static_cast<real *>(b.force)[field_at(3, c, i)] += w[c];
            contacts_back(p, b, i, w, gx, gv);
        }
        write_record(b.adjoint, i, gx, gv);
    }
    note_growth(a, static_cast<double>(most));
}

// ---- a step

static size_t vertex_count(const SimDevicePacked *a) { return a->packed.vertex_blocks * LANES; }

template <SimKind kind> static void launch_forces(Device *device, const SimDevicePacked *a, const SimStep *s) {
    constexpr size_t SHARED_BYTES = Element<kind>::CORNERS * 3 * THREADS<kind> * sizeof(real);
    LAUNCH(device, cuda_blocks(a->kind_chunks[kind], 1), THREADS<kind>, SHARED_BYTES, forces<kind>, *a, *s);
}

void step(Device *device, const SimDevicePacked *a, const SimStep *s, unsigned long long number) {
    if (!cuda_op(device, "sim step", vertex_count(a), a->packed.chunks)) return;
    launch_forces<SIM_KIND_SPRING>(device, a, s);
    launch_forces<SIM_KIND_TET>(device, a, s);
    launch_forces<SIM_KIND_HINGE>(device, a, s);
    launch_forces<SIM_KIND_SLIDE>(device, a, s);
    launch_forces<SIM_KIND_SOCKET>(device, a, s);
    launch_touches<false>(device, a, s->state, SimBack());
    LAUNCH(device, cuda_blocks(vertex_count(a)), CUDA_THREADS, 0, vertices, *a, *s, number);
    LAUNCH(device, cuda_blocks(a->packed.rigids, 1), RIGID_THREADS, sizeof(SharedRigid), rigid_step, *a, *s, number);
}

template <SimKind kind, bool rest>
static void launch_back(Device *device, const SimDevicePacked *a, const SimDeviceBack *b) {
    constexpr size_t SHARED_BYTES = Element<kind>::CORNERS * 6 * THREADS<kind> * sizeof(real);
    LAUNCH(device, cuda_blocks(a->kind_chunks[kind], 1), THREADS<kind>, SHARED_BYTES, (forces_back<kind, rest>), *a,
           *b);
}

void back(Device *device, const SimDevicePacked *a, const SimDeviceBack *b) {
    if (!cuda_op(device, "sim step backward", vertex_count(a), a->packed.chunks)) return;
    if (b->back.state)
        LAUNCH(device, cuda_blocks(a->packed.rigids, 1), RIGID_THREADS, sizeof(SharedRigid), rigid_back, *a, b->back);
    LAUNCH(device, cuda_blocks(vertex_count(a)), CUDA_THREADS, 0, vertices_back, *a, b->back);
    if (!b->back.state) return;
    launch_back<SIM_KIND_SPRING, false>(device, a, b);
    if (b->back.rest) launch_back<SIM_KIND_TET, true>(device, a, b);
    else launch_back<SIM_KIND_TET, false>(device, a, b);
    launch_back<SIM_KIND_HINGE, false>(device, a, b);
    launch_back<SIM_KIND_SLIDE, false>(device, a, b);
    launch_back<SIM_KIND_SOCKET, false>(device, a, b);
    launch_touches<true>(device, a, b->back.state, b->back);
}

} // namespace SIM_CUDA_SPACE
