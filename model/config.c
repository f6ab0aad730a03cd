// SPDX-License-Identifier: Apache-2.0
#include "model/config_internal.h"

#include "bodies/body_network.h"
#include "encoder/encoder.h"

#include <string.h>

#define AT(field) offsetof(Config, field)

#define TERM_ROW(NAME, name, words, weight, help)                                                                      \
    {"train." #name "_term", OPTION_REAL, AT(train.name##_term), 0, 100, "", weight, NULL, help},

static const Option options[] = {
    {"data.path", OPTION_TEXT, AT(data.path), 0, 0, "", "", NULL,
     "Data set: an HDF5 file, a folder of them, or a .txt list of files and folders."},
    {"data.input_views", OPTION_INT_LIST, AT(data.input_views), 0, 65535, "", "[]", NULL,
     "Views given to the encoder; empty: all but the held-out ones."},
    {"data.crop", OPTION_BOOL, AT(data.crop), 0, 0, "", "false", NULL,
     "Ignore points outside the workspace box: they give no particles and count in no loss or metric."},
    {"data.extent", OPTION_REAL, AT(data.extent), 0, 1e6, "m", "0", NULL,
     "X: size of the workspace; the model's lengths are fractions of it. 0: measured in the data."},
    {"data.time_step", OPTION_REAL, AT(data.time_step), 0, 1e6, "s", "0", NULL,
     "Time between the frames that the model is made for; 0: the data's, or that of the checkpoint it starts from. Of "
     "an episode with more frames every n-th is taken."},
    {"data.threads", OPTION_INT, AT(data.threads), 0, 256, "", "1", NULL,
     "Threads that read the next frames meanwhile; 0: the training thread reads."},
    {"data.cache_mib", OPTION_REAL, AT(data.cache_mib), 0, 1e7, "MiB", "1024", NULL, "Decoded images kept in memory."},

    {"model.preset", OPTION_ENUM, AT(model.preset), 0, 0, "", "none", "none|tiny|small|paper|large",
     "A set of sizes; options in a config file or by --set override it. none: those of tiny with model.C=128."},
    {"model.T", OPTION_INT, AT(model.T), 1, 8, "frames", "2", NULL,
     "Number of input frames; 1: still scenes, without dynamics."},
    {"model.D", OPTION_INT, AT(model.D), 4, 256, "", "16", NULL, "Features of a particle."},
    {"model.C", OPTION_INT, AT(model.C), 4, 1024, "", "128", NULL, "Hidden width of the dynamics."},
    {"model.precision", OPTION_ENUM, AT(model.precision), 0, 0, "", "f32", "f32|bf16x6|bf16x3|bf16|tf32",
     "Number format in matrix products: float (f32), sums of bfloat16 (bf16x6, bf16x3: AMX), bfloat16 (AMX, GPU), TF32 "
     "(GPU). A device without it uses f32."},

    {"encoder.N", OPTION_INT, AT(encoder.N), 1, 1 << 24, "particles", "4096", NULL,
     "Particles per time step, at most."},
    {"encoder.widths", OPTION_INT_LIST, AT(encoder.widths), 1, 1024, "", "[16, 32, 64, 128]", NULL,
     "Channels of the UNet's levels."},
    {"encoder.carry_rgb", OPTION_BOOL, AT(encoder.carry_rgb), 0, 0, "", "true", NULL,
     "The first three features are the pixel's colour."},
    {"encoder.depth_input", OPTION_BOOL, AT(encoder.depth_input), 0, 0, "", "false", NULL,
     "The UNet's input has depth as a fourth channel."},
    {"encoder.sampling", OPTION_ENUM, AT(encoder.sampling), 0, 0, "", "voxel", "uniform|voxel",
     "How particles are sampled from the pixels."},
    {"encoder.moving_share", OPTION_REAL, AT(encoder.moving_share), 0, 1, "", "0.25", NULL,
     "Share of the particles reserved for pixels whose depth changes, so that moving objects are sampled more densely "
     "(encoder.sampling=voxel)."},

    {"gnn.graph", OPTION_ENUM, AT(gnn.graph), 0, 0, "", "bodies", "hierarchical|flat|none|bodies",
     "Dynamics: rigid bodies found in the video (bodies), the paper's message passing among abstract nodes "
     "(hierarchical) or among the particles themselves (flat), or none."},
    {"gnn.M", OPTION_INT, AT(gnn.M), 1, 1 << 20, "nodes", "128", NULL,
     "Number of abstract nodes (gnn.graph=hierarchical)."},
    {"gnn.L", OPTION_INT, AT(gnn.L), 0, 64, "rounds", "4", NULL, "Rounds of message passing."},
    {"gnn.feature_change", OPTION_REAL, AT(gnn.feature_change), 0, 10, "", "0", NULL,
     "Largest change of a particle's feature per step; 0: features are constant."},
    {"gnn.moving_threshold", OPTION_REAL, AT(gnn.moving_threshold), 0, 1e6, "m", "0", NULL,
     "zm: smallest change of depth that counts as motion; 0: 0.00125 of data.extent."},

    {"renderer.K", OPTION_INT, AT(renderer.K), 1, 64, "", "8", NULL, "Nearest particles that a sample on a ray uses."},
    {"renderer.S", OPTION_INT, AT(renderer.S), 1, 256, "", "16", NULL, "Samples on a ray, at most."},
    {"renderer.widths", OPTION_INT_LIST, AT(renderer.widths), 1, 512, "", "[64, 64]", NULL,
     "Hidden widths of the renderer's MLP."},
    {"renderer.radius", OPTION_REAL, AT(renderer.radius), 0, 1e6, "m", "0", NULL,
     "r: support radius of a particle; 0: from the spacing of encoder.N particles in the data."},
    {"renderer.radius_per_particle", OPTION_BOOL, AT(renderer.radius_per_particle), 0, 0, "", "true", NULL,
     "Particles in sparse regions have a larger support radius."},
    {"renderer.view_direction", OPTION_BOOL, AT(renderer.view_direction), 0, 0, "", "false", NULL,
     "Colour depends on the viewing direction."},
    {"renderer.background", OPTION_ENUM, AT(renderer.background), 0, 0, "", "mean", "mean|learned|direction",
     "Colour of rays that hit no particle: mean of the pixels without depth, learned, or learned by direction."},
    {"renderer.near", OPTION_REAL, AT(renderer.near), 0, 1e6, "m", "0.05", NULL, "Nearest depth of a sample."},
    {"renderer.far", OPTION_REAL, AT(renderer.far), 0, 1e6, "m", "50", NULL, "Farthest depth of a sample."},

    {"train.out", OPTION_TEXT, AT(train.out), 0, 0, "", "", NULL, "Folder of the run."},
    {"train.steps", OPTION_INT, AT(train.steps), 0, 1e9, "steps", "6000", NULL, "Optimiser steps."},
    {"train.batch", OPTION_INT, AT(train.batch), 1, 4096, "episodes", "1", NULL,
     "Episodes of one step; their gradients are averaged."},
    {"train.windows", OPTION_INT, AT(train.windows), 1, 65536, "", "32", NULL,
     "Windows in a batch of the first train.motion_steps; a window is a frame's moving bodies and where they go next."},
    {"train.rollout", OPTION_INT_LIST, AT(train.rollout), 0, 1000, "steps", "[3, 6]", NULL,
     "Rollout lengths of the curriculum, one after the other. With another gnn.graph the default is [3, 6], from "
     "[0, 0.67]."},
    {"train.rollout_from", OPTION_REAL_LIST, AT(train.rollout_from), 0, 1, "", "[0, 0.67]", NULL,
     "Share of the steps of a phase at which each rollout length begins."},
    {"train.busy_starts", OPTION_REAL, AT(train.busy_starts), 0, 1, "", "0.5", NULL,
     "Share of the start frames that are drawn where much moves: with a probability proportional to the pixels whose "
     "depth changes next. The rest are drawn uniformly. All training episodes are read for it at each start."},
    {"train.rays", OPTION_INT, AT(train.rays), 1, 1 << 20, "rays", "128", NULL, "Rays per image and rollout step."},
    {"train.moving_rays", OPTION_REAL, AT(train.moving_rays), 0, 1, "", "0.7", NULL,
     "Share of the rays on pixels whose colour changes."},
    {"train.rate", OPTION_REAL, AT(train.rate), 0, 10, "", "0.0007", NULL, "Learning rate after the warm-up."},
    {"train.rate_end", OPTION_REAL, AT(train.rate_end), 0, 10, "", "0.00007", NULL,
     "Learning rate at the end of the cosine schedule."},
    {"train.warmup", OPTION_INT, AT(train.warmup), 0, 1e9, "steps", "50", NULL, "Steps of linear warm-up."},
    {"train.weight_decay", OPTION_REAL, AT(train.weight_decay), 0, 10, "", "0", NULL,
     "Decoupled weight decay of matrices and convolutions, as in AdamW; 0: none."},
    {"train.clip", OPTION_REAL, AT(train.clip), 0, 1e9, "", "1", NULL, "Largest norm of the gradient; 0: not clipped."},
    {"train.ema", OPTION_REAL, AT(train.ema), 0, 0.9999999, "", "0.998", NULL,
     "Decay of the moving average of the weights, which evaluation uses; 0: off."},
    LOSS_TERMS(TERM_ROW){"train.motion_steps", OPTION_INT, AT(train.motion_steps), 0, 1e9, "steps", "0", NULL,
                         "Steps at the beginning that train the dynamics alone, without pictures. With another "
                         "gnn.graph, or with train.init_motion, the default is 0."},
    {"train.labels", OPTION_ENUM, AT(train.labels), 0, 0, "", "video", "video|states",
     "Where bodies go in windows: as the video shows, or by the poses in state/* of the data, for rigid objects."},
    {"train.turn", OPTION_ENUM, AT(train.turn), 0, 0, "", "none", "none|x|y|z",
     "Augmentation: the axis of gravity, about which episodes are rotated by random angles; half are mirrored too."},
    {"train.checkpoint_steps", OPTION_BOOL, AT(train.checkpoint_steps), 0, 0, "", "false", NULL,
     "Gradient checkpointing: the backward pass recomputes each rollout step; less memory, more time."},
    {"train.keep_mib", OPTION_REAL, AT(train.keep_mib), 0, 1e7, "MiB", "1024", NULL,
     "Memory for intermediate products of the dynamics; those that do not fit are computed again in the backward pass, "
     "to the same bits."},
    {"train.cuda_graph", OPTION_BOOL, AT(train.cuda_graph), 0, 0, "", "false", NULL,
     "On a GPU, repeated parts of a step run as captured CUDA graphs: less work for the host, the same bits."},
    {"train.sum_precision", OPTION_ENUM, AT(train.sum_precision), 0, 0, "", "f32", "f32|bf16",
     "Number format in which several processes send each other their gradients; bf16 halves the bytes and rounds "
     "them."},
    {"train.seed", OPTION_INT, AT(train.seed), 0, 4294967295.0, "", "1", NULL, "Seed of every random number."},
    {"train.init", OPTION_TEXT, AT(train.init), 0, 0, "", "", NULL, "Checkpoint whose weights the run starts from."},
    {"train.init_motion", OPTION_TEXT, AT(train.init_motion), 0, 0, "", "", NULL,
     "Checkpoint whose dynamics the run starts from, in place of those of train.init."},
    {"train.freeze", OPTION_TEXT, AT(train.freeze), 0, 0, "", "", NULL,
     "Comma-separated prefixes of parameter names that are not trained."},
    {"train.log_every", OPTION_INT, AT(train.log_every), 1, 1e9, "steps", "10", NULL,
     "Steps between lines of the log."},
    {"train.eval_every", OPTION_INT, AT(train.eval_every), 0, 1e9, "steps", "0", NULL,
     "Steps between evaluations on validation episodes; 0: at the end alone."},
    {"train.picture_every", OPTION_INT, AT(train.picture_every), 0, 1e9, "steps", "200", NULL,
     "Steps between sample renderings; 0: none."},
    {"train.checkpoint_every", OPTION_INT, AT(train.checkpoint_every), 1, 1e9, "steps", "200", NULL,
     "Steps between checkpoints."},
    {"train.keep", OPTION_INT, AT(train.keep), 1, 1000, "", "2", NULL, "Newest checkpoints kept, beside the best."},

    // What follows from the data, and from data.extent.
    {"data.slowest", OPTION_REAL, AT(data.slowest), 0, 1e6, "s", "0", NULL,
     "Longest time between frames that the model learned from."},
    {"gnn.length_scale", OPTION_REAL, AT(gnn.length_scale), 0, 1e6, "m", "0", NULL, "ell: unit of edge displacements."},
    {"gnn.displacement_scale", OPTION_REAL, AT(gnn.displacement_scale), 0, 1e6, "m", "0", NULL,
     "s: unit of predicted displacements."},
    {"gnn.colour_length", OPTION_REAL, AT(gnn.colour_length), 0, 1e6, "m", "0", NULL,
     "lc: metres that a unit of colour counts in distances."},
};

enum { RECORDED = sizeof options / sizeof *options, DERIVED = 4 };
_Static_assert((int)RECORDED <= (int)CONFIG_OPTIONS_MAX, "each option has an origin");

#define FORM_TODAY                                                                                                     \
    "the paper's form is gnn.graph=hierarchical or flat; a model of the full form must be trained anew, "              \
    "gnn.graph=bodies"
#define MOTION_LEARNS "bodies learn motion in windows (train.motion_steps), other graphs from pixels"

static const OptionOld old[] = {
    {"data.stride", "1",
     "every n-th frame is taken of episodes with more frames than data.time_step asks for; set that"},
    {"gnn.form", "none", FORM_TODAY},
    {"gnn.nodes", "auto|random", "nodes are random particles; train anew"},
    {"gnn.cross_edges", "-1|0", FORM_TODAY},
    {"gnn.moving_vote", NULL, NULL},
    {"gnn.distance", NULL, NULL},
    {"gnn.decode", NULL, NULL},
    {"gnn.velocity", NULL, NULL},
    {"gnn.moving_flag", NULL, NULL},
    {"gnn.node_extras", NULL, NULL},
    {"gnn.rigid_cue", NULL, NULL},
    {"gnn.gap", NULL, NULL},
    {"gnn.contact_edges", NULL, NULL},
    {"gnn.rotation", "false", "bodies rotate, with gnn.graph=bodies; abstract nodes do not"},
    {"gnn.moving_length", NULL, NULL},
    {"gnn.decode_width", NULL, NULL},
    {"model.activation", "silu", "every hidden layer has SiLU"},
    {"encoder.inside_share", "0.7", "the workspace box gets this share of the static particles"},
    {"gnn.k_particle_to_node", "3", "each particle sends to this many nodes"},
    {"gnn.k_node_to_node", "10", "each node receives from this many others; set gnn.M for more edges"},
    {"gnn.k_node_to_particle", "4", "each particle receives from this many nodes"},
    {"gnn.smooth", "off", "velocities of nodes are not averaged over their neighbours"},
    {"gnn.smooth_width", NULL, NULL},
    {"train.step_weights", "[]", "the pixel loss has the same weight at all rollout steps; set train.rollout"},
    {"train.beta1", "0.9", "Adam's decays are constants; set train.rate"},
    {"train.beta2", "0.99", "Adam's decays are constants; set train.rate"},
    {"train.position_noise", "0", "it added noise to the positions of input particles, and no model got better"},
    {"train.displacement_penalty", "0", "it was the mean displacement as a loss, and no model got better"},
    {"train.flow_term", "0", MOTION_LEARNS},
    {"train.nearest_term", "0", MOTION_LEARNS},
    {"train.contact_starts", "0", "windows show bodies every contact; set train.busy_starts for pictures"},
    {"train.motion_particles", "0", "windows have no particles; set train.windows"},
    {NULL, NULL, NULL}};

// What holds for bodies, the default of gnn.graph.
static const OptionDefault otherwise[] = {{"train.rollout", "[1, 2, 3, 6]"},
                                          {"train.rollout_from", "[0, 0.4, 0.6, 0.85]"},
                                          {"train.motion_steps", "0.7 of train.steps"},
                                          {NULL, NULL}};

const OptionTable config_options = {options, RECORDED - DERIVED, old, otherwise};
const OptionTable config_record = {options, RECORDED, old, otherwise};

const ConfigLength config_lengths[CONFIG_LENGTHS] = {{"data.extent", AT(data.extent), 0},
                                                     {"gnn.length_scale", AT(gnn.length_scale), 0.05},
                                                     {"gnn.displacement_scale", AT(gnn.displacement_scale), 0.025},
                                                     {"gnn.colour_length", AT(gnn.colour_length), 0.5},
                                                     {"gnn.moving_threshold", AT(gnn.moving_threshold), 0.00125},
                                                     {"renderer.radius", AT(renderer.radius), 0}};

const char *const config_usual_keys[] = {"data.path",
                                         "data.input_views",
                                         "data.crop",
                                         "model.preset",
                                         "model.C",
                                         "model.precision",
                                         "encoder.N",
                                         "gnn.graph",
                                         "gnn.M",
                                         "gnn.L",
                                         "train.out",
                                         "train.steps",
                                         "train.batch",
                                         "train.rollout",
                                         "train.rollout_from",
                                         "train.rays",
                                         "train.rate",
                                         "train.motion_steps",
                                         "train.turn",
                                         "train.keep_mib",
                                         "train.eval_every",
                                         "train.seed",
                                         "train.checkpoint_every",
                                         NULL};

void config_defaults(Config *config) {
    memset(config->origin, ORIGIN_DEFAULT, sizeof config->origin);
    options_defaults(config_record, config);
}

void config_defaults_of_checkpoint(Config *config) {
    config_defaults(config);
    config->encoder.moving_share = 0;
    config->gnn.graph = GRAPH_HIERARCHICAL;
}

static bool is_default(const Config *config, const char *key) {
    unsigned char origin = config->origin[config_index(key)];
    return origin == ORIGIN_DEFAULT || origin == ORIGIN_PRESET;
}

// Bodies have a limit of rounds, learn motion first, and have a curriculum of their own.
static Status apply_bodies(Config *config, Error *err) {
    TrainConfig *train = &config->train;
    if (config->gnn.L > BODY_MAX_ROUNDS)
        return error_set(err, STATUS_BAD_INPUT, "gnn.L: expected at most %d rounds with gnn.graph=bodies, found %ld",
                         BODY_MAX_ROUNDS, config->gnn.L);
    if (is_default(config, "train.motion_steps") && config->model.T > 1)
        train->motion_steps = train->init_motion[0] ? 0 : 7 * train->steps / 10;
    if (!is_default(config, "train.rollout") || !is_default(config, "train.rollout_from")) return STATUS_OK;
    train->rollout = (IntList){4, {1, 2, 3, 6}};
    train->rollout_from = (RealList){4, {0, 0.4, 0.6, 0.85}};
    return STATUS_OK;
}

Status config_resolve(Config *config, Error *err) {
    Status status = config->gnn.graph == GRAPH_BODIES ? apply_bodies(config, err) : STATUS_OK;
    if (status != STATUS_OK) return status;
    const TrainConfig *train = &config->train;
    if (train->rollout.count != train->rollout_from.count || train->rollout.count == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "train.rollout and train.rollout_from: expected lists of equal length, found %d and %d",
                         train->rollout.count, train->rollout_from.count);
    if (config->renderer.widths.count != 2)
        return error_set(err, STATUS_BAD_INPUT, "renderer.widths: expected two hidden widths, found %d",
                         config->renderer.widths.count);
    if (config->encoder.widths.count < 1 || config->encoder.widths.count > ENCODER_MAX_LEVELS)
        return error_set(err, STATUS_BAD_INPUT, "encoder.widths: expected 1 to %d levels, found %d", ENCODER_MAX_LEVELS,
                         config->encoder.widths.count);
    return STATUS_OK;
}

static void take_time_step(Config *config, const Config *from) {
    if (config->data.time_step != 0 || from->data.time_step == 0) return;
    config->data.time_step = from->data.time_step;
    config_set_origin(config, &config->data.time_step, ORIGIN_CHECKPOINT);
}

static bool is_measured(const Config *config, const char *key) {
    unsigned char origin = config->origin[config_index(key)];
    return origin == ORIGIN_DATA || origin == ORIGIN_CHECKPOINT;
}

void config_take_lengths(Config *config, const Config *from) {
    bool same_particles = config->encoder.N == from->encoder.N;
    take_time_step(config, from);
    for (int i = 0; i < CONFIG_LENGTHS; i++) {
        double *own = config_length(config, i), theirs = config_length_of(from, i);
        if (*own != 0 || theirs == 0 || (own == &config->renderer.radius && !same_particles)) continue;
        *own = theirs;
        config_set_origin(config, own, ORIGIN_CHECKPOINT);
    }
}

void config_drop_lengths(Config *config) {
    if (is_measured(config, "data.time_step")) config->data.time_step = 0;
    for (int i = 0; i < CONFIG_LENGTHS; i++)
        if (is_measured(config, config_lengths[i].key)) *config_length(config, i) = 0;
}

void config_take_amounts(Config *config, const Config *from) {
    config->encoder.N = from->encoder.N;
    config->encoder.moving_share = from->encoder.moving_share;
    config->gnn.M = from->gnn.M;
    config->renderer.S = from->renderer.S;
    config->renderer.radius = from->renderer.radius;
}

Status config_check_same_model(const Config *checkpoint, const Config *wanted, Error *err) {
    static const char *const sections[] = {"model.", "encoder.", "gnn.", "renderer."};
    char text[900] = "";
    size_t different = 0;
    Config same = *checkpoint;
    same.model.precision = wanted->model.precision; // the weights do not depend on it
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        different +=
            options_diff(config_record, &same, "the checkpoint", wanted, "the config", sections[i], text, sizeof text);
    if (different == 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "the config does not fit the checkpoint (%zu difference%s): %s", different,
                     different == 1 ? "" : "s", text);
}
