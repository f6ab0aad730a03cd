// SPDX-License-Identifier: Apache-2.0
// Datasets of posed RGB-D video ("vpd-dataset", docs/data.md): in goes the path of an HDF5 file, of a folder of such
// files or of a list of them (.txt), out come episodes and frames, validated, in metres and OpenCV cameras.
//   rgb (F,V,H,W,3) u8    depth (F,V,H,W) f32 along camera z, 0 = missing    mask (F,V,H,W) u16, 0 = background
//   intrinsics (V,3,3)    world_from_camera (F,V,4,4) row-major, expanded when the cameras stand still
//   time (F) seconds      actions (F,A)      object_position (F,O,3), object_quaternion (F,O,4) w first: never an input
// F frames, V views, H rows, W columns, A action width, O objects; pixel centres at (u + 0.5, v + 0.5). V may be 1 or
// hundreds; F may be 1 (a static scene). A Dataset is constant once open: any number of threads may read from it.
// Everything in a file is checked before use; errors are STATUS_BAD_INPUT with one sentence.
#ifndef VPD_DATASETS_DATASET_H
#define VPD_DATASETS_DATASET_H

#include "base/error.h"
#include "base/observation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATASET_MAJOR = 1, DATASET_MINOR = 0 };

typedef enum Split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_COUNT } Split;
typedef enum MissingDepth { MISSING_UNKNOWN, MISSING_SKY } MissingDepth; // what a pixel without depth shows

enum { PROPERTIES_MAX = 512 }; // of an episode

typedef struct Property {
    char name[64]; // without "properties/"
    double value;
} Property;

// All of an episode but its images. Pointers live as long as the Dataset; NULL where the file has none.
typedef struct EpisodeInfo {
    const char *file, *name;    // "scenes/a.h5", "000003"
    const char *source, *scene; // "" when absent
    Split split;
    int F, V, H, W, A, O; // A and O are 0 when there are no actions, no object positions
    bool has_mask, moving_cameras;
    bool depth_is_u16;
    double depth_scale;              // metres per unit of the stored depth; 1 for f32
    const double *intrinsics;        // (V,3,3)
    const double *world_from_camera; // (F,V,4,4) when moving_cameras, else (V,4,4)
    const double *time;              // (F) seconds, strictly increasing
    double time_step;                // usual interval in seconds (their mean without gaps); 0 when F = 1
    bool even_time;                  // no interval differs by more than 5 % from the mean
    const double *bounds;            // (2,3) workspace box, metres, lower then upper corner
    const int *heldout_views;        // (heldout_count) increasing: never input, never in the training loss
    int heldout_count;
    const float *actions;            // (F,A)
    const double *object_position;   // (F,O,3) metres, world
    const double *object_quaternion; // (F,O,4) w first, world from object
    const Property *properties;      // (property_count)
    int property_count;
    const struct StoredImages *stored; // of many files: where images lie in the file (datasets/stored.h); or NULL
} EpisodeInfo;

// Number of poses in world_from_camera.
static inline size_t episode_poses(const EpisodeInfo *info) {
    return (size_t)info->V * (info->moving_cameras ? (size_t)info->F : 1);
}

// Attributes of the root of the file; for a folder, of its first file.
typedef struct DatasetInfo {
    const char *path, *name, *generator, *created, *licence; // "" when absent
    unsigned version_major, version_minor;
    MissingDepth missing_depth;
    int file_count, episode_count;
    int split_count[SPLIT_COUNT]; // episodes in each split
    // Of many files: the index that was read or written (datasets/index.h), "" if none could be written, and why not.
    // NULL: the data set needs none.
    const char *index, *index_missing;
} DatasetInfo;

typedef struct Dataset Dataset;

// A file, a folder, or a list of files.
Status dataset_open(const char *path, Dataset **out, Error *err);
// Whether a path names a list: a text file (.txt).
bool dataset_is_list(const char *path);
void dataset_close(Dataset *dataset); // accepts NULL

const DatasetInfo *dataset_info(const Dataset *dataset);
int dataset_episode_count(const Dataset *dataset);
const EpisodeInfo *dataset_episode(const Dataset *dataset, int episode);
// Time step that most episodes have, to 1 %, or if no step is that common one that some have; 0 when none has an even
// one.
double dataset_usual_step(const Dataset *dataset, bool training_only);
// The n for which every n-th frame comes nearest to one every `step` seconds, as a ratio, of those for which
// `intervals` of n frames fit into the episode; 1 where a step is not known.
int episode_stride(const EpisodeInfo *episode, double step, long intervals);
// Finds an episode by name, FILE:NAME or number. NULL: the first test episode, else the first validation episode, else
// the first. An unknown or ambiguous name is STATUS_BAD_INPUT.
Status dataset_find_episode(const Dataset *dataset, const char *text, int *episode, Error *err);

// The episode that a rollout came from, by its file and its name; where the data set has no such file, by its name
// alone.
Status dataset_find_origin(const Dataset *dataset, const char *file, const char *name, int *episode, Error *err);

// The episode's file as the folder or list names it; the path of a data set that is one file.
const char *dataset_file_name(const Dataset *dataset, int episode);

// An episode in messages and tables: its name; in a data set of several files "FILE:NAME", with the file's name in the
// folder or list. `--episode` takes it too.
typedef struct EpisodeLabel {
    char text[320];
} EpisodeLabel;
EpisodeLabel dataset_episode_label(const Dataset *dataset, int episode);
int dataset_label_width(const Dataset *dataset); // of the longest, at least 8: for tables

// Episodes of one split in file order: writes at most `capacity` indices, returns how many there are.
int dataset_find_split(const Dataset *dataset, Split split, int *episodes, int capacity);
bool episode_view_is_heldout(const EpisodeInfo *episode, int view);
// Pose of one view at one frame, 16 doubles, whether the cameras move or not.
const double *episode_pose(const EpisodeInfo *episode, int frame, int view);

const char *split_name(Split split);
bool split_parse(const char *text, Split *out);

// state/vertices of an episode: (F,*count,3) metres, malloc'ed; NULL and 0 when it has none.
Status dataset_read_vertices(const Dataset *dataset, int episode, double **out, size_t *count, Error *err);

// Frames of one episode. The caller owns it, starts with {0} and may pass it again: once large enough, reading into it
// allocates nothing. All arrays lie in one block that frames_free releases.
typedef struct Frames {
    int episode, first, stride;
    int F, V, H, W, A, O;
    int *views;                // (V) index of each view in the episode
    uint8_t *rgb;              // (F,V,H,W,3)
    float *depth;              // (F,V,H,W) metres, finite, >= 0, 0 = missing
    uint16_t *mask;            // (F,V,H,W) or NULL
    double *intrinsics;        // (V,3,3)
    double *world_from_camera; // (F,V,4,4)
    double *time;              // (F) seconds
    float *actions;            // (F,A) or NULL
    double *object_position;   // (F,O,3) or NULL
    double *object_quaternion; // (F,O,4) or NULL
    const double *bounds;      // the episode's workspace box, or NULL; lives as long as the Dataset
    struct FramesPrivate *private_;
} Frames;

typedef struct FrameRequest {
    int episode, first, count;
    int stride;       // take every stride-th frame; 0 counts as 1
    const int *views; // (view_count) in the order wanted; NULL for all
    int view_count;
} FrameRequest;

// Reads pixels and everything that belongs to them. Frames outside the episode are STATUS_BAD_INPUT.
Status dataset_read_frames(const Dataset *dataset, FrameRequest request, Frames *out, Error *err);
// Points into `frames`.
Observation frames_observation(const Frames *frames);
void frames_free(Frames *frames);

#endif
