// SPDX-License-Identifier: Apache-2.0
// A run's folder, owned by one process at a time.
//   FOLDER/lock holds "PID HOST" of the owner during a run, and the kernel's lock (flock) on that file.
// The kernel releases the lock when the process ends, in whatever way, so a lock is never stale. On NFS the server
// keeps it for all hosts, unless the file system is mounted with nolock or local_lock: then each host sees only its own
// processes. On file systems without locks the owner's name decides: a dead process of this host does not count.
#ifndef VPD_TRAIN_RUN_FOLDER_H
#define VPD_TRAIN_RUN_FOLDER_H

#include "base/file.h"
#include "base/log.h"

#include <stdbool.h>

typedef struct RunFolder {
    char path[FILE_PATH_SIZE], checkpoints[FILE_PATH_SIZE], pictures[FILE_PATH_SIZE];
    int lock;             // file descriptor + 1; 0: not locked
    bool made, lock_made; // whether run_folder_open created the folder, the file "lock"
} RunFolder;

// Creates the folder if missing, and locks it. If another process owns it, the error is STATUS_BAD_INPUT and names
// process and host.
Status run_folder_open(RunFolder *folder, const char *path, const Log *log, Error *err);
// Fills the names alone, for processes that read a folder which another one owns.
Status run_folder_name(RunFolder *folder, const char *path, Error *err);
void run_folder_close(RunFolder *folder); // accepts {0}
// Closes the folder of a run that did not begin, and removes what run_folder_open created, unless the folder holds
// other files.
void run_folder_drop(RunFolder *folder);

#endif
