// SPDX-License-Identifier: Apache-2.0
// How much memory this process may still take: the machine's available memory and swap, its cgroup's limit (v1 and v2),
// `ulimit -v`; the smallest of them.
#ifndef VPD_BASE_MEMORY_ROOM_H
#define VPD_BASE_MEMORY_ROOM_H

// Bytes; INFINITY when nothing is known. `limit` (may be NULL) describes what sets the limit.
double memory_room(const char **limit);

// The same for given files: "/proc" and "/sys/fs/cgroup".
double memory_room_of(const char *proc, const char *mount, const char **limit);

#endif
