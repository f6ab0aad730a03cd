// SPDX-License-Identifier: Apache-2.0
// Metrics between a picture and the truth. Inputs are (H,W,3) u8 pictures, (H,W) f32 depth along z in metres (0 =
// missing) and (H,W) masks of bytes (0 or 1). Results are means that know how many values they hold. For an empty mask
// the functions return false and leave *out unchanged.
#ifndef VPD_INFER_METRICS_H
#define VPD_INFER_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- means with counts

typedef struct Mean {
    double sum, square;     // of the values and of their squares
    size_t count, rejected; // values that were added; values that were rejected because they are not finite
} Mean;

void mean_add(Mean *mean, double value);
void mean_merge(Mean *into, const Mean *from);
double mean_value(const Mean *mean);     // NaN when count is 0
double mean_deviation(const Mean *mean); // of the values (not of the mean); NaN for fewer than two

// ---- pictures

// Equal pictures would have infinite PSNR; it is limited to this (8-bit rounding alone gives 59 dB).
#define METRICS_PSNR_MAX 100.0

// -10 log10 of the mean squared error over pixels and channels, colours in [0,1]. `mask` NULL: all pixels.
bool metrics_psnr(const uint8_t *a, const uint8_t *b, const uint8_t *mask, size_t pixels, double *out);

enum { SSIM_WINDOW = 11 };
#define SSIM_SIGMA 1.5

// Wang et al. 2004: Gaussian window of 11x11 with sigma 1.5, K1 0.01, K2 0.03, range 1, population covariance, each
// channel separately (as scikit-image with gaussian_weights and use_sample_covariance=False). map (H,W): mean over
// channels for the window around each pixel; NaN if the window is not inside the picture. `scratch`:
// metrics_ssim_scratch(H, W) floats.
size_t metrics_ssim_scratch(int H, int W);
void metrics_ssim_map(const uint8_t *a, const uint8_t *b, int H, int W, float *scratch, float *map);
// Mean of the map over the pixels of the mask (NULL: all) that are not NaN.
bool metrics_ssim(const float *map, const uint8_t *mask, size_t pixels, double *out);

// Mean |a - b| in metres over pixels of the mask where both are valid (finite and > 0).
bool metrics_depth_error(const float *a, const float *b, const uint8_t *mask, size_t pixels, double *out);

// ---- masks

// A pixel counts as unchanged if no channel differs from the last input frame by more than this, in [0,1].
#define METRICS_CHANGE_THRESHOLD 0.1

// Pixels that show an object (id > 0) in the true picture.
void mask_from_objects(const uint16_t *ids, size_t pixels, uint8_t *out);
// Pixels where a channel of `now` differs from the same pixel of `before` by more than METRICS_CHANGE_THRESHOLD.
void mask_from_change(const uint8_t *now, const uint8_t *before, size_t pixels, uint8_t *out);
// Sets all pixels within `radius` rows and columns of a set one. `out` must not be `mask`.
void mask_dilate(const uint8_t *mask, int H, int W, int radius, uint8_t *out);
// mask &= other; NULL changes nothing.
void mask_and(uint8_t *mask, const uint8_t *other, size_t pixels);

#endif
