// SPDX-License-Identifier: Apache-2.0
// A run's folder, owned by one process at a time.
//   FOLDER/lock holds "PID HOST" of the owner while a run goes on there, and the kernel's lock (flock) on that file.
//   The kernel gives the lock back when its process ends, however it ends, so a lock is never stale. On NFS the server
//   keeps it for all hosts, unless the mount says nolock or local_lock: then each host knows its own processes alone.
//   Where the file system has no locks the owner's name decides: a process of this host that is dead no longer counts.
#ifndef VPD_TRAIN_RUN_FOLDER_H
#define VPD_TRAIN_RUN_FOLDER_H

#include "base/file.h"
#include "base/log.h"

#include <stdbool.h>

typedef struct RunFolder {
    char path[FILE_PATH_SIZE], checkpoints[FILE_PATH_SIZE], pictures[FILE_PATH_SIZE];
    int lock;             // file descriptor + 1; 0: not locked
    bool made, lock_made; // by run_folder_open: the folder, the file "lock"
} RunFolder;

// Makes the folder when missing and takes its lock. Another owner is STATUS_BAD_INPUT with its process and host.
Status run_folder_open(RunFolder *folder, const char *path, const Log *log, Error *err);
void run_folder_close(RunFolder *folder); // accepts {0}
// As close, for a run that did not begin: what run_folder_open made goes again, unless the folder holds other files.
void run_folder_drop(RunFolder *folder);

#endif
