// SPDX-License-Identifier: Apache-2.0
// Every option of a model and its training in one struct, described by one table (docs/training.md, `vpd train
// --help`). Sections: data, model, encoder, gnn, renderer, train. Lengths of 0 mean "derive from the data"
// (model/lengths.h).
#ifndef VPD_MODEL_CONFIG_H
#define VPD_MODEL_CONFIG_H

#include "base/options.h"

typedef enum Preset { PRESET_NONE, PRESET_TINY, PRESET_SMALL, PRESET_PAPER, PRESET_LARGE } Preset;

typedef struct DataConfig {
    char path[OPTION_TEXT_SIZE];
    IntList input_views; // views given to the encoder; empty = all but the held-out ones
    bool crop;           // points outside the workspace box give no particle
    double extent;       // X, metres
    double time_step;    // seconds between frames that the model sees; 0 = the data's
    long stride;         // take every stride-th frame
    long threads;        // prefetch threads of the loader
    double cache_mib;    // decoded images kept in memory
} DataConfig;

typedef struct ModelConfig {
    int preset;     // Preset
    long T;         // input time steps
    long D;         // features of a particle
    long C;         // hidden width of the dynamics
    int activation; // Activation
    int precision;  // Precision
} ModelConfig;

typedef struct EncoderOptions {
    long N; // particles per time step
    IntList widths;
    bool carry_rgb, depth_input;
    int sampling; // uniform|voxel
    double moving_share, inside_share;
} EncoderOptions;

typedef struct GnnOptions {
    int form;  // full|published: sets what is left at "auto"
    int graph; // hierarchical|flat|none
    long M, L;
    long k_particle_to_node, k_node_to_node, k_node_to_particle;
    int nodes;                                            // auto|random|farthest|voxel|moving
    int distance;                                         // auto|position|appearance
    int velocity;                                         // auto|none|particle|node
    int decode;                                           // auto|particle|node
    int moving_flag, node_extras, gap, smooth, rigid_cue; // auto|off|on
    long cross_edges, contact_edges, moving_vote;         // -1 = auto
    bool rotation;
    double feature_change;
    double length_scale, displacement_scale, colour_length, moving_length, decode_width, smooth_width,
        moving_threshold; // metres
} GnnOptions;

typedef struct RendererOptions {
    long K, S;
    IntList widths; // hidden widths of the MLP (two)
    double radius;  // r, metres
    bool radius_per_particle, view_direction;
    int background; // mean|learned|direction
    double near, far;
} RendererOptions;

typedef struct TrainConfig {
    char out[OPTION_TEXT_SIZE];
    long steps;            // optimiser steps
    long batch;            // B episodes a step
    IntList rollout;       // rollout lengths of the schedule: [3, 6]
    RealList rollout_from; // share of the steps at which each begins: [0, 0.67]
    double contact_starts; // share of the start frames that are drawn by how much motion changes there
    double busy_starts;    // share of the others that are drawn by how much moves after them
    long rays;             // rays per image and step
    double moving_rays;    // share of the rays on pixels that change
    RealList step_weights; // empty = equal
    double rate, rate_end, weight_decay, beta1, beta2;
    long warmup;
    double clip;           // largest gradient norm; 0 = off
    double ema;            // decay of the moving average of weights; 0 = off
    double position_noise; // in units of s
    double displacement_penalty, nearest_term, flow_term, depth_term, ssim_term;
    long motion_particles; // per time step meanwhile; 0: encoder.N
    long motion_steps;     // of the steps, first: the dynamics alone, without encoder and renderer
    int turn;              // none|x|y|z: axis that episodes are turned about
    bool checkpoint_steps; // run each rollout step again in the backward pass
    double keep_mib;       // MiB a step may spend on products that the backward pass would compute again
    bool cuda_graph;       // a GPU gets the parts of a step that come again as captured graphs
    long seed;
    char init[OPTION_TEXT_SIZE], init_motion[OPTION_TEXT_SIZE]; // checkpoint to start from; another for the dynamics
    char freeze[OPTION_TEXT_SIZE];                              // comma-separated parameter prefixes
    long log_every, eval_every, picture_every, checkpoint_every, keep; // steps; 0 = off
} TrainConfig;

// Where the value of an option comes from.
typedef enum ConfigOrigin {
    ORIGIN_DEFAULT,    // the table, or what another option stands for (gnn.form)
    ORIGIN_PRESET,     // model.preset
    ORIGIN_FILE,       // a config file
    ORIGIN_SET,        // --set, or a flag that is short for it
    ORIGIN_DATA,       // a length, measured
    ORIGIN_CHECKPOINT, // a checkpoint that was started from
    ORIGIN_RUN         // the config of the run that goes on
} ConfigOrigin;

enum { CONFIG_OPTIONS_MAX = 128 };

typedef struct Config {
    DataConfig data;
    ModelConfig model;
    EncoderOptions encoder;
    GnnOptions gnn;
    RendererOptions renderer;
    TrainConfig train;
    unsigned char origin[CONFIG_OPTIONS_MAX]; // ConfigOrigin of each option, in the order of the table
} Config;

extern const OptionTable config_options;
extern const char *const config_usual_keys[]; // what a training changes most; NULL-terminated

void config_defaults(Config *config);
// What stands for options that a checkpoint does not name: it is older than they are, and was trained without.
void config_defaults_of_checkpoint(Config *config);
// A preset (model.preset) stands for options that neither a file nor config_set names, whatever the order.
// A YAML file; path NULL: nothing.
Status config_load(Config *config, const char *path, ConfigOrigin origin, Error *err);
// A checkpoint's config: its preset has been applied.
Status config_parse(Config *config, const char *yaml, size_t length, const char *name, Error *err);
// "key=value" pairs in order.
Status config_set(Config *config, size_t count, const char *const *pairs, Error *err);
// `field` lies within the config.
void config_set_origin(Config *config, const void *field, ConfigOrigin origin);

typedef struct ConfigChange {
    const char *key, *unit, *origin; // origin in words: "preset", "config file", "command line", "data", ..
    char value[1024];
} ConfigChange;

// Options that somebody set to other values than their defaults, one a call: begin with *i = 0; false behind the last.
bool config_each_change(const Config *config, size_t *i, ConfigChange *out);

// Resolves every "auto" from gnn.form and checks options against one another.
Status config_resolve(Config *config, Error *err);
// Takes every derived length of `from` that `config` leaves at 0.
void config_take_lengths(Config *config, const Config *from);
// Takes how many particles, nodes and samples there are, and of which kind: weights do not depend on it.
void config_take_amounts(Config *config, const Config *from);
// Compares what decides shapes and meaning of weights (model, encoder, gnn, renderer; not lengths of 0): all
// differences at once.
Status config_check_same_model(const Config *checkpoint, const Config *wanted, Error *err);

#endif
