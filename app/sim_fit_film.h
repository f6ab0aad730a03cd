// SPDX-License-Identifier: Apache-2.0
// A film of a fit: the recording, the start and the result side by side. app/cmd_sim_fit.c alone uses it.
#ifndef VPD_APP_SIM_FIT_FILM_H
#define VPD_APP_SIM_FIT_FILM_H

#include "lab/fit.h"

// As the first camera of the data set sees it; `dataset` NULL: the scene's first camera. By the path's ending, as
// video_write.
Status sim_fit_film(const FitFree *free, const FitData *data, const FitResult *result, const Dataset *dataset,
                    int episode, int threads, const char *path, Error *err);

#endif
