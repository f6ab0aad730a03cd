// SPDX-License-Identifier: Apache-2.0
// How the kernels of a step read and write packed arrays. Part of sim/cuda/phases.h.
namespace SIM_CUDA_SPACE {

constexpr size_t LANES = SIM_DEVICE_LANES;

struct alignas(16) Quad {
    real at[4];
};

static __device__ inline void read_quad(const void *array, size_t quad, Num out[3]) {
    const Quad q = static_cast<const Quad *>(array)[quad];
    UNROLL_LOOP(i, 3) out[i] = q.at[i];
}

static __device__ inline void write_quad(void *array, size_t quad, const Num in[3]) {
    Quad q;
    UNROLL_LOOP(i, 3) q.at[i] = in[i];
    q.at[3] = 0;
    static_cast<Quad *>(array)[quad] = q;
}

static __device__ inline void read_record(const void *array, size_t record, Num x[3], Num v[3]) {
    read_quad(array, 2 * record, x);
    read_quad(array, 2 * record + 1, v);
}

static __device__ inline void write_record(void *array, size_t record, const Num x[3], const Num v[3]) {
    write_quad(array, 2 * record, x);
    write_quad(array, 2 * record + 1, v);
}

// Where field f of struct `place` lies in blocks of structs of `fields` vectors.
static __device__ inline size_t field_at(size_t fields, size_t f, size_t place) {
    return (place / LANES * fields + f) * LANES + place % LANES;
}

// A struct of Num alone, from its fields in a packed array.
template <class T> static __device__ inline T read_fields(const void *packed, size_t place) {
    constexpr size_t FIELDS = sizeof(T) / sizeof(Num);
    Num all[FIELDS];
    UNROLL_LOOP(f, FIELDS) all[f] = static_cast<const real *>(packed)[field_at(FIELDS, f, place)];
    T out;
    memcpy(&out, all, sizeof out);
    return out;
}

// Adds fields FIRST .. LAST-1.
template <class T, unsigned FIRST, unsigned LAST>
static __device__ inline void add_fields(void *packed, size_t place, const T &part) {
    constexpr size_t FIELDS = sizeof(T) / sizeof(Num);
    Num all[FIELDS];
    memcpy(all, &part, sizeof part);
    UNROLL_LOOP(i, LAST - FIRST)
    static_cast<real *>(packed)[field_at(FIELDS, FIRST + i, place)] += all[FIRST + i];
}

// The whole warp takes part.
static __device__ inline void note_growth(const SimDevicePacked &a, double most) {
    most = warp_max(most);
    if (cuda_lane() != 0) return;
    unsigned long long bits; // not negative, so its bits are in its order
    memcpy(&bits, &most, sizeof bits);
    atomicMax(a.growth, bits);
}

template <class T> static __device__ inline T zeros() {
    T out;
    memset(&out, 0, sizeof out);
    return out;
}

} // namespace SIM_CUDA_SPACE
