// SPDX-License-Identifier: Apache-2.0
#include "base/spin_barrier.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 4000 }; // some 50 microseconds

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void sleep_until_changed(SpinBarrier *barrier, int32_t round) {
    __atomic_add_fetch(&barrier->sleepers, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&barrier->round, __ATOMIC_SEQ_CST) == round)
        syscall(SYS_futex, &barrier->round, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
    __atomic_sub_fetch(&barrier->sleepers, 1, __ATOMIC_SEQ_CST);
}

void spin_barrier_wait(SpinBarrier *barrier, int threads) {
    if (threads == 1) return;
    const int32_t round = __atomic_load_n(&barrier->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == threads) {
        __atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&barrier->round, round + 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&barrier->sleepers, __ATOMIC_SEQ_CST) > 0)
            syscall(SYS_futex, &barrier->round, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
        return;
    }
    for (int i = 0; i < SPINS; i++) {
        if (__atomic_load_n(&barrier->round, __ATOMIC_ACQUIRE) != round) return;
        pause_briefly();
    }
    sleep_until_changed(barrier, round);
}
