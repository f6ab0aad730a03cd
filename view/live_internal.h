// SPDX-License-Identifier: Apache-2.0
// Shared by live.c and live_*.c alone.
#ifndef VPD_VIEW_LIVE_INTERNAL_H
#define VPD_VIEW_LIVE_INTERNAL_H

#include "base/file.h"
#include "base/stop.h"
#include "view/live.h"

#include <pthread.h>

// A file whose steps are shown as they are; and, with a model, what jobs begin with.
typedef struct Source {
    const char *path; // of the rollout or the data set
    char *real;       // of the rollout, from the root, or the name of a dropped file; NULL: none
    bool dropped;     // lies in live->folder
    RolloutFile file;
    vpd_scene *scene;
} Source;

typedef struct Result {
    long id;
    bool working, asked; // asked: a job waits for the thread
    bool stopped;        // it was to end early
    LiveJob job;         // edits in memory of our own
    size_t more;         // steps to go on by, in place of a job
    Error error;         // why it ended early
    char *warnings;      // of its edits; NULL: none
    ViewOrder order;     // of the parts
    size_t order_steps;  // what it was made for
    ViewBytes bytes;     // the parts
    size_t *ends, parts; // (parts) where each ends
    double seconds;      // that the model took for its steps
} Result;

struct Live {
    Source sources[LIVE_SCENES_MAX];
    int count;
    vpd_model *model; // NULL: nothing can be simulated, `why` says why
    char why[1200], title[FILE_PATH_SIZE];
    const char *dataset; // NULL: the one that each scene names
    char **episodes;     // LiveOptions
    int (*place)(const void *context, const char *episode);
    const void *context;
    int episode;   // the one that is shown; -1: unknown
    bool predicts; // an episode of the data set is shown, and others can be
    pthread_t thread;
    bool started, quit;
    atomic_bool stop;          // the thread is to leave its job; changed under the lock
    pthread_mutex_t lock;      // guards all below, and the scenes of `sources`
    pthread_cond_t wake, news; // a job waits; the result has more, or ends
    Result result;
    vpd_scene *scene;            // of the result; the thread's
    long generation;             // how often another episode was opened
    long long start;             // other for each server
    char folder[FILE_PATH_SIZE]; // of dropped files; "": none yet
    bool uploading;
};

static inline Status api_status(vpd_status status, const vpd_error *from, Error *err) {
    return status == VPD_OK ? STATUS_OK : error_set(err, (Status)status, "%s", from->text);
}

static inline Status live_no_memory(Error *err) {
    return error_set(err, STATUS_FAILED, "out of memory for the viewer");
}

// The error for a result that is no longer there.
static inline Status live_stale(Error *err, long id) {
    return error_set(err, STATUS_BAD_INPUT, "result %ld is gone, because another one was asked for", id);
}

// ---- a scene of the model as bytes (live_scene.c)

typedef struct SceneView {
    ViewScene view;         // without positions
    const float *positions; // of one step
    double *cameras;        // intrinsics and poses; the caller frees them
} SceneView;

void live_source_free(Source *source);
Status live_view_of_scene(const vpd_scene *scene, size_t step, SceneView *out, Error *err);

// The path of a file in a new folder of its own; both are removed in the end.
typedef struct Temporary {
    char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE];
} Temporary;

Status live_temporary_begin(Temporary *t, Error *err);
void live_temporary_end(const Temporary *t);

// ---- opening (live_open.c)

Status live_open(Live *live, const LiveOptions *options, Error *err);
void live_close(Live *live);
void live_remove_dropped(const Live *live); // live_upload.c

// ---- edits (live_select.c)

// `compose` reads a file, so it must be one of those shown, in the words that the page writes.
Status live_check_edits(const Live *live, const char *edits, Error *err);

#endif
