// SPDX-License-Identifier: Apache-2.0
// The control groups that this process is in (v1 and v2), for the limits that they set.
#ifndef VPD_BASE_CGROUP_H
#define VPD_BASE_CGROUP_H

#include <stdbool.h>

typedef void CgroupVisit(void *owner, const char *folder);

// Visits the folder of each group of `controller` ("cpu", "memory"), from the process's own up to the mount: limits
// bind the groups below, too. `mount` is where cgroups are mounted ("/sys/fs/cgroup"), `membership` the file that names
// this process's groups ("/proc/self/cgroup"). In a container the group's name may be the host's: then folders are
// visited that are not there.
void cgroup_each(const char *mount, const char *membership, const char *controller, CgroupVisit *visit, void *owner);

// The first line of folder/name without its newline; false when there is none.
bool cgroup_read(const char *folder, const char *name, char *out, int size);

#endif
