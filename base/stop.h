// SPDX-License-Identifier: Apache-2.0
// A polite stop: SIGINT, SIGTERM and SIGUSR1 set a flag that long loops poll at a boundary where work can be saved.
// The flag is the one mutable global of the project: a signal handler can reach nothing else.
#ifndef VPD_BASE_STOP_H
#define VPD_BASE_STOP_H

#include "base/error.h"

// Handles the three signals from here on. A second SIGINT ends the process at once, for a loop that hangs.
Status stop_install(Error *err);

// The signal that asked to stop, or 0.
int stop_requested(void);

// STATUS_INTERRUPTED and "stopped by SIGTERM".
Status stop_error(Error *err);

// Forgets the request (tests; a program that goes on).
void stop_clear(void);

#endif
