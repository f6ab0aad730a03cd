// SPDX-License-Identifier: Apache-2.0
// The description of a recording by its importer: pictures, cameras and times. Reading, undistorting,
// resampling and writing them is done in import.c and picture.c for all importers.
#ifndef VPD_DATASETS_IMPORT_POSED_SET_H
#define VPD_DATASETS_IMPORT_POSED_SET_H

#include "base/image.h"
#include "base/lens.h"
#include "base/log.h"
#include "datasets/dataset.h"

// How the numbers of a depth picture are converted to metres along z; 0 = missing.
typedef enum DepthCoding {
    DEPTH_PLAIN,      // u16 or float times depth_scale
    DEPTH_ROTATED,    // u16, rotated right by three bits first
    DEPTH_RAY_LENGTH, // distance from the camera's centre
    DEPTH_BUFFER      // OpenGL's buffer, 0 at buffer_near to 1 at buffer_far
} DepthCoding;

typedef struct PosedImage {
    char *colour, *depth, *mask; // paths, malloc'ed; mask may be NULL
    int frame, view;
    double time;                  // seconds; where frames come from times (posed_set_align)
    size_t number;                // for PosedSet.read
    Lens lens, depth_lens;        // depth_lens.K[0] == 0: the colour's, for any size of the depth picture
    double depth_scale;           // metres per unit; 0: the set's
    double world_from_camera[16]; // OpenCV axes, metres
} PosedImage;

typedef struct PosedSet PosedSet;

// For pictures that are not separate files: called from several threads at once.
typedef Status PictureReader(const PosedSet *set, const PosedImage *image, bool depth, Image *out, Error *err);
typedef Status MaskReader(const PosedSet *set, const PosedImage *image, Image *out, Error *err); // labels, u8 or u16

// One episode: exactly one image for each (frame, view).
struct PosedSet {
    PosedImage *images;
    size_t count, capacity;
    int F, V;
    double *time;             // (F), malloc'ed; NULL for F = 1
    size_t moments_left_out;  // by posed_set_align
    size_t pictures_left_out; // without depth or a pose
    DepthCoding coding;
    double depth_scale, near, far; // metres per unit; metres
    bool unit_is_said; // depth_scale is given in the recording: it applies to EXR too, which otherwise is in metres
    double buffer_near, buffer_far;
    bool upside_down;                            // pictures, not cameras
    int O, A;                                    // objects, width of an action
    double *object_position, *object_quaternion; // (F,O,3), (F,O,4), malloc'ed; NULL for O = 0
    float *actions;                              // (F,A), malloc'ed; NULL for A = 0
    PictureReader *read;                         // NULL: by path
    MaskReader *read_mask;                       // NULL: by path; of images whose `mask` is not NULL
    void *owner;                                 // of both; given to `close` at the end
    void (*close)(void *owner);
    char source[128], scene[64];
};

void posed_image_free(PosedImage *image); // its paths
// Takes ownership of the paths, also on failure.
Status posed_set_add(PosedSet *set, PosedImage *image, Error *err);
void posed_set_free(PosedSet *set);

// The path of a picture, refused unless it lies beneath `folder`; freed by posed_set_free once it is added.
Status posed_path(const char *folder, const char *name, char **out, Error *err);

// Keeps the views of a still scene, or the frames of a video, for which `keep` (V or F) is true; they are renumbered.
Status posed_set_keep(PosedSet *set, const bool *keep, Error *err);

// Leaves out pictures whose pose is not finite (lost tracking), with a warning; all of them is an error.
Status posed_set_drop_lost(PosedSet *set, const char *place, const Log *log, Error *err);

// Makes frames from times, after leaving out pictures without a finite pose. The first view with the fewest pictures
// defines the moments; of every other view the picture nearest in time is taken. A moment at which a view has none
// within `gap` seconds (0: half the mean step) is left out; a note tells how many.
Status posed_set_align(PosedSet *set, double gap, const char *place, const Log *log, Error *err);

// Makes each picture a frame of one moving camera, or a view of one still scene.
Status posed_set_as_video(PosedSet *set, double fps, const char *place, Error *err);
Status posed_set_as_still(PosedSet *set, const char *place, Error *err);

// Index of the value nearest to `time` in increasing times; -1 when none lies within `gap`.
long nearest_time(const double *times, size_t count, double time, double gap);

#endif
