// SPDX-License-Identifier: Apache-2.0
// Files "vpd-rollout" (docs/rollouts.md): everything needed to draw, edit and continue a rollout without the data set.
// Files are not trusted; everything is checked (datasets/h5.h). A saved file appears under its name only when it is
// complete.
//   /                 attributes: format, format_version (u32 [2]), generator, created, checkpoint, checkpoint_hash,
//   dataset,
//                     episode, first_frame, frame_stride, time_step
//   /now/             positions f32 [N,3], features f32 [N,D], colour u8 [N,3], radius f32 [N], moving u8 [N],
//                     labels u16 [N]; all but positions optional; features are read as f16 too. With rigid bodies also
//                     before f32 [N,3] and body i32 [N], and no moving: a particle moves if it belongs to a body
//   /past/, /past_2/  the input sets before it, newest first, same arrays, and ties u32 [N] (optional)
//   /motion/          positions f32 [K,3], colour u8 [K,3], motion f32 [K,3], gradient f32 [K,9] (optional), owner
// u32 [K] (optional): the motion field of the input (motion/motion_field.h)
//   /rollout/         positions f32 [steps,N,3], features f32 [steps,N,D] (optional), of /now/'s particles
//   /cameras/         intrinsics f64 [V,3,3], world_from_camera f64 [F,V,4,4], size i32 [2] (H,W), heldout u8 [V]
//   /background f32 [3], /bounds f64 [2,3] (optional), /time f64 [steps+1] seconds
//   /edit_history, /label_names   u8 [bytes] of UTF-8 text, one line each (optional)
// Without steps the format is called "vpd-particles". Past sets may be empty groups (no particle was seen), and so may
// /motion/ (nothing moved). Ties and owner say which present particle owns a row (files/rollout_ties.h). They are valid
// only for the positions they were found for: if the attribute ties_of differs from the hash of all positions, another
// program changed the file, and they are ignored.
// Files of format 1.x are read too. Instead of /motion/ they hold pixel clouds: cloud_positions f32 [P,3], cloud_colour
// u8 [P,3] and cloud_moving u8 [P] (optional) of /now/ and /past/, from which rollout_convert computes the motion
// field when it is needed. They are never written.
#ifndef VPD_FILES_ROLLOUT_FILE_H
#define VPD_FILES_ROLLOUT_FILE_H

#include "base/error.h"
#include "motion/motion_field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROLLOUT_MAJOR = 2, ROLLOUT_MINOR = 1, ROLLOUT_SETS_MAX = 8, ROLLOUT_CLOUDS = 2, ROLLOUT_TEXT_SIZE = 1024 };
enum { ROLLOUT_BODIES_MAX = 1 << 24 }; // numbers of bodies are below this

// One input time step. NULL if missing.
typedef struct RolloutSet {
    size_t N, D;      // particles, features (0: none)
    float *positions; // (N,3) metres, world
    float *features;  // (N,D)
    uint8_t *colour;  // (N,3) colour of the particle's pixel
    float *radius;    // (N) metres
    uint8_t *moving;  // (N) 0 or 1
    uint16_t *labels; // (N) 0 = background, k+1 = object k
    uint32_t *ties;   // (N) the present particle that owns a past one; never in the present set
    // Both or none, in the present set alone; `moving` is then body >= 0.
    float *before; // (N,3) metres: where each particle was one time step ago
    int32_t *body; // (N) number of its rigid body; -1: it stands still
} RolloutSet;

// All valid pixels of an input frame, in files of format 1.x.
typedef struct RolloutCloud {
    size_t count;
    float *positions; // (count,3) metres, world
    uint8_t *colour;  // (count,3)
    uint8_t *moving;  // (count) 0 or 1, or NULL
} RolloutCloud;

typedef struct RolloutFile {
    int set_count; // T: input sets, 0 = now, 1 = the one before it, ...
    RolloutSet sets[ROLLOUT_SETS_MAX];
    bool has_motion;                     // whether the input's motion is known; some models do not need it
    MotionField motion;                  // at points of sets[0]
    uint32_t *motion_owner;              // (motion.count) the present particle that owns each point, or NULL
    RolloutCloud clouds[ROLLOUT_CLOUDS]; // of the two newest sets, until the motion field is computed from them
    size_t steps;
    float *positions;    // (steps,N,3), N = sets[0].N
    float *features;     // (steps,N,D) or NULL
    double *time;        // (steps+1) seconds, strictly increasing; the first belongs to sets[0]
    double time_step;    // seconds
    float background[3]; // colour of rays that hit no particle, [0,1]
    bool has_bounds;
    double bounds[6];           // (2,3) workspace box, metres
    int V, camera_frames, H, W; // camera_frames is 1 (static cameras) or steps+1
    double *intrinsics;         // (V,3,3)
    double *world_from_camera;  // (camera_frames,V,4,4)
    uint8_t *heldout;           // (V) 1: the view was not an input
    char checkpoint[ROLLOUT_TEXT_SIZE], checkpoint_hash[80];
    char dataset[ROLLOUT_TEXT_SIZE], episode[128]; // origin of the input; "" if unknown
    int first_frame, frame_stride;                 // data set frame of sets[0], and frames per step
    char generator[128], created[64];              // set by reading; rollout_file_write writes its own
    char *label_names, *edit_history;              // text of several lines, or NULL
} RolloutFile;

// Every pointer in `rollout` must be NULL or from malloc, for rollout_file_free. Writing does not change it.
Status rollout_file_write(const RolloutFile *rollout, const char *path, Error *err);
// Whether a path is a file of this kind, by its attribute `format`; false for folders and other files.
Status rollout_file_detect(const char *path, bool *found, Error *err);
Status rollout_file_read(const char *path, RolloutFile *out, Error *err);
// Reads a file in memory; `name` is for messages.
Status rollout_file_read_memory(const void *bytes, size_t size, const char *name, RolloutFile *out, Error *err);
void rollout_file_free(RolloutFile *rollout); // accepts {0}
void rollout_free_clouds(RolloutFile *rollout);
// Whether it is of format 1.x and its motion field is still to be computed.
static inline bool rollout_lacks_motion(const RolloutFile *rollout) { return rollout->clouds[0].count > 0; }
// A copy in its own memory.
Status rollout_file_copy(const RolloutFile *from, RolloutFile *out, Error *err);

// Adds one line to the edit history.
Status rollout_file_note(RolloutFile *rollout, const char *line, Error *err);

#endif
