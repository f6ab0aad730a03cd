// SPDX-License-Identifier: Apache-2.0
// The pictures of a data set beside those of a rollout: colour, depth and masks, of every view.
#ifndef VPD_LAB_FIT_PICTURES_H
#define VPD_LAB_FIT_PICTURES_H

#include "datasets/dataset.h"
#include "lab/fit_data.h"

typedef struct FitPictures FitPictures;

// `kinds` of FIT_COLOUR, FIT_DEPTH and FIT_MASK, with the size of their residuals, by which they are divided. `smooth`:
// the gradient is wanted (FitFrame.slope). Scene and dataset must outlive it.
Status fit_pictures_open(const Dataset *dataset, int episode, size_t frames, uint32_t kinds, const double *size,
                         const SimScene *scene, bool smooth, int threads, FitPictures **out, Error *err);
// Whether the cost jumps as edges cross pixels: what the z-buffer draws, also where it is blurred.
bool fit_pictures_rough(const FitPictures *pictures);
// Colour as the scene itself shows it at `position` (frames,N,3), in double. Nothing is blurred: SoftRas is smooth.
Status fit_pictures_record(const SimScene *scene, const double *position, size_t frames, int threads, FitPictures **out,
                           Error *err);
void fit_pictures_round(FitPictures *pictures); // a recorded one to 8 bits, as files hold colours
void fit_pictures_close(FitPictures *pictures); // accepts NULL

// Residuals pass a Gaussian of this standard deviation, at most an eighth of the shorter side. A picture changes in
// jumps when an edge crosses a pixel; blurred, it changes smoothly, and over a longer way.
void fit_pictures_blur(FitPictures *pictures, double pixels);

// Adds a frame of all views. Derivatives are differences of pictures in which particles move by at most about half the
// blur, forth and back; `slope` is the rasteriser's gradient.
Status fit_pictures_compare(FitPictures *pictures, const FitFrame *in, MinimiseSums *sums, Error *err);

// A camera of a data set (3,3), (4,4) in the scene's axes.
void fit_camera(const SimScene *scene, const double *K, const double *world_from_camera, SceneCamera *out);

#endif
