// SPDX-License-Identifier: Apache-2.0
// How well the network of bodies/ learns contact from exact states, and how fast (docs/experiments.md, "Contact from
// states"):
//   python benchmarks/contact_states.py train.h5 3000 11; python benchmarks/contact_states.py test.h5 400 77
//   cmake --build BUILD --target bench_contact
//   BUILD/bench_contact train.h5 test.h5 UPDATES C THREADS SEED ERROR
// ERROR: cm; what a body's motion up to the present is wrong by in a frame, on the average; its rotation by a seventh
// of that in radians. Prints the errors of centres in cm at steps 1, 3, 6 and 12, the slope of horizontal motion at 6
// and 12, how deep bodies stand in the floor or each other, and how many rest after 50 steps.
#include "base/camera.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/sort.h"
#include "bodies/body_network.h"
#include "nn/optimizer.h"
#include "nn/reduce.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, ROUNDS = 4, POINTS = 48, BODIES = 2, STEPS = 12, LONG = 50, LONGEST = 7 + STEPS };
static const BodyScales scales = {.reach = 0.15f, .length = 0.125f, .speed = 0.1f, .step = 0.05f};

static void stop_if(bool wrong, const char *what) {
    if (!wrong) return;
    fprintf(stderr, "bench_contact: %s\n", what);
    exit(1);
}

static void stop_unless(Status status, const Error *err) { stop_if(status != STATUS_OK, err->text); }

// ---- data

typedef struct States {
    size_t E, T;
    float *points, *centre; // (E,T,BODIES,POINTS,3), (E,T,BODIES,3) metres
    unsigned char *seen;    // (E,T,BODIES,POINTS)
    int *bodies;            // (E)
} States;

static void *read_array(hid_t file, const char *name, hid_t type, size_t size, hsize_t dims[5]) {
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    stop_if(set < 0 || H5Sget_simple_extent_ndims(space) > 5 || H5Sget_simple_extent_dims(space, dims, NULL) < 1,
            "the file is not from contact_states.py");
    void *out = malloc((size_t)H5Sget_simple_extent_npoints(space) * size);
    stop_if(!out || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0, "the file cannot be read");
    H5Sclose(space);
    H5Dclose(set);
    return out;
}

static States read_states(const char *path) {
    hsize_t dims[5] = {0}, centre[5] = {0}, seen[5] = {0}, bodies[5] = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    stop_if(file < 0, "the file cannot be opened");
    States s = {.points = read_array(file, "points", H5T_NATIVE_FLOAT, sizeof(float), dims),
                .centre = read_array(file, "centre", H5T_NATIVE_FLOAT, sizeof(float), centre),
                .seen = read_array(file, "seen", H5T_NATIVE_UCHAR, 1, seen),
                .bodies = read_array(file, "bodies", H5T_NATIVE_INT, sizeof(int), bodies)};
    bool good = dims[2] == BODIES && dims[3] == POINTS && dims[4] == 3 && seen[3] == POINTS && bodies[0] == dims[0];
    for (int d = 0; d < 3; d++) good = good && centre[d] == dims[d] && seen[d] == dims[d];
    for (hsize_t e = 0; good && e < dims[0]; e++) good = s.bodies[e] >= 0 && s.bodies[e] <= BODIES;
    stop_if(!good || dims[1] <= LONGEST + 1, "the file has other bodies, points or frames");
    s.E = dims[0], s.T = dims[1];
    H5Fclose(file);
    return s;
}

// A body of an episode at a frame.
static size_t body_at(const States *s, size_t episode, size_t frame, size_t body) {
    return (episode * s->T + frame) * BODIES + body;
}

// ---- windows

typedef struct Window {
    size_t episode, frame;
    double cosine, sine; // rotation about the vertical
} Window;

typedef struct Batch {
    BodySet set;
    BodyInputs inputs;
    Window window[BATCH];
    size_t windows;
    size_t body[BATCH * BODIES], owner[BATCH * BODIES]; // number within its episode, window
    size_t point[BATCH * BODIES * BODY_NODES];          // of each node
    RigidMotion motion[BATCH * BODIES];
    double whole[BATCH * BODIES][POINTS + 1][3]; // all points of the bodies and their centres, moved along
} Batch;

static uint64_t draws; // of the keyed random numbers

static double uniform(uint32_t seed) {
    return (double)random_uniform((RandomKey){.seed = seed, .purpose = RANDOM_TEST}, draws++);
}

static double normal(uint32_t seed) { return sqrt(-2 * log(uniform(seed))) * cos(6.283185307179586 * uniform(seed)); }

static void turned(const Window *w, const float *x, real *y) {
    y[0] = (real)(w->cosine * (double)x[0] - w->sine * (double)x[1]);
    y[1] = (real)(w->sine * (double)x[0] + w->cosine * (double)x[1]);
    y[2] = x[2];
}

// Moves points about their middle by a random rigid motion of `error` cm and error / 7 radians on the average.
static void disturb(uint32_t seed, double error, size_t count, real *x) {
    double axis[3], square = 1e-12;
    RigidMotion m = rigid_motion_fit(count, x, x);
    for (int c = 0; c < 3; c++) {
        m.to[c] += normal(seed) * error / 159.6; // the mean length of a normal vector is 1.596 deviations
        axis[c] = normal(seed) * error / 7 / 1.596;
        square += axis[c] * axis[c];
    }
    double angle = sqrt(square), s = sin(angle / 2) / angle;
    rotation_from_quaternion((double[4]){cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]}, m.rotation);
    for (size_t i = 0; i < count; i++) {
        real y[3];
        rigid_motion_apply(&m, x + 3 * i, y);
        memcpy(x + 3 * i, y, sizeof y);
    }
}

static void add_body(Batch *b, const States *s, size_t window, size_t number, double error, uint32_t seed) {
    const Window *w = &b->window[window];
    size_t at = body_at(s, w->episode, w->frame, number), before = body_at(s, w->episode, w->frame - 1, number);
    const unsigned char *seen = s->seen + at * POINTS;
    size_t all = 0, count = 0, row = b->set.nodes, body = b->set.bodies, chosen[BODY_NODES], index[POINTS];
    real now[3 * POINTS], was[3 * POINTS];
    Error err;
    for (size_t i = 0; i < POINTS; i++) all += seen[i];
    for (size_t i = 0; i < POINTS; i++) {
        if (!seen[i] && all >= 6) continue;
        turned(w, s->points + 3 * (at * POINTS + i), now + 3 * count);
        turned(w, s->points + 3 * (before * POINTS + i), was + 3 * count);
        index[count++] = i;
    }
    if (error > 0) disturb(seed, error, count, was);
    stop_unless(body_set_add_points(&b->set, count, now, was, chosen, &err), &err);
    for (size_t n = row; n < b->set.nodes; n++) b->point[n] = index[chosen[n - row]];
    b->body[body] = number, b->owner[body] = window;
    for (size_t i = 0; i <= POINTS; i++) {
        real y[3];
        turned(w, i < POINTS ? s->points + 3 * (at * POINTS + i) : s->centre + 3 * at, y);
        for (int c = 0; c < 3; c++) b->whole[body][i][c] = (double)y[c];
    }
}

// The floor is all that stands still.
static void fill(Batch *b, const States *s, double error, uint32_t seed) {
    Error err;
    body_set_clear(&b->set);
    for (size_t w = 0; w < b->windows; w++) {
        stop_unless(body_set_add_window(&b->set, &err), &err);
        stop_unless(body_set_add_patch(&b->set, (SurfacePatch){{0, 0, 0}, {0, 0, 1}, INFINITY}, &err), &err);
        for (size_t n = 0; n < (size_t)s->bodies[b->window[w].episode]; n++) add_body(b, s, w, n, error, seed);
    }
}

// The inputs of the next step, and the network's output.
static Tensor *ask(Batch *b, Tape *tape, const BodyNetwork *network) {
    Error err;
    stop_unless(body_inputs_make(&b->set, &scales, &b->inputs, &err), &err);
    tape_reset(tape);
    return body_network_run(tape, network, &b->set, &b->inputs);
}

static void move(Batch *b, const real *output) {
    body_motions(&b->set, &scales, &b->inputs, output, b->motion);
    body_set_move(&b->set, b->motion);
    for (size_t p = 0; p < b->set.bodies; p++)
        for (size_t i = 0; i <= POINTS; i++) {
            real x[3], y[3];
            for (int c = 0; c < 3; c++) x[c] = (real)b->whole[p][i][c];
            rigid_motion_apply(&b->motion[p], x, y);
            for (int c = 0; c < 3; c++) b->whole[p][i][c] = (double)y[c];
        }
}

// ---- training

// Mean over bodies of the pseudo-Huber distance between where the network and where the video takes the nodes.
static Tensor *loss_of(Batch *b, const States *s, Tape *tape, Tensor *output, size_t step, double scale) {
    const BodySet *set = &b->set;
    real *target = tape_context(tape, 3 * set->nodes * sizeof *target),
         *weight = tape_context(tape, set->nodes * sizeof *weight);
    for (size_t p = 0; p < set->bodies; p++) {
        const Window *w = &b->window[b->owner[p]];
        size_t at = body_at(s, w->episode, w->frame + step, b->body[p]), first = set->first_node[p];
        for (size_t i = first; i < set->first_node[p + 1]; i++) {
            real y[3];
            turned(w, s->points + 3 * (at * POINTS + b->point[i]), y);
            for (size_t c = 0; c < 3; c++)
                target[3 * i + c] = (y[c] - set->now[3 * i + c] - b->inputs.carried[3 * i + c]) / scales.step;
            weight[i] = 1 / (real)((set->first_node[p + 1] - first) * set->bodies);
        }
    }
    return reduce_huber(tape, output, tape_upload(tape, target, 3 * set->nodes, sizeof *target),
                        tape_upload(tape, weight, set->nodes, sizeof *weight), 0.01 / (double)scales.step, scale);
}

static size_t rollout_at(double share) { return share < 0.4 ? 1 : share < 0.6 ? 2 : share < 0.85 ? 3 : 6; }

static void draw_windows(Batch *b, const States *s, size_t rollout, uint32_t seed) {
    b->windows = BATCH;
    for (size_t w = 0; w < BATCH; w++) {
        double angle = 6.283185307179586 * uniform(seed);
        size_t frames = s->T - rollout - 1;
        b->window[w] = (Window){(size_t)(uniform(seed) * (double)s->E), 1 + (size_t)(uniform(seed) * (double)frames),
                                cos(angle), sin(angle)};
    }
}

// Each step of a rollout is a loss of its own: no gradient goes through the steps before.
static void learn(Batch *b, const States *s, Tape *tape, const BodyNetwork *network, size_t rollout) {
    for (size_t k = 1; k <= rollout; k++) {
        real host[3 * BATCH * BODIES * BODY_NODES];
        Tensor *output = ask(b, tape, network);
        Tensor *loss = loss_of(b, s, tape, output, k, 1 / (double)rollout);
        memcpy(host, output->value, 3 * b->set.nodes * sizeof *host);
        tape_backward(tape, loss);
        if (k < rollout) move(b, host);
    }
}

// ---- evaluation

typedef struct Sums {
    double error[STEPS + 1], product[STEPS + 1], square[STEPS + 1], depth;
    double *worst; // mm, of each body
    size_t bodies, resting;
} Sums;

// How deep the points of body p are below the floor, or within the other body: nearer to its centre than that body's
// point in the same direction.
static double depth_of(const Batch *b, size_t p) {
    double deepest = 0;
    for (size_t i = 0; i < POINTS; i++) deepest = fmax(deepest, -b->whole[p][i][2]);
    size_t w = b->owner[p];
    for (size_t o = b->set.first_body[w]; o < b->set.first_body[w + 1]; o++)
        for (size_t i = 0; o != p && i < POINTS; i++) {
            const double *x = b->whole[p][i], *centre = b->whole[o][POINTS];
            double best = 0.9, there = 0,
                   away = sqrt(pow(x[0] - centre[0], 2) + pow(x[1] - centre[1], 2) + pow(x[2] - centre[2], 2));
            for (size_t j = 0; j < POINTS; j++) {
                double along = 0, length = 1e-12;
                for (int c = 0; c < 3; c++) {
                    double d = b->whole[o][j][c] - centre[c];
                    along += d * (x[c] - centre[c]) / (away + 1e-12), length += d * d;
                }
                if (along / sqrt(length) > best) best = along / sqrt(length), there = sqrt(length);
            }
            deepest = fmax(deepest, there - away);
        }
    return deepest;
}

static void compare(const Batch *b, const States *s, const double start[][3], size_t step, Sums *sums) {
    for (size_t p = 0; p < b->set.bodies; p++) {
        const Window *w = &b->window[b->owner[p]];
        const float *truth = s->centre + 3 * body_at(s, w->episode, w->frame + step, b->body[p]);
        const double *centre = b->whole[p][POINTS];
        double square = 0, depth = 1000 * depth_of(b, p);
        for (int c = 0; c < 3; c++) square += pow(centre[c] - (double)truth[c], 2);
        for (int c = 0; c < 2; c++) {
            sums->product[step] += (centre[c] - start[p][c]) * ((double)truth[c] - start[p][c]);
            sums->square[step] += pow((double)truth[c] - start[p][c], 2);
        }
        sums->error[step] += 100 * sqrt(square);
        sums->depth += depth / STEPS;
        sums->worst[sums->bodies + p] = fmax(sums->worst[sums->bodies + p], depth);
    }
}

static void roll_out(Batch *b, const States *s, Tape *tape, const BodyNetwork *network, Sums *sums) {
    double start[BATCH * BODIES][3], before[BATCH * BODIES][3];
    for (size_t p = 0; p < b->set.bodies; p++) memcpy(start[p], b->whole[p][POINTS], sizeof start[p]);
    for (size_t k = 1; k <= LONG; k++) {
        for (size_t p = 0; p < b->set.bodies; p++) memcpy(before[p], b->whole[p][POINTS], sizeof before[p]);
        move(b, ask(b, tape, network)->value);
        if (k <= STEPS) compare(b, s, start, k, sums);
    }
    for (size_t p = 0; p < b->set.bodies; p++) { // at rest: slower than 10 cm/s
        const double *x = b->whole[p][POINTS], *y = before[p];
        sums->resting += sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)) < 0.1 / 24;
    }
    sums->bodies += b->set.bodies;
}

static void evaluate(Batch *b, const States *s, Device *device, const BodyNetwork *network, double error,
                     const char *name) {
    Sums sums = {.worst = calloc(2 * s->E * BODIES, sizeof(double))};
    Tape tape;
    tape_init(&tape, device);
    tape.recording = false;
    draws = 0;
    for (size_t start = 3; start <= 7; start += 4)
        for (size_t first = 0; first < s->E; first += BATCH) {
            b->windows = s->E - first < BATCH ? s->E - first : BATCH;
            for (size_t w = 0; w < b->windows; w++) b->window[w] = (Window){first + w, start, 1, 0};
            fill(b, s, error, 99);
            roll_out(b, s, &tape, network, &sums);
        }
    double n = (double)sums.bodies;
    sort_doubles(sums.worst, sums.bodies);
    printf("%s: %.2f / %.2f / %.2f / %.2f cm, slope %.2f / %.2f, depth mean %.1f, worst of a rollout %.1f mm (median), "
           "resting %.3f\n",
           name, sums.error[1] / n, sums.error[3] / n, sums.error[6] / n, sums.error[12] / n,
           sums.product[6] / sums.square[6], sums.product[12] / sums.square[12], sums.depth / n,
           sums.worst[sums.bodies / 2], (double)sums.resting / n);
    tape_free(&tape);
    free(sums.worst);
}

int main(int argc, char **argv) {
    stop_if(argc != 8, "expected TRAIN.h5 TEST.h5 UPDATES C THREADS SEED ERROR");
    States train = read_states(argv[1]), test = read_states(argv[2]);
    long updates = atol(argv[3]);
    uint32_t seed = (uint32_t)atol(argv[6]);
    double error = atof(argv[7]), norm;
    Device *device;
    Error err;
    Parameters parameters;
    BodyNetwork network;
    Optimizer optimizer;
    Tape tape;
    static Batch batch;
    stop_unless(device_open("cpu", atoi(argv[5]), &device, &err), &err);
    parameters_init(&parameters, device);
    body_network_create(&parameters, (size_t)atol(argv[4]), ROUNDS, &network);
    stop_unless(parameters_allocate(&parameters, seed, &err), &err);
    OptimizerConfig adam = {
        .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1, .ema = 0.999};
    stop_unless(optimizer_create(&optimizer, &parameters, adam, &err), &err);
    tape_init(&tape, device);
    double start = clock_now();
    for (long step = 0; step < updates; step++) {
        double share = (double)step / (double)updates;
        size_t rollout = rollout_at(share);
        draws = (uint64_t)step << 16;
        draw_windows(&batch, &train, rollout, seed);
        fill(&batch, &train, error, seed);
        parameters_zero_grad(&parameters);
        learn(&batch, &train, &tape, &network, rollout);
        double rate = 2e-3 * fmin(1, (double)(step + 1) / 200) * (0.5 * (1 + cos(3.141592653589793 * share)) + 0.003);
        stop_unless(optimizer_step(&optimizer, rate, &norm, &err), &err);
    }
    double seconds = clock_now() - start;
    printf("%zu weights, %ld updates, %.0f s, %.0f windows/s\n", parameters_element_count(&parameters), updates,
           seconds, (double)updates * BATCH / seconds);
    optimizer_swap_ema(&optimizer);
    evaluate(&batch, &test, device, &network, error, "test");
    if (train.E > 400) train.E = 400;
    evaluate(&batch, &train, device, &network, error, "training episodes");
    return 0;
}
