// SPDX-License-Identifier: Apache-2.0
// Files "vpd-rollout" (docs/rollouts.md): everything needed to draw, edit and continue a rollout without the data set.
// Files are not trusted; everything is checked (datasets/h5.h). A saved file appears under its name only when it is
// complete.
//   /                 attributes: format, format_version (u32 [2]), generator, created, checkpoint, checkpoint_hash,
//   dataset,
//                     episode, first_frame, frame_stride, time_step
//   /now/             positions f32 [N,3], features f32 [N,D], colour u8 [N,3], radius f32 [N], labels u16 [N]; all but
//                     positions optional; features are read as f16 too. With rigid bodies also before f32 [N,3] and
//                     body i32 [N]
//   /past/, /past_2/  the input sets before it, newest first, which some models need: positions, features, colour,
//                     labels, and ties u32 [N] (optional)
//   /rollout/         positions f32 [steps,N,3], features f32 [steps,N,D] (optional), of /now/'s particles
//   /drives/          body i32 [n], step i32 [n], motion f64 [n,4,4]: how bodies move that are driven (optional)
//   /cameras/         intrinsics f64 [V,3,3], world_from_camera f64 [F,V,4,4], size i32 [2] (H,W), heldout u8 [V]
//   /surface/         triangles i32 [T,3] and springs i32 [S,2] of /now/'s particles, touching u8 [steps+1,N]: 1 =
//                     pressed by a plane or another object; all optional (of the simulator, docs/simulator.md)
//   /background f32 [3], /light f64 [3] (optional), /bounds f64 [2,3] (optional), /time f64 [steps+1] seconds
//   /edit_history, /label_names   u8 [bytes] of UTF-8 text, one line each (optional)
// Without steps the format is called "vpd-particles". Past sets may be empty groups (no particle was seen). Ties say
// which present particle owns a past one (files/rollout_ties.h). They are valid only for the positions they were found
// for: if the attribute ties_of differs from the hash of all positions, another program changed the file, and they are
// ignored.
#ifndef VPD_FILES_ROLLOUT_FILE_H
#define VPD_FILES_ROLLOUT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROLLOUT_MAJOR = 3, ROLLOUT_MINOR = 3, ROLLOUT_SETS_MAX = 8, ROLLOUT_TEXT_SIZE = 1024 };
enum { ROLLOUT_BODIES_MAX = 1 << 24 }; // numbers of bodies are below this
enum { ROLLOUT_DRIVES_MAX = 1 << 24 }; // motions of driven bodies in all their steps

// One input time step. NULL if missing.
typedef struct RolloutSet {
    size_t N, D;      // particles, features (0: none)
    float *positions; // (N,3) metres, world
    float *features;  // (N,D)
    uint8_t *colour;  // (N,3) colour of the particle's pixel
    uint16_t *labels; // (N) 0 = background, k+1 = object k
    // In past sets alone.
    uint32_t *ties; // (N) the present particle that owns a past one
    // In the present set alone; the last three only with rigid bodies, then all of them.
    float *radius;   // (N) metres; 0: a hidden point
    float *before;   // (N,3) metres: where each particle was one time step ago
    int32_t *body;   // (N) number of its rigid body; -1: it stands still
    uint8_t *moving; // (N) body >= 0; not in files
    double *shown;   // (N,2) while it is edited: the shade at each particle and what it shows of it (model/shadows.h)
} RolloutSet;

// What the simulator knows of its particles; without it all is 0 and NULL.
typedef struct RolloutSurface {
    size_t triangles, springs, frames; // frames: steps+1, or 0 without `touching`
    int32_t *triangle;                 // (triangles,3) numbers of particles, outwards
    int32_t *spring;                   // (springs,2)
    uint8_t *touching;                 // (frames,N) 1: a plane or another object presses it
} RolloutSurface;

// How bodies move that are driven, whatever they meet.
typedef struct RolloutDrives {
    size_t count;
    int32_t *body, *step; // (count) in the step from step - 1 to `step`, which is 1 or more,
    double *motion;       // (count,4,4) x becomes R x + t: [R t; 0 1], metres
} RolloutDrives;

typedef struct RolloutFile {
    int set_count; // input sets, 0 = now, 1 = the one before it, ...; 1 with rigid bodies
    RolloutSet sets[ROLLOUT_SETS_MAX];
    size_t steps;
    float *positions; // (steps,N,3), N = sets[0].N
    float *features;  // (steps,N,D) or NULL
    double *time;     // (steps+1) seconds, strictly increasing; the first belongs to sets[0]
    double time_step; // seconds
    RolloutDrives drives;
    float background[3]; // colour of rays that hit no particle, [0,1]
    double light[3];     // the way that light travels, a unit vector; 0: none is known
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
    RolloutSurface surface;
} RolloutFile;

// Every pointer in `rollout` must be NULL or from malloc, for rollout_file_free. Writing does not change it.
Status rollout_file_write(const RolloutFile *rollout, const char *path, Error *err);
// Whether a path is a file of this kind, by its attribute `format`; false for folders, lists and other files.
Status rollout_file_detect(const char *path, bool *found, Error *err);
Status rollout_file_read(const char *path, RolloutFile *out, Error *err);
// Reads a file in memory; `name` is for messages.
Status rollout_file_read_memory(const void *bytes, size_t size, const char *name, RolloutFile *out, Error *err);
void rollout_file_free(RolloutFile *rollout);       // accepts {0}
void rollout_surface_free(RolloutSurface *surface); // accepts {0}
// Drops those of no body (-1) and of steps before 1.
void rollout_drives_tidy(RolloutDrives *drives);
Status rollout_drive_add(RolloutDrives *drives, int32_t body, size_t step, const double motion[16], Error *err);
// The way up, a unit vector, as the cameras (count,4,4) are held (base/camera_rig.h); z without cameras, and where the
// simulator made the particles. surface may be NULL.
void rollout_up(const RolloutSurface *surface, const double *world_from_camera, size_t count, double up[3]);
bool rollout_has_light(const RolloutFile *rollout);
// Whether particle i is a hidden point, which is not drawn: a mirror image (docs/model.md, 5.3), or a point that holds
// part of a rigid body's mass (docs/simulator.md). And the number of particles that are drawn. Mirror images come last
// where an episode was encoded.
bool rollout_is_hidden(const RolloutSet *set, size_t i);
size_t rollout_drawn(const RolloutSet *set);
// "8192 particles and 255 hidden points", without these "300 particles": how all commands count. Returns out.
const char *rollout_count_text(size_t drawn, size_t hidden, char out[80]);
// The name of a label: its line of label_names, cut to `size` bytes and to whole letters of UTF-8; "label 3" where that
// is empty. Returns the next line.
const char *rollout_label_line(const char *line, long label, char *out, size_t size);
// A copy in its own memory.
Status rollout_file_copy(const RolloutFile *from, RolloutFile *out, Error *err);

// Adds one line to the edit history.
Status rollout_file_note(RolloutFile *rollout, const char *line, Error *err);

#endif
