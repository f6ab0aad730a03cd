// SPDX-License-Identifier: Apache-2.0
// Camera paths for drawing: an orbit around the workspace, a path between given cameras, or cameras from a JSON file.
// Conventions as in base/camera.h.
#ifndef VPD_INFER_CAMERA_PATH_H
#define VPD_INFER_CAMERA_PATH_H

#include "base/error.h"

#include <stddef.h>

typedef struct PathCamera {
    double K[9]; // intrinsics
    double world_from_camera[16];
    int H, W;
} PathCamera;

enum { CAMERA_PATH_MAX = 100000 };

// What the cameras look at and which way is up (base/camera_rig.h): centre and axis of orbits and paths.
void camera_path_focus(const PathCamera *cameras, int count, double focus[3], double up[3]);

typedef struct OrbitOptions {
    double centre[3], up[3]; // up need not have unit length
    double radius;           // metres from the centre to the eye
    double elevation;        // radians above the plane across `up`
    double start, turns;     // first azimuth (radians about up, from the axis nearest to x), and number of turns
    double fov;              // horizontal, radians
    int H, W;
} OrbitOptions;

// An orbit with the height of the given cameras and the picture size and field of view of the first, so far away that
// it shows as much as they do in the mean. It goes around their focus; around the middle of `bounds` (2,3), if not
// NULL, where the focus is not within or is that of a single camera. It starts at the side of the first camera.
void camera_path_orbit_like(const PathCamera *cameras, int count, const double *bounds, OrbitOptions *out);
void camera_path_orbit(const OrbitOptions *orbit, int count, PathCamera *out);

// `count` cameras from the first key to the last, in equal steps. Azimuth, elevation and distance about the common
// focus are interpolated linearly, so that a path between opposite cameras goes around the scene and not through it.
// The picture size is that of the first key.
void camera_path_between(const PathCamera *keys, int key_count, int count, PathCamera *out);

// Reads {"width": 128, "height": 96, "cameras": [{"eye": [x,y,z], "target": [x,y,z], "up": [0,0,1], "fov_degrees": 50},
// {"intrinsics": [[fx,0,cx],[0,fy,cy],[0,0,1]], "world_from_camera": [4 rows of 4]}]}. Defaults: up is z, fov is 50.
// *out is malloc'ed.
Status camera_path_read(const char *path, PathCamera **out, int *count, Error *err);
Status camera_path_parse(const char *text, size_t length, const char *name, PathCamera **out, int *count, Error *err);

#endif
