// SPDX-License-Identifier: Apache-2.0
#include "base/stop.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int requested;        // the reason, or 0
static _Atomic double first_signal; // when it came, 0: none has
static atomic_int watchers;

static const struct {
    int number;
    const char *name;
} names[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}};

// ---- the program's waiting thread

static _Noreturn void end_now(int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(number); // its action is the default one
    _exit(128 + number);
}

typedef struct Waiter {
    sigset_t signals;
    sem_t started;
} Waiter;

static void *wait_for_signals(void *owner) {
    Waiter *waiter = owner;
    sem_post(&waiter->started);
    for (;;) {
        int number;
        if (sigwait(&waiter->signals, &number)) continue; // EINTR
        double now = clock_now(), first = atomic_load(&first_signal);
        if (first == 0) atomic_store(&first_signal, now);
        else if (now - first > STOP_AGAIN_SECONDS) end_now(number);
        stop_request(number);
    }
    return NULL;
}

// The default action lets a second signal end the process. An ignored SIGHUP is nohup's.
static Status choose_signals(sigset_t *set, Error *err) {
    sigemptyset(set);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int number = names[i].number;
        struct sigaction old, plain = {.sa_handler = SIG_DFL};
        sigemptyset(&plain.sa_mask);
        bool good = sigaction(number, NULL, &old) == 0;
        if (good && number == SIGHUP && old.sa_handler == SIG_IGN) continue;
        if (!good || sigaction(number, &plain, NULL))
            return error_set(err, STATUS_FAILED, "cannot handle %s: %s", names[i].name, strerror(errno));
        sigaddset(set, number);
    }
    return STATUS_OK;
}

Status stop_install(Error *err) {
    static Waiter waiter; // the waiting thread reads it for as long as the process lives
    pthread_t thread;
    Status status = choose_signals(&waiter.signals, err);
    if (status != STATUS_OK) return status;
    int code = sem_init(&waiter.started, 0, 0) ? errno : pthread_sigmask(SIG_BLOCK, &waiter.signals, NULL);
    if (!code) code = pthread_create(&thread, NULL, wait_for_signals, &waiter);
    // A thread that is starting may hold the allocator's lock under ASan, and a fork would
    // keep it.
    while (!code && sem_wait(&waiter.started) && errno == EINTR) {}
    if (!code) code = pthread_detach(thread);
    return code ? error_set(err, STATUS_FAILED, "cannot start a thread that waits for signals: %s", strerror(code))
                : STATUS_OK;
}

// ---- signals that wait in a host's thread

static _Thread_local struct {
    bool on;
    sigset_t signals;
    double looked; // when sigpending was asked last
} watch;

// At most 50 times a second: a system call costs more than reading a variable.
static int look_at_pending(void) {
    enum { NUMBERS = sizeof names / sizeof *names };
    struct timespec now;
    sigset_t pending;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (seconds - watch.looked < 0.02) return 0;
    watch.looked = seconds;
    if (sigpending(&pending)) return 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        int number = names[i].number;
        if (!sigismember(&watch.signals, number) || !sigismember(&pending, number)) continue;
        stop_request(number);
        return number;
    }
    return 0;
}

void stop_watch_begin(const sigset_t *signals) {
    atomic_fetch_add(&watchers, 1);
    watch.on = true;
    watch.signals = *signals;
    watch.looked = 0;
}

void stop_watch_end(void) {
    watch.on = false;
    if (atomic_fetch_sub(&watchers, 1) == 1) stop_clear();
}

void stop_watched(void) {
    if (atomic_load(&watchers) > 0) stop_request(STOP_ASKED);
}

// ---- the flag

static _Thread_local const atomic_bool *also;

void stop_also(const atomic_bool *flag) { also = flag; }

int stop_requested(void) {
    if (also && atomic_load_explicit(also, memory_order_relaxed)) return STOP_ASKED;
    int reason = atomic_load_explicit(&requested, memory_order_relaxed);
    return reason || !watch.on ? reason : look_at_pending();
}

void stop_request(int reason) {
    int none = 0;
    atomic_compare_exchange_strong(&requested, &none, reason); // the first reason is reported
}

Status stop_error(Error *err) {
    int reason = stop_requested();
    if (reason == SIGPIPE)
        return error_set(err, STATUS_INTERRUPTED, "stopped because the reader of standard output has gone");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == reason) return error_set(err, STATUS_INTERRUPTED, "stopped by %s", names[i].name);
    return error_set(err, STATUS_INTERRUPTED, "stopped on request");
}

void stop_clear(void) {
    atomic_store(&requested, 0);
    atomic_store(&first_signal, 0);
}
