// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/formats.h"

Lens given_lens(const ImportOptions *options) {
    const double *k = options->intrinsics;
    Lens lens = lens_of(k[0], k[1], k[2] + 0.5, k[3] + 0.5);
    lens.radial[0] = k[4];
    lens.radial[1] = k[5];
    lens.tangential[0] = k[6];
    lens.tangential[1] = k[7];
    lens.radial[2] = k[8];
    return lens;
}

Lens lens_of_matrix(const double *K, int columns) {
    return lens_of(K[0], K[columns + 1], K[2] + 0.5, K[columns + 2] + 0.5);
}

Status add_named_picture(const char *colour_folder, const char *colour, const char *depth_folder, const char *depth,
                         PosedImage *image, PosedSet *out, Error *err) {
    image->colour = image->depth = NULL;
    Status status = posed_path(colour_folder, colour, &image->colour, err);
    if (!status) status = posed_path(depth_folder, depth, &image->depth, err);
    if (!status) return posed_set_add(out, image, err);
    posed_image_free(image);
    return status;
}
