// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include "encoder/encoder.h"

#include <string.h>

#define AT(field) offsetof(Config, field)
#define ON_OFF "auto|off|on"

static const Option options[] = {
    {"data.path", OPTION_TEXT, AT(data.path), 0, 0, "", "", NULL, "Data set: an HDF5 file or a folder of them."},
    {"data.input_views", OPTION_INT_LIST, AT(data.input_views), 0, 65535, "", "[]", NULL,
     "Views given to the encoder; empty: all but the held-out ones."},
    {"data.crop", OPTION_BOOL, AT(data.crop), 0, 0, "", "false", NULL,
     "Points outside the workspace box give no particle and leave loss and metrics."},
    {"data.extent", OPTION_REAL, AT(data.extent), 0, 1e6, "m", "0", NULL,
     "Size of the workspace that all lengths derive from; 0: from the data."},
    {"data.time_step", OPTION_REAL, AT(data.time_step), 0, 1e6, "s", "0", NULL,
     "Time between the frames the model sees; 0: the data's."},
    {"data.stride", OPTION_INT, AT(data.stride), 1, 1000, "frames", "1", NULL, "Take every stride-th frame."},
    {"data.threads", OPTION_INT, AT(data.threads), 0, 256, "", "1", NULL,
     "Threads that read ahead; 0: read in the training thread."},
    {"data.cache_mib", OPTION_REAL, AT(data.cache_mib), 0, 1e7, "MiB", "1024", NULL, "Decoded images kept in memory."},

    {"model.preset", OPTION_ENUM, AT(model.preset), 0, 0, "", "none", "none|tiny|small|paper|large",
     "Sizes that go together; what a file or --set says wins over them."},
    {"model.T", OPTION_INT, AT(model.T), 1, 8, "frames", "2", NULL, "Input time steps; 1 means no dynamics."},
    {"model.D", OPTION_INT, AT(model.D), 4, 256, "", "16", NULL, "Features of a particle."},
    {"model.C", OPTION_INT, AT(model.C), 4, 1024, "", "128", NULL, "Hidden width of the dynamics."},
    {"model.activation", OPTION_ENUM, AT(model.activation), 0, 0, "", "silu", "silu|relu",
     "Activation of every hidden layer."},
    {"model.precision", OPTION_ENUM, AT(model.precision), 0, 0, "", "f32", "f32|bf16x6|bf16x3|bf16|tf32",
     "Factors of matrix products: float, bfloat16 pieces (AMX), bfloat16 (AMX, GPU), TF32 (GPU); f32 elsewhere."},

    {"encoder.N", OPTION_INT, AT(encoder.N), 1, 1 << 24, "particles", "4096", NULL,
     "Particles per time step, at most."},
    {"encoder.widths", OPTION_INT_LIST, AT(encoder.widths), 1, 1024, "", "[16, 32, 64, 128]", NULL,
     "Channels of the UNet's levels."},
    {"encoder.carry_rgb", OPTION_BOOL, AT(encoder.carry_rgb), 0, 0, "", "true", NULL,
     "The first three features are the pixel's colour."},
    {"encoder.depth_input", OPTION_BOOL, AT(encoder.depth_input), 0, 0, "", "false", NULL,
     "The UNet sees depth beside colour."},
    {"encoder.sampling", OPTION_ENUM, AT(encoder.sampling), 0, 0, "", "voxel", "uniform|voxel",
     "How the particles are chosen from the pixels."},
    {"encoder.moving_share", OPTION_REAL, AT(encoder.moving_share), 0, 1, "", "0.25", NULL,
     "Share of the particles kept for pixels whose depth changes, so that they lie closer there (voxel)."},
    {"encoder.inside_share", OPTION_REAL, AT(encoder.inside_share), 0, 1, "", "0.7", NULL,
     "Share of the other particles inside the workspace box (voxel)."},

    {"gnn.form", OPTION_ENUM, AT(gnn.form), 0, 0, "", "full", "full|published",
     "What the options left at auto become."},
    {"gnn.graph", OPTION_ENUM, AT(gnn.graph), 0, 0, "", "hierarchical", "hierarchical|flat|none",
     "Abstract nodes, particles alone, or no dynamics."},
    {"gnn.M", OPTION_INT, AT(gnn.M), 1, 1 << 20, "nodes", "128", NULL, "Abstract nodes."},
    {"gnn.L", OPTION_INT, AT(gnn.L), 0, 64, "rounds", "4", NULL, "Rounds of message passing among the nodes."},
    {"gnn.k_particle_to_node", OPTION_INT, AT(gnn.k_particle_to_node), 1, 64, "", "3", NULL,
     "Nodes that each particle sends to."},
    {"gnn.k_node_to_node", OPTION_INT, AT(gnn.k_node_to_node), 1, 64, "", "10", NULL, "Nodes that each node hears."},
    {"gnn.k_node_to_particle", OPTION_INT, AT(gnn.k_node_to_particle), 1, 64, "", "4", NULL,
     "Nodes that each particle hears."},
    {"gnn.nodes", OPTION_ENUM, AT(gnn.nodes), 0, 0, "", "auto", "auto|random|farthest|voxel|moving",
     "How the abstract nodes are chosen."},
    {"gnn.distance", OPTION_ENUM, AT(gnn.distance), 0, 0, "", "auto", "auto|position|appearance",
     "Distance for choosing neighbours."},
    {"gnn.velocity", OPTION_ENUM, AT(gnn.velocity), 0, 0, "", "auto", "auto|none|particle|node",
     "Velocity path beside the network's own output."},
    {"gnn.decode", OPTION_ENUM, AT(gnn.decode), 0, 0, "", "auto", "auto|particle|node",
     "Where displacements are decoded."},
    {"gnn.moving_flag", OPTION_ENUM, AT(gnn.moving_flag), 0, 0, "", "auto", ON_OFF,
     "Particles know whether their pixel's depth changed."},
    {"gnn.node_extras", OPTION_ENUM, AT(gnn.node_extras), 0, 0, "", "auto", ON_OFF,
     "Nodes see velocity and the offset to the other half."},
    {"gnn.gap", OPTION_ENUM, AT(gnn.gap), 0, 0, "", "auto", ON_OFF,
     "Moving nodes see where their body meets what stands still and what moves otherwise."},
    {"gnn.smooth", OPTION_ENUM, AT(gnn.smooth), 0, 0, "", "auto", ON_OFF,
     "Velocities are averaged over neighbouring nodes."},
    {"gnn.cross_edges", OPTION_INT, AT(gnn.cross_edges), -1, 64, "", "-1", NULL,
     "Edges to each node from nodes that stand still; -1: auto."},
    {"gnn.contact_edges", OPTION_INT, AT(gnn.contact_edges), -1, 32, "", "-1", NULL,
     "Edges to each node from near nodes that move otherwise; -1: auto."},
    {"gnn.moving_vote", OPTION_INT, AT(gnn.moving_vote), -1, 64, "", "-1", NULL,
     "Particles that vote on each particle's moving flag; 0: its own pixel alone; -1: auto."},
    {"gnn.rigid_cue", OPTION_ENUM, AT(gnn.rigid_cue), 0, 0, "", "auto", ON_OFF,
     "Velocities of nodes are seen by rigid registration, with their turning."},
    {"gnn.rotation", OPTION_BOOL, AT(gnn.rotation), 0, 0, "", "false", NULL, "Nodes turn what they move."},
    {"gnn.feature_change", OPTION_REAL, AT(gnn.feature_change), 0, 10, "", "0", NULL,
     "Largest change of a feature per step; 0: features stay."},
    {"gnn.length_scale", OPTION_REAL, AT(gnn.length_scale), 0, 1e6, "m", "0", NULL, "ell: unit of edge displacements."},
    {"gnn.displacement_scale", OPTION_REAL, AT(gnn.displacement_scale), 0, 1e6, "m", "0", NULL,
     "s: unit of predicted displacements."},
    {"gnn.colour_length", OPTION_REAL, AT(gnn.colour_length), 0, 1e6, "m", "0", NULL,
     "lc: metres that a unit of colour counts in distances."},
    {"gnn.moving_length", OPTION_REAL, AT(gnn.moving_length), 0, 1e6, "m", "0", NULL,
     "lm: metres that the moving flag counts in distances."},
    {"gnn.decode_width", OPTION_REAL, AT(gnn.decode_width), 0, 1e6, "m", "0", NULL, "wd: reach of a node's decode."},
    {"gnn.smooth_width", OPTION_REAL, AT(gnn.smooth_width), 0, 1e6, "m", "0", NULL, "ws: reach of the smoothing."},
    {"gnn.moving_threshold", OPTION_REAL, AT(gnn.moving_threshold), 0, 1e6, "m", "0", NULL,
     "zm: change of depth that counts as motion."},

    {"renderer.K", OPTION_INT, AT(renderer.K), 1, 64, "", "8", NULL, "Neighbours of a ray sample."},
    {"renderer.S", OPTION_INT, AT(renderer.S), 1, 256, "", "16", NULL, "Samples on a ray, at most."},
    {"renderer.widths", OPTION_INT_LIST, AT(renderer.widths), 1, 512, "", "[64, 64]", NULL,
     "Hidden widths of the renderer's MLP."},
    {"renderer.radius", OPTION_REAL, AT(renderer.radius), 0, 1e6, "m", "0", NULL,
     "r: reach of a particle; 0: from the spacing of the particles."},
    {"renderer.radius_per_particle", OPTION_BOOL, AT(renderer.radius_per_particle), 0, 0, "", "true", NULL,
     "Particles in sparse places reach farther."},
    {"renderer.view_direction", OPTION_BOOL, AT(renderer.view_direction), 0, 0, "", "false", NULL,
     "Colour depends on the viewing direction."},
    {"renderer.background", OPTION_ENUM, AT(renderer.background), 0, 0, "", "mean", "mean|learned|direction",
     "What rays that meet nothing show."},
    {"renderer.near", OPTION_REAL, AT(renderer.near), 0, 1e6, "m", "0.05", NULL, "Nearest depth of a sample."},
    {"renderer.far", OPTION_REAL, AT(renderer.far), 0, 1e6, "m", "50", NULL, "Farthest depth of a sample."},

    {"train.out", OPTION_TEXT, AT(train.out), 0, 0, "", "", NULL, "Folder of the run."},
    {"train.steps", OPTION_INT, AT(train.steps), 0, 1e9, "steps", "1000", NULL, "Optimiser steps."},
    {"train.batch", OPTION_INT, AT(train.batch), 1, 4096, "episodes", "1", NULL,
     "Episodes whose gradients are added in one step."},
    {"train.rollout", OPTION_INT_LIST, AT(train.rollout), 0, 1000, "steps", "[3, 6]", NULL,
     "Rollout lengths, one after the other."},
    {"train.rollout_from", OPTION_REAL_LIST, AT(train.rollout_from), 0, 1, "", "[0, 0.67]", NULL,
     "Share of train.steps at which each length begins."},
    {"train.busy_starts", OPTION_REAL, AT(train.busy_starts), 0, 1, "", "0.5", NULL,
     "Share of the other start frames drawn by how many pixels change depth after them; the rest are drawn evenly."},
    {"train.contact_starts", OPTION_REAL, AT(train.contact_starts), 0, 1, "", "0", NULL,
     "Share of the start frames drawn by how much the motion of bodies changes there; measured from scene flow when a "
     "run begins."},
    {"train.rays", OPTION_INT, AT(train.rays), 1, 1 << 20, "rays", "128", NULL, "Rays per image and rollout step."},
    {"train.moving_rays", OPTION_REAL, AT(train.moving_rays), 0, 1, "", "0.7", NULL,
     "Share of the rays on pixels that change."},
    {"train.step_weights", OPTION_REAL_LIST, AT(train.step_weights), 0, 1e6, "", "[]", NULL,
     "Weight of the pixel loss at steps 0, 1, ..; empty: equal."},
    {"train.rate", OPTION_REAL, AT(train.rate), 0, 10, "", "0.0007", NULL, "Learning rate after the warm-up."},
    {"train.rate_end", OPTION_REAL, AT(train.rate_end), 0, 10, "", "0.00007", NULL,
     "Learning rate at the end of the cosine."},
    {"train.warmup", OPTION_INT, AT(train.warmup), 0, 1e9, "steps", "50", NULL, "Steps of linear warm-up."},
    {"train.weight_decay", OPTION_REAL, AT(train.weight_decay), 0, 10, "", "0", NULL, "AdamW's decay; 0: Adam."},
    {"train.beta1", OPTION_REAL, AT(train.beta1), 0, 0.999999, "", "0.9", NULL, "Adam's decay of the mean."},
    {"train.beta2", OPTION_REAL, AT(train.beta2), 0, 0.999999, "", "0.99", NULL, "Adam's decay of the square."},
    {"train.clip", OPTION_REAL, AT(train.clip), 0, 1e9, "", "1", NULL, "Largest norm of the gradient; 0: not clipped."},
    {"train.ema", OPTION_REAL, AT(train.ema), 0, 0.9999999, "", "0.998", NULL,
     "Decay of the average of weights that evaluation uses; 0: off."},
    {"train.position_noise", OPTION_REAL, AT(train.position_noise), 0, 10, "s", "0", NULL,
     "Noise on input positions, in displacement scales."},
    {"train.displacement_penalty", OPTION_REAL, AT(train.displacement_penalty), 0, 100, "", "0", NULL,
     "Weight of the mean displacement."},
    {"train.nearest_term", OPTION_REAL, AT(train.nearest_term), 0, 100, "", "0", NULL,
     "Weight of the distance to the points of later frames."},
    {"train.flow_term", OPTION_REAL, AT(train.flow_term), 0, 100, "", "0.1", NULL,
     "Weight of the distance to where scene flow takes the particles."},
    {"train.motion_steps", OPTION_INT, AT(train.motion_steps), 0, 1e9, "steps", "0", NULL,
     "First of the steps, that train motion alone, without encoder and renderer: several times faster each."},
    {"train.motion_particles", OPTION_INT, AT(train.motion_particles), 0, 1 << 24, "particles", "0", NULL,
     "Particles per time step, at most, in train.motion_steps, half of them moving; 0: encoder.N."},
    {"train.turn", OPTION_ENUM, AT(train.turn), 0, 0, "", "none", "none|x|y|z",
     "Axis along gravity about which episodes are turned, and mirrored, at random."},
    {"train.depth_term", OPTION_REAL, AT(train.depth_term), 0, 100, "", "0", NULL,
     "Weight of the depth error of rays."},
    {"train.ssim_term", OPTION_REAL, AT(train.ssim_term), 0, 100, "", "0", NULL,
     "Weight of 1 - SSIM on patches of rays."},
    {"train.checkpoint_steps", OPTION_BOOL, AT(train.checkpoint_steps), 0, 0, "", "false", NULL,
     "Rollout steps are run again in the backward pass: less memory, more time."},
    {"train.keep_mib", OPTION_REAL, AT(train.keep_mib), 0, 1e7, "MiB", "1024", NULL,
     "Memory for products of the dynamics that the backward pass needs; beyond it they are computed again, to the same "
     "bits."},
    {"train.cuda_graph", OPTION_BOOL, AT(train.cuda_graph), 0, 0, "", "false", NULL,
     "A GPU gets the parts of a step that come again as captured graphs: less work for the host, the same bits."},
    {"train.seed", OPTION_INT, AT(train.seed), 0, 4294967295.0, "", "1", NULL, "Key of every random number."},
    {"train.init", OPTION_TEXT, AT(train.init), 0, 0, "", "", NULL, "Checkpoint whose weights to start from."},
    {"train.init_motion", OPTION_TEXT, AT(train.init_motion), 0, 0, "", "", NULL,
     "Checkpoint whose dynamics to start from, in place of those of train.init."},
    {"train.freeze", OPTION_TEXT, AT(train.freeze), 0, 0, "", "", NULL,
     "Comma-separated beginnings of parameter names that stay as they are."},
    {"train.log_every", OPTION_INT, AT(train.log_every), 1, 1e9, "steps", "10", NULL,
     "Steps between lines of the log."},
    {"train.eval_every", OPTION_INT, AT(train.eval_every), 0, 1e9, "steps", "0", NULL,
     "Steps between evaluations on validation episodes; 0: at the end alone."},
    {"train.picture_every", OPTION_INT, AT(train.picture_every), 0, 1e9, "steps", "200", NULL,
     "Steps between sample renderings; 0: none."},
    {"train.checkpoint_every", OPTION_INT, AT(train.checkpoint_every), 1, 1e9, "steps", "200", NULL,
     "Steps between checkpoints."},
    {"train.keep", OPTION_INT, AT(train.keep), 1, 1000, "", "2", NULL, "Newest checkpoints kept, beside the best."},
};

_Static_assert(sizeof options / sizeof *options <= CONFIG_OPTIONS_MAX, "each option has an origin");
const OptionTable config_options = {options, sizeof options / sizeof *options};

const char *const config_usual_keys[] = {"data.path",
                                         "data.input_views",
                                         "data.crop",
                                         "model.preset",
                                         "model.C",
                                         "model.precision",
                                         "encoder.N",
                                         "gnn.form",
                                         "gnn.M",
                                         "gnn.L",
                                         "train.out",
                                         "train.steps",
                                         "train.batch",
                                         "train.rollout",
                                         "train.rollout_from",
                                         "train.rays",
                                         "train.rate",
                                         "train.flow_term",
                                         "train.motion_steps",
                                         "train.turn",
                                         "train.keep_mib",
                                         "train.eval_every",
                                         "train.seed",
                                         "train.checkpoint_every",
                                         NULL};

void config_defaults(Config *config) {
    memset(config->origin, ORIGIN_DEFAULT, sizeof config->origin);
    options_defaults(config_options, config);
}

void config_defaults_of_checkpoint(Config *config) {
    enum { OFF = 1 };
    config_defaults(config);
    config->encoder.moving_share = 0;
    config->gnn.gap = config->gnn.rigid_cue = OFF;
    config->gnn.contact_edges = config->gnn.moving_vote = 0;
}

static void resolve(int *choice, int automatic) {
    if (*choice == 0) *choice = automatic;
}

Status config_resolve(Config *config, Error *err) {
    GnnOptions *gnn = &config->gnn;
    bool full = gnn->form == 0;
    // Indices into the choices of the table above.
    resolve(&gnn->nodes, full ? 4 : 1);
    resolve(&gnn->distance, full ? 2 : 1);
    resolve(&gnn->velocity, full ? 3 : 1);
    resolve(&gnn->decode, full ? 2 : 1);
    resolve(&gnn->moving_flag, full ? 2 : 1);
    resolve(&gnn->node_extras, full ? 2 : 1);
    resolve(&gnn->gap, full ? 2 : 1);
    resolve(&gnn->rigid_cue, full ? 2 : 1);
    resolve(&gnn->smooth, gnn->rigid_cue == 2 || !full ? 1 : 2);
    if (gnn->cross_edges < 0) gnn->cross_edges = full ? 4 : 0;
    if (gnn->contact_edges < 0) gnn->contact_edges = full ? 4 : 0;
    if (gnn->moving_vote < 0) gnn->moving_vote = full ? 16 : 0;
    const TrainConfig *train = &config->train;
    if (train->rollout.count != train->rollout_from.count || train->rollout.count == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "train.rollout and train.rollout_from: expected lists of equal length, found %d and %d",
                         train->rollout.count, train->rollout_from.count);
    if (train->motion_steps > 0 && !(train->flow_term > 0) && !(train->nearest_term > 0))
        return error_set(err, STATUS_BAD_INPUT,
                         "train.motion_steps: nothing to learn motion from; set train.flow_term or train.nearest_term");
    if (config->renderer.widths.count != 2)
        return error_set(err, STATUS_BAD_INPUT, "renderer.widths: expected two hidden widths, found %d",
                         config->renderer.widths.count);
    if (config->encoder.widths.count < 1 || config->encoder.widths.count > ENCODER_MAX_LEVELS)
        return error_set(err, STATUS_BAD_INPUT, "encoder.widths: expected 1 to %d levels, found %d", ENCODER_MAX_LEVELS,
                         config->encoder.widths.count);
    if (gnn->nodes == 4 && gnn->moving_flag == 1)
        return error_set(err, STATUS_BAD_INPUT, "gnn.nodes=moving needs gnn.moving_flag=on");
    if (gnn->velocity == 3 && gnn->graph == 1) gnn->velocity = 2; // a flat graph has no nodes to carry velocities
    return STATUS_OK;
}

void config_take_lengths(Config *config, const Config *from) {
    static const size_t lengths[] = {AT(data.extent),       AT(gnn.length_scale),     AT(gnn.displacement_scale),
                                     AT(gnn.colour_length), AT(gnn.moving_length),    AT(gnn.decode_width),
                                     AT(gnn.smooth_width),  AT(gnn.moving_threshold), AT(renderer.radius)};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        double *own = (double *)((char *)config + lengths[i]);
        if (*own != 0) continue;
        *own = *(const double *)((const char *)from + lengths[i]);
        config_set_origin(config, own, ORIGIN_CHECKPOINT);
    }
}

void config_take_amounts(Config *config, const Config *from) {
    config->encoder.N = from->encoder.N;
    config->encoder.moving_share = from->encoder.moving_share;
    config->encoder.inside_share = from->encoder.inside_share;
    config->gnn.M = from->gnn.M;
    config->renderer.S = from->renderer.S;
}

Status config_check_same_model(const Config *checkpoint, const Config *wanted, Error *err) {
    static const char *const sections[] = {"model.", "encoder.", "gnn.", "renderer."};
    char text[900] = "";
    size_t different = 0;
    Config same = *checkpoint;
    same.model.precision = wanted->model.precision; // the weights do not depend on it
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        different +=
            options_diff(config_options, &same, "the checkpoint", wanted, "the config", sections[i], text, sizeof text);
    if (different == 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "the config does not fit the checkpoint (%zu difference%s): %s", different,
                     different == 1 ? "" : "s", text);
}
