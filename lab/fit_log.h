// SPDX-License-Identifier: Apache-2.0
// The steps of a fit as lines of JSON, for `vpd view` and other programs.
#ifndef VPD_LAB_FIT_LOG_H
#define VPD_LAB_FIT_LOG_H

#include "lab/fit.h"

// A line per step: {"kind": "fit", "step", "frames", "rms", "values": {NAME: NUMBER}}.
Status fit_write_log(const FitFree *free, const FitResult *result, const char *path, Error *err);

#endif
