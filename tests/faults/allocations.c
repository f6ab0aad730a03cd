// SPDX-License-Identifier: Apache-2.0
// Read by LD_PRELOAD: allocation number VPD_FAIL_ALLOCATION of those that the program itself asks for (not its
// libraries) finds no memory, and with VPD_COUNT_ALLOCATIONS=FILE the number of them is written at the end.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static uintptr_t first, last; // the program's text
static long fails_at;
static atomic_long calls;

// The program is the first object.
static int find_text(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        first = info->dlpi_addr + header->p_vaddr;
        last = first + header->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("VPD_FAIL_ALLOCATION");
    dl_iterate_phdr(find_text, NULL);
    fails_at = number ? atol(number) : 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("VPD_COUNT_ALLOCATIONS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static int fails(const void *caller) {
    uintptr_t at = (uintptr_t)caller;
    if (at < first || at >= last) return 0;
    if (atomic_fetch_add(&calls, 1) + 1 != fails_at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
char *strdup(const char *text) {
    char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}
