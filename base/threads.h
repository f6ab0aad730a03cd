// SPDX-License-Identifier: Apache-2.0
// How many threads this process may keep busy: the smaller of its processor affinity and its cgroup's quota (v1 and
// v2).
#ifndef VPD_BASE_THREADS_H
#define VPD_BASE_THREADS_H

#include "base/error.h"

enum { THREADS_MAX = 1024 };

// At least 1. VPD_THREADS in the environment overrides it; an invalid value counts as not set, see below.
int threads_available(void);
// STATUS_BAD_INPUT when VPD_THREADS is set and is not a number from 1 to THREADS_MAX.
Status threads_check_environment(Error *err);

// Makes parallel regions from here on use `count` threads; 0 means threads_available(). Returns the number in use.
int threads_use(int count);

// The cgroup's quota in whole processors, rounded up; 0 when there is none. `mount` is where cgroups are mounted
// ("/sys/fs/cgroup"), `membership` the file that names this process's groups ("/proc/self/cgroup").
int threads_cgroup_quota(const char *mount, const char *membership);

#endif
