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

#endif
