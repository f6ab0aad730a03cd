// SPDX-License-Identifier: Apache-2.0
// What the poses of the cameras of a scene say about it: the point that they look at, and which way is up. Poses are
// world_from_camera as in base/camera.h, each `stride` bytes after the one before.
#ifndef VPD_BASE_CAMERA_RIG_H
#define VPD_BASE_CAMERA_RIG_H

#include <stdbool.h>
#include <stddef.h>

// The point nearest to all optical axes. One camera or parallel ones: a metre ahead of their middle.
void camera_rig_focus(const double *poses, size_t count, size_t stride, double focus[3]);

// Unit vector against gravity, for cameras that are held level: it is at right angles to their x axes, on the side of
// their upward and backward directions. Cameras side by side (or one) leave a choice; then it is the world's axis that
// is nearest. Wrong for cameras that are turned on their side, and for a single one that looks straight down.
// True if the cameras leave no choice: their x axes differ, and `up` is within 10 degrees of a right angle to them.
bool camera_rig_up(const double *poses, size_t count, size_t stride, double up[3]);

// Unit vectors across the unit vector `up`: `a` as close to the x axis as possible (to y if up is x), and b = up x a.
void camera_rig_across(const double up[3], double a[3], double b[3]);

#endif
