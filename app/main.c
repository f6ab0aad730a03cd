// SPDX-License-Identifier: Apache-2.0
// The program: finds the subcommand, runs it, prints the one sentence of its error, and turns the status into the exit
// status: 0 done, 1 failed or stopped, 2 wrong input or usage.
#include "app/commands.h"
#include "app/output.h"
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Threads that wait for work must sleep: spinning ones are ruinous on shared processors. libgomp reads this variable
// when it is loaded, before main, so the program starts itself once more with it set.
static void wait_passively(char **argv) {
    if (getenv("OMP_WAIT_POLICY") || getenv("VPD_RESTARTED")) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1) || setenv("VPD_RESTARTED", "1", 1)) return;
    execv("/proc/self/exe", argv); // returns only when it fails; all works without it, just slower
}

static void tell(const char *text) {
    Log log = log_open(stderr, false);
    log_error(&log, "%s", text);
}

// *speaks: whether main prints an error. Of several processes the first has printed it, before the others end: a
// launcher ends all when one does.
static Status run_command(const Command *command, int count, char **words, bool *speaks, Error *err) {
    CommandLine line;
    bool wants_help;
    Status status = command_parse(command, count, words, &line, &wants_help, err);
    if (status == STATUS_OK && wants_help) command_print_help(command, command_wants_all(&line), stdout);
    else if (status == STATUS_OK) {
        status = command_join(&line, err);
        if (status == STATUS_OK && ranks_rank(line.ranks) == 0) status = outputs_check(&line, err);
        if (status == STATUS_OK) status = command->run(&line, err);
        bool alone = !line.ranks, first = ranks_rank(line.ranks) == 0;
        status = ranks_close(line.ranks, status, tell, err);
        *speaks = alone || (first && status == STATUS_OK);
    }
    command_line_free(&line);
    return status;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

// `words` are the command line behind the program's name.
static Status dispatch(int count, char **words, bool *speaks, Error *err) {
    const Command *command;
    int used = 0;
    if (count > 0 && is_one_of(words[0], "--version", "-V", "version"))
        return run_command(&command_version, count - 1, words + 1, speaks, err);
    bool help = count > 0 && is_one_of(words[0], "--help", "-h", "help");
    if (help && count == 1) {
        commands_print_help(stdout);
        return STATUS_OK;
    }
    const bool group = count == 2 && (help || is_one_of(words[1], "--help", "-h", "help"));
    if (group && commands_print_group(words[help], stdout)) return STATUS_OK;
    Status status = commands_find(count - help, words + help, &command, &used, err);
    if (status != STATUS_OK) return status;
    if (help) {
        command_print_help(command, count > used + 1 && strcmp(words[used + 1], "all") == 0, stdout);
        return STATUS_OK;
    }
    return run_command(command, count - used, words + used, speaks, err);
}

// Results that did not reach stdout are a failure; a reader that went away (| head) ends us quietly, as it does others.
static Status flush_results(Status status, Error *err) {
    errno = 0;
    bool bad = fflush(stdout) != 0 || ferror(stdout);
    if (bad && errno == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (!bad || status != STATUS_OK) return status;
    return error_set(err, STATUS_FAILED, "cannot write results to stdout: %s",
                     errno ? strerror(errno) : "write failed");
}

int main(int argc, char **argv) {
    wait_passively(argv);
    signal(SIGPIPE, SIG_IGN); // a child or a reader that goes away is an error of that write
    Error err = {0};
    Status status = stop_install(&err);
    bool speaks = true;
    if (status == STATUS_OK) status = dispatch(argc > 0 ? argc - 1 : 0, argv + 1, &speaks, &err);
    status = flush_results(status, &err);
    if (status == STATUS_OK) return 0;
    if (speaks) tell(err.text);
    return status == STATUS_BAD_INPUT ? 2 : 1;
}
