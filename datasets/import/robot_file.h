// SPDX-License-Identifier: Apache-2.0
// One episode of a robot-learning HDF5 file, open: which cameras it has, their pictures, and their depth and
// calibration where the file holds them (ManiSkill). Layouts:
//   - robomimic, LIBERO: data/demo_N/obs/NAME_image or NAME_rgb (T,H,W,3), NAME_depth (T,H,W[,1]), data/demo_N/actions
//     (T,A)
//   - ManiSkill: traj_N/obs/sensor_data/NAME/{rgb,depth}, traj_N/obs/sensor_param/NAME/{intrinsic_cv,extrinsic_cv}
//   - ALOHA: observations/images/NAME (T,H,W,3), or (T,bytes) with a JPEG in each row, padded with zeros; action; one
//   file per episode
#ifndef VPD_DATASETS_IMPORT_ROBOT_FILE_H
#define VPD_DATASETS_IMPORT_ROBOT_FILE_H

#include "base/image.h"
#include "base/lens.h"
#include "datasets/h5.h"

enum { ROBOT_CAMERAS_MAX = 16 };

typedef enum RobotLayout { ROBOT_NONE, ROBOT_OBS, ROBOT_SENSORS, ROBOT_ALOHA } RobotLayout;

typedef struct RobotCamera {
    char name[64];
    H5Array colour, depth; // depth.id 0: none in the file
    int H, W;              // of the pictures; for compressed ones of the first
    bool has_lens;
    Lens lens;
    double *poses; // (pose_count,4,4) world from camera, malloc'ed; pose_count 1 or the number of frames
    size_t pose_count;
} RobotCamera;

typedef struct RobotEpisode {
    H5Place file;
    char name[64]; // "demo_3"; the file's name for ALOHA
    RobotLayout layout;
    RobotCamera cameras[ROBOT_CAMERAS_MAX];
    int camera_count;
    size_t frames;
    float *actions; // (frames,A), malloc'ed
    size_t A;
} RobotEpisode;

// Episodes of all .hdf5 and .h5 files of a folder, or of one file. Counts them, or opens number `wanted`.
int robot_count(const char *path);
Status robot_open(const char *path, int wanted, RobotEpisode *out, Error *err);
void robot_close(RobotEpisode *episode);

// Picture `frame` of an array (T,H,W[,C]), or of rows of compressed ones (T,bytes): whole numbers of one channel as u16
// (negative ones as 0), else as stored.
Status robot_read(H5Array *array, size_t frame, Image *out, Error *err);

#endif
