// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int threads_available(void) {
    const char *wanted = getenv("VPD_THREADS");
    if (wanted && atoi(wanted) > 0) return atoi(wanted);
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}
