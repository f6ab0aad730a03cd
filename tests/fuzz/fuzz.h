// SPDX-License-Identifier: Apache-2.0
// For targets in tests/fuzz/NAME_fuzz.c. Each defines LLVMFuzzerTestOneInput, which feeds the bytes to one reader of
// strangers' files and must return 0 whatever they are. Seeds lie in tests/fuzz/corpus/NAME/.
#ifndef VPD_TESTS_FUZZ_FUZZ_H
#define VPD_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A file in memory that holds the bytes, for readers that open by name: its path goes to `path`, close(fd) removes it.
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        perror("fuzz_file");
        abort();
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

// A folder in memory, where there is such a place, for readers that want a folder or a real name; removed at exit.
static char fuzz_folder[64];

static inline void fuzz_remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder);
    if (system(command)) fprintf(stderr, "left behind: %s\n", fuzz_folder);
}

static inline void fuzz_make_folder(void) {
    snprintf(fuzz_folder, sizeof fuzz_folder, "%s/vpd-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fuzz_folder) || atexit(fuzz_remove_folder)) abort();
}

static inline void fuzz_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

#endif
