// SPDX-License-Identifier: Apache-2.0
#include "datasets/read_many.h"

#include "base/stop.h"
#include "datasets/data_file.h"
#include "datasets/file_names.h"
#include "datasets/h5_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// More children than processors: on a shared file system most of the time is waiting.
enum { CHILDREN = 8, WAIT_MILLISECONDS = 50 };
#define MESSAGE_BYTES_MAX ((uint64_t)1 << 36)

typedef struct Job {
    const Dataset *dataset;
    const int *files;
    int count;
    _Atomic int *failed; // shared: the first place in `files` with an error, or `count`; nothing after it is read
} Job;

// What a child says of a file, before the record or the sentence.
typedef struct Message {
    int32_t at, status;
    uint64_t bytes;
} Message;

// Child i reads files i, i + CHILDREN, ..
typedef struct Child {
    pid_t process;
    int end;  // of its pipe; -1: none
    int next; // the place in `files` that it tells of next
} Child;

static void fail_at(const Job *job, int at) {
    int first = atomic_load(job->failed);
    while (at < first && !atomic_compare_exchange_weak(job->failed, &first, at)) {}
}

// ---- in a child

static Status read_one(const Job *job, int at, Bytes *record, Error *err) {
    const DataFile *file = &job->dataset->files[job->files[at]];
    Dataset *one = dataset_create(file->path);
    if (!one) return dataset_no_memory(file->path, err);
    one->find_stored = true;
    Status status = dataset_add_file(one, file->path, err);
    if (!status) status = h5_open_file_here(file->path, &one->files[0].place, err);
    if (!status) status = dataset_read_file(one, 0, err);
    if (!status) record_pack(one, file->name, &file->stamp, record);
    if (!status && record->failed) status = dataset_no_memory(file->path, err);
    dataset_close(one);
    return status;
}

static bool write_all(int fd, const void *bytes, size_t size) {
    for (const char *at = bytes; size;) {
        ssize_t written = write(fd, at, size);
        if (written < 0) return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static void be_child(const Job *job, int first, int out) {
    Bytes record = {0};
    bool heard = true;
    h5_lock_forked();
    h5_become_child();
    for (int at = first; at < job->count && at < atomic_load(job->failed) && heard; at += CHILDREN) {
        Error err = {0};
        record.size = 0;
        Status status = read_one(job, at, &record, &err);
        const char *bytes = status ? err.text : record.data;
        size_t size = status ? strlen(err.text) + 1 : record.size;
        Message message = {at, (int32_t)status, size};
        if (status) fail_at(job, at);
        heard = write_all(out, &message, sizeof message) && write_all(out, bytes, size);
    }
    _exit(0);
}

// ---- in the parent

static bool read_all(int fd, void *bytes, size_t size) {
    for (char *at = bytes; size;) {
        ssize_t got = read(fd, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static Status start(const Job *job, Child *child, int number, Error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, STATUS_FAILED, "%s: cannot read its files: no pipe (%s)", job->dataset->info.path,
                         strerror(errno));
    h5_lock(); // no other thread is inside HDF5 when the child gets its copy
    child->process = fork();
    if (child->process == 0) {
        close(ends[0]);
        be_child(job, number, ends[1]);
    }
    h5_unlock();
    close(ends[1]);
    if (child->process > 0) {
        child->end = ends[0];
        return STATUS_OK;
    }
    close(ends[0]);
    return error_set(err, STATUS_FAILED, "%s: cannot read its files in child processes: fork failed (%s)",
                     job->dataset->info.path, strerror(errno));
}

static int end_child(Child *child, bool now) {
    int state = 0;
    pid_t ended = -1;
    if (child->process <= 0) return 0;
    if (now) kill(child->process, SIGKILL);
    if (child->end >= 0) close(child->end);
    do ended = waitpid(child->process, &state, 0);
    while (ended < 0 && errno == EINTR);
    child->process = 0;
    child->end = -1;
    return ended < 0 ? 0 : state;
}

typedef struct Failure {
    int at;
    Status status;
    Error err;
} Failure;

static void keep_first(const Job *job, Failure *failure, int at, Status status, const Error *err) {
    fail_at(job, at);
    if (failure->status != STATUS_OK && failure->at < at) return;
    *failure = (Failure){at, status, *err};
}

// A child that ended before its last file crashed in the one that it did not tell of.
static void take_end(const Job *job, Child *child, Failure *failure) {
    Error err;
    int at = child->next, state = end_child(child, false);
    if (at >= job->count || at >= atomic_load(job->failed)) return;
    Status status = h5_crash_error(job->dataset->files[job->files[at]].path, state, &err);
    keep_first(job, failure, at, status, &err);
}

// False at the end of the pipe, or when what came is no message.
static bool take_message(const Job *job, Child *child, Bytes *out, Failure *failure) {
    Message message;
    if (!read_all(child->end, &message, sizeof message)) return false;
    if (message.at != child->next || message.bytes > MESSAGE_BYTES_MAX || message.bytes == 0) return false;
    Bytes text = {0}, *to = message.status == STATUS_OK ? out : &text;
    size_t at = bytes_reserve(to, message.bytes);
    bool good = !to->failed && read_all(child->end, to->data + at, message.bytes);
    if (!good) to->size = at;
    if (good && message.status != STATUS_OK) {
        Error err;
        text.data[message.bytes - 1] = 0;
        error_set(&err, (Status)message.status, "%s", text.data);
        keep_first(job, failure, message.at, (Status)message.status, &err);
    }
    bytes_free(&text);
    child->next += CHILDREN;
    return good;
}

// Waits for the next messages; false when no child is left.
static bool listen(const Job *job, Child *children, Bytes *out, Failure *failure) {
    struct pollfd ends[CHILDREN];
    int left = 0;
    for (int i = 0; i < CHILDREN; i++) {
        ends[i] = (struct pollfd){.fd = children[i].end, .events = POLLIN};
        left += children[i].end >= 0;
    }
    if (left == 0) return false;
    if (poll(ends, CHILDREN, WAIT_MILLISECONDS) <= 0) return true;
    for (int i = 0; i < CHILDREN; i++) {
        if (children[i].end < 0 || ends[i].revents == 0) continue;
        if (!take_message(job, &children[i], out, failure)) take_end(job, &children[i], failure);
    }
    return true;
}

Status read_many(const Dataset *dataset, const int *files, int count, Bytes *out, Error *err) {
    void *shared = mmap(NULL, sizeof(_Atomic int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return dataset_no_memory(dataset->info.path, err);
    Job job = {dataset, files, count, shared};
    Child children[CHILDREN];
    Failure failure = {.status = STATUS_OK};
    Status status = STATUS_OK;
    atomic_init(job.failed, count);
    for (int i = 0; i < CHILDREN; i++) children[i] = (Child){.end = -1, .next = i};
    for (int i = 0; i < CHILDREN && i < count && status == STATUS_OK; i++) status = start(&job, &children[i], i, err);
    while (status == STATUS_OK && listen(&job, children, out, &failure))
        if (stop_requested()) status = stop_error(err);
    for (int i = 0; i < CHILDREN; i++) end_child(&children[i], true);
    munmap(shared, sizeof(_Atomic int));
    if (status == STATUS_OK && out->failed) status = dataset_no_memory(dataset->info.path, err);
    if (status != STATUS_OK || failure.status == STATUS_OK) return status;
    *err = failure.err;
    return file_names_explain(dataset, files[failure.at], err);
}
