// SPDX-License-Identifier: Apache-2.0
// How many threads this process may keep busy: the smaller of its processor affinity and its cgroup's quota (v1 and v2).
#ifndef VPD_BASE_THREADS_H
#define VPD_BASE_THREADS_H

// At least 1. VPD_THREADS in the environment overrides it.
int threads_available(void);

#endif
