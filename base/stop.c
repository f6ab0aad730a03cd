// SPDX-License-Identifier: Apache-2.0
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t requested;

static void on_signal(int number) {
    if (requested && number == SIGINT) {
        signal(SIGINT, SIG_DFL);
        raise(SIGINT); // delivered when this handler returns
        return;
    }
    requested = number;
}

Status stop_install(Error *err) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], &action, NULL))
            return error_set(err, STATUS_FAILED, "cannot handle signal %d: %s", numbers[i], strerror(errno));
    return STATUS_OK;
}

int stop_requested(void) { return requested; }

static const char *name_of(int number) {
    return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : number == SIGUSR1 ? "SIGUSR1" : "a request";
}

Status stop_error(Error *err) { return error_set(err, STATUS_INTERRUPTED, "stopped by %s", name_of(requested)); }

void stop_clear(void) { requested = 0; }
