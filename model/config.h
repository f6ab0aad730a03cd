// SPDX-License-Identifier: Apache-2.0
// All options of a model and its training in one struct, described by one table (docs/training.md, `vpd train --help`).
// Sections: data, model, encoder, gnn, renderer, train. A length of 0 means "derive from the data"
// (model/lengths.h).
#ifndef VPD_MODEL_CONFIG_H
#define VPD_MODEL_CONFIG_H

#include "base/options.h"
#include "gnn/config.h"
#include "model/loss_terms.h"

// Values of options, in the order of the table in model/config.c.
typedef enum Preset { PRESET_NONE, PRESET_TINY, PRESET_SMALL, PRESET_PAPER, PRESET_LARGE } Preset;
typedef enum LabelSource { LABELS_VIDEO, LABELS_STATES } LabelSource;
typedef enum TurnAxis { TURN_NONE, TURN_X, TURN_Y, TURN_Z } TurnAxis;

typedef struct DataConfig {
    char path[OPTION_TEXT_SIZE];
    IntList input_views; // views given to the encoder; empty = all but the held-out ones
    bool crop;           // points outside the workspace box are ignored
    double extent;       // X, metres
    double time_step;    // seconds between frames that the model is made for; 0: not known yet
    double slowest;      // seconds: the longest time between frames that it learned from; 0: data.time_step
    long threads;        // prefetch threads of the loader
    double cache_mib;    // decoded images kept in memory
} DataConfig;

typedef struct ModelConfig {
    int preset;    // Preset
    long T;        // input time steps
    long D;        // features of a particle
    long C;        // hidden width of the dynamics
    int precision; // Precision
} ModelConfig;

typedef struct EncoderOptions {
    long N; // particles per time step
    IntList widths;
    bool carry_rgb, depth_input;
    int sampling; // uniform|voxel
    double moving_share;
} EncoderOptions;

typedef struct GnnOptions {
    int graph; // GnnGraph
    long M, L;
    double feature_change;
    double moving_threshold; // metres
    // Shares of data.extent, metres. model/config.c writes them beside a run for reference.
    double length_scale, displacement_scale, colour_length;
} GnnOptions;

typedef struct RendererOptions {
    long K, S;
    IntList widths; // hidden widths of the MLP (two)
    double radius;  // r, metres
    bool radius_per_particle, view_direction;
    int background; // mean|learned|direction
    double near, far;
} RendererOptions;

typedef enum SumPrecision { SUM_F32, SUM_BF16 } SumPrecision;

typedef struct TrainConfig {
    char out[OPTION_TEXT_SIZE];
    long steps;            // optimiser steps
    long batch;            // B episodes a step
    long windows;          // windows a step while bodies learn motion
    IntList rollout;       // rollout lengths of the schedule: [3, 6]
    RealList rollout_from; // share of the steps at which each begins: [0, 0.67]
    double busy_starts;    // share of the start frames drawn by how much moves after them
    long rays;             // rays per image and step
    double moving_rays;    // share of the rays on pixels that change
    double rate, rate_end, weight_decay;
    long warmup;
    double clip; // largest gradient norm; 0 = off
    double ema;  // decay of the moving average of weights; 0 = off
#define CONFIG_WEIGHT(NAME, name, ...) double name##_term;
    LOSS_TERMS(CONFIG_WEIGHT) // weights: depth_term, ssim_term
#undef CONFIG_WEIGHT
    long motion_steps;     // initial steps in which bodies learn motion in windows
    int turn;              // TurnAxis: episodes are rotated about it
    int labels;            // LabelSource: of windows
    bool checkpoint_steps; // run each rollout step again in the backward pass
    double keep_mib;       // MiB a step may use to keep products that the backward pass would otherwise recompute
    bool cuda_graph;       // on a GPU, run repeated parts of a step as captured graphs
    int sum_precision;     // SumPrecision: of gradients that several processes send each other
    long seed;
    char init[OPTION_TEXT_SIZE], init_motion[OPTION_TEXT_SIZE]; // checkpoint to start from; another for the dynamics
    char freeze[OPTION_TEXT_SIZE];                              // comma-separated parameter prefixes
    long log_every, eval_every, picture_every, checkpoint_every, keep; // steps; 0 = off
} TrainConfig;

// Where the value of an option comes from.
typedef enum ConfigOrigin {
    ORIGIN_DEFAULT,    // the table
    ORIGIN_PRESET,     // model.preset
    ORIGIN_FILE,       // a config file
    ORIGIN_SET,        // --set, or a command-line option for it
    ORIGIN_DATA,       // a measured length
    ORIGIN_CHECKPOINT, // the checkpoint that training started from
    ORIGIN_RUN         // the config of the resumed run
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
// The options, followed by what follows from them and the data (shares of data.extent). Checkpoints and a run's
// config.yaml contain all. A file may contain the rest too, but must not change it.
extern const OptionTable config_record;
extern const char *const config_usual_keys[]; // the options that users change most; NULL-terminated

void config_defaults(Config *config);
// Values that older checkpoints were trained with, for options that they lack.
void config_defaults_of_checkpoint(Config *config);
// A preset (model.preset) sets the options that neither a file nor config_set sets, in any order.
// Reads a YAML file; nothing if `path` is NULL.
Status config_load(Config *config, const char *path, ConfigOrigin origin, Error *err);
// Reads a checkpoint's config, with its preset already applied. For training options that no longer exist any value is
// accepted, because the weights are already trained.
Status config_parse(Config *config, const char *yaml, size_t length, const char *name, Error *err);
// Applies "key=value" pairs in order.
Status config_set(Config *config, size_t count, const char *const *pairs, Error *err);
bool config_is_option(const char *key); // false for values that follow from options
// `field` points into the config.
void config_set_origin(Config *config, const void *field, ConfigOrigin origin);

typedef struct ConfigChange {
    const char *key, *unit, *origin; // origin in words: "preset", "config file", "command line", "data", ..
    char value[1024];
} ConfigChange;

// Iterates over options that were set to other values than their defaults. Start with *i = 0; false after the last.
bool config_each_change(const Config *config, size_t *i, ConfigChange *out);

// Resolves what is "auto", and checks that options fit together.
Status config_resolve(Config *config, Error *err);

// The lengths of a model. Those at 0 are derived from the data (model/lengths.h).
typedef struct ConfigLength {
    const char *key;
    size_t offset;
    double share; // of data.extent; 0: measured
} ConfigLength;
enum { CONFIG_LENGTHS = 6 };
extern const ConfigLength config_lengths[CONFIG_LENGTHS]; // data.extent first

static inline double *config_length(Config *config, int i) {
    return (double *)((char *)config + config_lengths[i].offset);
}
static inline double config_length_of(const Config *config, int i) {
    return *(const double *)((const char *)config + config_lengths[i].offset);
}

// Copies the time step and every length of `from` that is 0 in `config`. The renderer's radius depends on the number of
// particles, so it is copied only if encoder.N is the same.
void config_take_lengths(Config *config, const Config *from);
// Sets the time step and the lengths that came from data or from a checkpoint back to 0, and keeps those that the user
// set.
void config_drop_lengths(Config *config);
// Copies the numbers of particles, nodes and samples, and the shares of particles: the weights fit any of these.
void config_take_amounts(Config *config, const Config *from);
// Compares everything that decides shapes and meaning of weights (model, encoder, gnn, renderer; lengths of 0 are
// ignored). The error lists all differences.
Status config_check_same_model(const Config *checkpoint, const Config *wanted, Error *err);

#endif
