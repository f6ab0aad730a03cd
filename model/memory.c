// SPDX-License-Identifier: Apache-2.0
#include "model/memory.h"

#include "base/check.h"
#include "gnn/edge_geometry.h"
#include "model/vpd.h"
#include "nn/ssim_loss.h"
#include "renderer/elements.h"

#include <math.h>
#include <string.h>

// Share of an op-by-op count that is certainly needed; the rest are tables of neighbours and gaps between blocks.
#define SURE 0.8
// A guess: the share of ray samples that meet particles.
#define SAMPLES_MET 0.5
enum { REAL_BYTES = 4, IMAGE_BYTES = 3 + 4 + 2 }; // colour, depth, mask

static void add_part(MemoryEstimate *out, const char *name, const char *shrink, double bytes, double least,
                     bool on_host) {
    if (!(bytes > 0)) return;
    CHECK(out->count < MEMORY_PARTS);
    out->part[out->count++] = (MemoryPart){name, shrink, bytes, least, on_host};
}

// ---- values of the tape, in numbers

// Per step: values; products kept for the backward pass; gradients within its own stage.
typedef struct StepNumbers {
    double values, kept, gradients, outputs;
} StepNumbers;

// The encoder's images: pooled, convolved and normalised on the way down, concatenated on the way up
// (encoder/encoder.c).
static double encoder_numbers(const Config *c, const MemoryShape *s) {
    const IntList *w = &c->encoder.widths;
    int levels = w->count;
    double frames = c->gnn.graph == GRAPH_BODIES ? 1 : (double)c->model.T; // bodies need no features of the past
    double divisor = ldexp(1, levels - 1), images = frames * s->input_views, numbers = 0;
    double pixels = images * ceil(s->H / divisor) * divisor * ceil(s->W / divisor) * divisor;
    for (int l = 0; l < levels; l++) {
        double here = ldexp(pixels, -2 * l);
        numbers += here * (4.0 * w->v[l] + (l > 0 ? w->v[l - 1] : 0));
        if (l + 1 < levels) numbers += here * (4.0 * w->v[l] + w->v[l] + w->v[l + 1]);
    }
    return numbers + pixels * w->v[0];
}

// Numbers of particles, nodes and edges.
typedef struct GraphSize {
    double N, M, C, to_node, between, to_particle;
} GraphSize;

static GraphSize graph_size(const Config *c, double N) {
    const GnnOptions *g = &c->gnn;
    bool flat = g->graph == GRAPH_FLAT;
    GraphSize s = {.N = N, .M = flat ? N : fmin((double)g->M, N), .C = (double)c->model.C};
    s.to_node = N * fmin(GNN_PARTICLE_TO_NODE, s.M);
    s.between = s.M * fmin(GNN_NODE_TO_NODE, s.M);
    s.to_particle = N * fmin(GNN_NODE_TO_PARTICLE, s.M);
    return s;
}

// e and h of every round, and what each round keeps: three products per edge, three per node.
static void add_rounds(const Config *c, const GraphSize *s, StepNumbers *n) {
    double L = (double)c->gnn.L, edges = s->between * s->C, nodes = s->M * s->C;
    if (L < 1) return;
    n->values += s->between * (1 + EDGE_GEOMETRY) + L * (edges + 3 * nodes);
    n->kept += 2 * edges + L * 3 * (edges + nodes);
    n->gradients += edges + s->between * EDGE_GEOMETRY + 2 * L * nodes;
}

static void add_decode(const GraphSize *s, StepNumbers *n) {
    double edges = s->to_particle, nodes = s->M * s->C;
    n->values += edges * (EDGE_GEOMETRY + 1) + nodes + s->N * (s->C + 4);
    n->kept += 2 * edges * s->C + 2 * s->N * s->C;
    n->gradients += edges * EDGE_GEOMETRY + nodes + s->N * s->C;
}

static StepNumbers dynamics_numbers(const Config *c, double N) {
    StepNumbers n = {0};
    if (c->gnn.graph == GRAPH_NONE || c->gnn.graph == GRAPH_BODIES || c->model.T < 2) return n;
    GraphSize s = graph_size(c, N);
    double T = (double)c->model.T, nodes = s.M * s.C, flat = c->gnn.graph == GRAPH_FLAT;
    double sets = flat ? 1 : T; // particle sets that send to nodes
    n.values = sets * (s.to_node * (1 + EDGE_GEOMETRY) + nodes + N * T) + nodes;
    n.kept = sets * 2 * s.to_node * s.C + 3 * nodes;
    n.gradients = sets * (s.to_node * EDGE_GEOMETRY + nodes) + nodes;
    add_rounds(c, &s, &n);
    if (!flat) add_decode(&s, &n);
    n.outputs = N * (6 + (c->gnn.feature_change > 0 ? (double)c->model.D : 0));
    n.values += n.outputs;
    n.gradients += n.outputs;
    return n;
}

static double rays_of_frame(const Config *c, const MemoryShape *s) {
    double patch = c->train.ssim_term > 0 ? SSIM_SIDE * SSIM_SIDE : 0;
    return s->views * ((double)c->train.rays + patch);
}

// Rays of one frame: all sample positions, and for samples that meet particles the MLP's layers and slopes.
static void renderer_numbers(const Config *c, const MemoryShape *s, double N, double *sure, double *guess) {
    const RendererOptions *r = &c->renderer;
    double rays = rays_of_frame(c, s), samples = rays * (double)r->S;
    double inputs = 4.0 * (double)c->model.D + 4 + (r->view_direction ? 3 : 0);
    double layers = inputs + 2.0 * (r->widths.v[0] + r->widths.v[1]) + 12 + 4;
    *sure = rays * 14 + 8 * N;
    *guess = samples * (SAMPLES_MET * layers + 2 + (double)r->K) + 8 * N;
}

// ---- a training

static double longest_rollout(const TrainConfig *train) {
    double longest = 0;
    for (int i = 0; i < train->rollout.count; i++) longest = fmax(longest, train->rollout.v[i]);
    return longest;
}

// What reduces a part of the tape, for a batch of one and of more.
#define SMALLER_ENCODER "fewer data.input_views, smaller images (\"vpd data convert --size\"), encoder.widths"
#define SMALLER_DYNAMICS "train.keep_mib=0, train.checkpoint_steps=true, a shorter train.rollout, gnn.M, encoder.N"
#define SMALLER_RENDERER "train.rays, a shorter train.rollout"
static const char *const ENCODER_SHRINK[2] = {SMALLER_ENCODER, "train.batch, " SMALLER_ENCODER},
                         *const DYNAMICS_SHRINK[2] = {SMALLER_DYNAMICS, "train.batch, " SMALLER_DYNAMICS},
                         *const RENDERER_SHRINK[2] = {SMALLER_RENDERER, "train.batch, " SMALLER_RENDERER};

static void add_tape(const Config *c, const MemoryShape *s, MemoryEstimate *out) {
    double N = fmin((double)c->encoder.N, s->points), steps = longest_rollout(&c->train), sure, guess;
    StepNumbers step = dynamics_numbers(c, N);
    double batch = (double)c->train.batch, encoder = batch * encoder_numbers(c, s),
           images = batch * (double)c->model.T * s->input_views * s->H * s->W;
    renderer_numbers(c, s, N, &sure, &guess);
    bool again = c->train.checkpoint_steps, many = batch > 1;
    double kept = again ? 0 : fmin(REAL_BYTES * batch * steps * step.kept, c->train.keep_mib * (1 << 20));
    // Gradients are those of one step at a time.
    double dynamics = REAL_BYTES * batch *
                      (again ? step.values + step.gradients + steps * step.outputs
                             : steps * step.values + (steps > 0 ? step.gradients : 0));
    // The encoder's gradients reuse the memory of rollout steps.
    double values = REAL_BYTES * encoder, rest = dynamics + kept + REAL_BYTES * batch * steps * sure;
    double gradients = fmax(0, values - rest);
    double drawn = REAL_BYTES * batch * (steps + 1);
    add_part(out, "encoder", ENCODER_SHRINK[many], values, SURE * values, false);
    add_part(out, "gradients", NULL, gradients,
             SURE * fmax(0, values - dynamics - kept - REAL_BYTES * batch * steps * guess), false);
    add_part(out, "dynamics", DYNAMICS_SHRINK[many], dynamics + kept, SURE * (dynamics + kept), false);
    add_part(out, "renderer", RENDERER_SHRINK[many], drawn * (sure + guess), drawn * sure, false);
    // Colours and depths of the history, as bytes and as floats, on the host and on the device; points of clouds.
    double inputs = images * (7 + 2 * 3 * REAL_BYTES) + images * 33 + 3 * s->points * 33;
    add_part(out, "inputs", "fewer data.input_views, smaller images", inputs, SURE * images * 7, true);
}

// The training of bodies in windows: a batch, of which the pictures' memory may hold a part later, and the tracks.
// A guess: two bodies move in every frame.
static void add_windows(const Config *c, const MemoryShape *s, MemoryEstimate *out) {
    double node_bytes = REAL_BYTES * (double)c->model.C * (12 + 14 * (double)c->gnn.L), nodes = 2 * BODY_NODES,
           patch_bytes = 0.5 * BODY_PATCHES * sizeof(SurfacePatch);
    double batch = (double)c->train.windows * (nodes * node_bytes + patch_bytes);
    double frame = patch_bytes + nodes * (9 + 3 * longest_rollout(&c->train)) * REAL_BYTES;
    if (c->gnn.graph != GRAPH_BODIES || c->model.T < 2 || c->train.motion_steps < 1) return;
    add_part(out, "windows", "train.windows, model.C, gnn.L", batch, 0.25 * batch, false);
    add_part(out, "tracks of bodies", "fewer episodes, a shorter train.rollout", s->frames * frame, 0, true);
}

void memory_know_windows(double nodes, MemoryEstimate *out) {
    const double sure = 0.75; // measured batches took 1.7 times the estimate; how much depends on what touches
    for (int i = 0; i < out->count; i++) {
        MemoryPart *part = &out->part[i];
        if (strcmp(part->name, "windows")) continue;
        part->bytes *= nodes / (2 * BODY_NODES);
        part->least = sure * part->bytes;
    }
}

static void add_weights(double weights, double blocks, MemoryEstimate *out) {
    static const char shrink[] = "model.C, gnn.L, encoder.widths";
    double block = REAL_BYTES * weights;
    add_part(out, "parameters", shrink, 2 * block, 2 * block, false);
    add_part(out, "optimiser", shrink, blocks * block, blocks * block, false);
}

// The frames of a batch, those that are read ahead for the next one, and the cache of decoded images.
static void add_data(const Config *c, const MemoryShape *s, MemoryEstimate *out) {
    double frame = s->views * s->H * s->W * IMAGE_BYTES,
           item = ((double)c->model.T + longest_rollout(&c->train)) * frame;
    double read = item * 2 * ((double)c->train.batch + (double)c->data.threads);
    double cache = fmin(c->data.cache_mib * (1 << 20), s->episodes_bytes);
    add_part(out, "frames read ahead", "train.batch, data.threads, a shorter train.rollout, smaller images", read, item,
             true);
    add_part(out, "cached images", "data.cache_mib", cache, 0, true);
}

// What an op holds while it runs: weights that are packed or added up by threads; and in the backward pass of a batch's
// pictures, gradients of each pair of a sample and a particle. A GPU has room for samples that meet no particle, too.
static void add_temporaries(const Config *c, const MemoryShape *s, int threads, MemoryEstimate *out) {
    double C = (double)c->model.C, samples = (double)c->train.batch * rays_of_frame(c, s) * (double)c->renderer.S,
           pairs = samples * (RENDERER_RINGS * (double)c->model.D + 8 * (double)c->renderer.K);
    add_part(out, "temporaries", NULL, (4 << 20) + REAL_BYTES * (threads * 12.0 * C * C + pairs), 0, false);
}

void memory_of_training(const Config *config, const MemoryShape *shape, double weights, int threads,
                        MemoryEstimate *out) {
    double blocks = 2 + (config->train.ema > 0 ? 1 : 0), copies = 2 * (1 + blocks) * REAL_BYTES * weights;
    *out = (MemoryEstimate){.count = 0};
    add_weights(weights, blocks, out);
    add_part(out, "a checkpoint while it is saved", "model.C, gnn.L, encoder.widths", copies, copies, true);
    add_tape(config, shape, out);
    add_windows(config, shape, out);
    add_data(config, shape, out);
    add_temporaries(config, shape, threads, out);
}

void memory_of_weights(double weights, MemoryEstimate *out) {
    *out = (MemoryEstimate){.count = 0};
    add_weights(weights, 0, out);
}
