// SPDX-License-Identifier: Apache-2.0
// HDF5 has memory errors on some damaged files (1.10 reads and writes out of bounds in its heaps and object headers).
// So a child process reads the file first; if the child crashes, the parent never opens the file.
#include "base/stop.h"
#include "datasets/h5_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Seconds of processor time, which a busy machine stretches little: a sound file of 8 MB takes .01, one of 100 MB with
// 3,000 episodes less than 1 of its 26.
enum { SECONDS_MIN = 2, SECONDS_HERE = 20, BYTES_PER_SECOND = 1 << 22, READ_MAX = 1 << 14, WAIT_MILLISECONDS = 50 };
enum { PATIENCE = 15 }; // seconds of the clock for each of these: a child that waits for a lock uses none

// Elements times bytes; 0 when that is large or unknown.
static size_t small_bytes(hid_t space, hid_t type) {
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t width = H5Tget_size(type);
    if (count <= 0 || count > READ_MAX || width == 0 || width > READ_MAX) return 0;
    return (size_t)count * width <= READ_MAX ? (size_t)count * width : 0;
}

static herr_t probe_attribute(hid_t object, const char *name, const H5A_info_t *info, void *owner) {
    (void)info;
    (void)owner;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute),
          space = H5Aget_space(attribute);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = small_bytes(space, type);
    bool plain = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_STRING;
    void *values = plain && bytes ? calloc(1, bytes) : NULL;
    if (values && H5Aread(attribute, type, values) >= 0 && H5Tis_variable_str(type) > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    free(values);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return 0;
}

static bool filters_are_plain(hid_t plist) {
    int count = H5Pget_nfilters(plist);
    for (int i = 0; i < count; i++) {
        unsigned flags;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
            return false;
    }
    return count >= 0;
}

static void probe_array(hid_t array) {
    hid_t plist = H5Dget_create_plist(array);
    H5D_layout_t layout = H5Pget_layout(plist);
    if ((layout == H5D_COMPACT || layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED) &&
        H5Pget_external_count(plist) == 0) {
        hid_t type = H5Dget_type(array), space = H5Dget_space(array);
        size_t bytes = small_bytes(space, type);
        bool plain = h5_kind_of(type) != 0 && filters_are_plain(plist);
        hsize_t chunks;
        if (layout == H5D_CHUNKED) H5Dget_num_chunks(array, H5S_ALL, &chunks); // decodes every node of the index
        H5Dget_storage_size(array);
        void *values = plain && bytes ? malloc(bytes) : NULL;
        if (values) H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        free(values);
        H5Sclose(space);
        H5Tclose(type);
    }
    H5Pclose(plist);
}

static herr_t probe_object(hid_t root, const char *name, const H5O_info_t *info, void *owner) {
    (void)info;
    (void)owner;
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    if (object < 0) return 0;
    hsize_t next = 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &next, probe_attribute, NULL);
    if (H5Iget_type(object) == H5I_DATASET) probe_array(object);
    H5Oclose(object);
    return 0;
}

static void walk(hid_t file) {
    if (file < 0) return; // refused by the library: the parent gets the same error
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, probe_object, NULL, H5O_INFO_BASIC);
    H5Fclose(file);
}

// No handler of the host runs in the child, and any signal ends it.
static void be_deaf(void) {
    sigset_t none;
    for (int number = 1; number <= SIGRTMAX; number++) signal(number, SIG_DFL); // fails for SIGKILL and SIGSTOP
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void be_quiet(void) {
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) dup2(null, STDOUT_FILENO), dup2(null, STDERR_FILENO);
}

static rlim_t seconds_for(size_t file_bytes) { return SECONDS_MIN + file_bytes / BYTES_PER_SECOND; }

// The child says nothing, has a limited time, and leaves without any of the parent's clean-up.
static void be_child(size_t file_bytes, hid_t (*open_again)(const void *), const void *owner, int done) {
    rlim_t seconds = seconds_for(file_bytes);
    struct rlimit cpu = {seconds, seconds};
    setrlimit(RLIMIT_CPU, &cpu);
    be_deaf();
    be_quiet();
    alarm((unsigned)(PATIENCE * seconds));
    walk(open_again(owner));
    _exit(write(done, "", 1) == 1 ? 0 : 1);
}

void h5_become_child(void) {
    be_deaf();
    be_quiet();
}

void h5_walk_here(hid_t file, size_t file_bytes) {
    struct rusage used = {0};
    struct rlimit cpu;
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_CPU, &cpu);
    cpu.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + SECONDS_HERE + seconds_for(file_bytes);
    setrlimit(RLIMIT_CPU, &cpu);
    walk(file);
}

// The child reports by its last byte, since a program that ignores SIGCHLD never gets the exit status. A stop request
// ends it.
static bool hear(pid_t child, int end) {
    char byte;
    ssize_t got = -1;
    struct pollfd ready = {.fd = end, .events = POLLIN};
    do got = poll(&ready, 1, WAIT_MILLISECONDS) > 0 ? read(end, &byte, 1) : -1;
    while (got < 0 && !stop_requested());
    if (got < 0) kill(child, SIGKILL);
    return got == 1;
}

// A signal that is neither a crash nor the time limit came from somebody who ends the whole job.
static bool was_told_to_end(int state) {
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT || number == SIGUSR1;
}

static bool ran_out_of_time(int state) {
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    return number == SIGXCPU || number == SIGKILL || number == SIGALRM;
}

Status h5_crash_error(const char *name, int state, Error *err) {
    if (was_told_to_end(state))
        return error_set(err, STATUS_INTERRUPTED, "%s: stopped by a signal while the file was checked", name);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected an HDF5 file, found one so damaged that the HDF5 library %s on it", name,
                     ran_out_of_time(state) ? "does not finish" : "crashes");
}

// *done: whether a child read the file to its end; else *state says how the child ended.
static Status ask_child(const char *name, size_t file_bytes, hid_t (*open_again)(const void *), const void *owner,
                        bool *done, int *state, Error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, STATUS_FAILED, "%s: cannot check the file in a child process: no pipe (%s)", name,
                         strerror(errno));
    pid_t child = fork(), ended;
    if (child == 0) be_child(file_bytes, open_again, owner, ends[1]);
    close(ends[1]);
    *done = child > 0 && hear(child, ends[0]);
    close(ends[0]);
    if (child < 0)
        return error_set(err, STATUS_FAILED, "%s: cannot check the file in a child process: fork failed (%s)", name,
                         strerror(errno));
    do ended = waitpid(child, state, 0);
    while (ended < 0 && errno == EINTR);
    if (ended != child) *state = 0;
    return *done || !stop_requested() ? STATUS_OK : stop_error(err);
}

// A child that ran out of time may have begun while another thread held a lock that is not freed in children, such as
// that of AddressSanitizer's allocator: a second one is asked.
Status h5_probe(const char *name, size_t file_bytes, hid_t (*open_again)(const void *), const void *owner, Error *err) {
    bool done = false;
    int state = 0;
    Status status = ask_child(name, file_bytes, open_again, owner, &done, &state, err);
    if (status == STATUS_OK && !done && ran_out_of_time(state))
        status = ask_child(name, file_bytes, open_again, owner, &done, &state, err);
    if (status != STATUS_OK || done) return status;
    return h5_crash_error(name, state, err);
}
