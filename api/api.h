// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the C API (api/vpd.h) alone.
#ifndef VPD_API_API_H
#define VPD_API_API_H

#include "api/vpd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/signal_hold.h"
#include "base/threads.h"
#include "edit/edit.h"
#include "infer/rollout.h"
#include "infer/session.h"

#include <pthread.h>

struct vpd_model {
    Session session;
    RolloutWorkspace workspace;
    pthread_mutex_t lock;
    int references; // the user's and one per scene; guarded by `lock`
};

struct vpd_scene {
    vpd_model *model;
    RolloutFile file;
    char *warnings;        // of its last edits; NULL: none
    EditMechanics *coming; // steps of its last edit that are not computed yet; NULL: none
    size_t told;           // of them, those whose motions the file has
};

// Every call that computes, or reads a scene, lies between call_begin and call_end. The host's signal handlers stay
// away from it (base/signal_hold.h), and the caller's own setting of OpenMP is put back at the end.
typedef struct Call {
    vpd_model *model; // or NULL
    int threads;      // the caller's setting
    SignalHold hold;
} Call;

// A call that uses `model` alone: until call_end no other call changes what the model and its scenes hold, so arguments
// are compared with that behind the begin. NULL: no model of the caller's. `threads` 0: as many as the model was opened
// with, or as the process may use. `stoppable`: it may take minutes; vpd_stop, and SIGINT, SIGTERM and SIGHUP, end it
// early (VPD_STOPPED).
Call call_begin(vpd_model *model, int threads, bool stoppable);
void call_end(Call *call);

// A scene of the model around *file, which it takes over; after an error *file is freed. Between call_begin and
// call_end, since it counts the model's references.
Status scene_create(vpd_model *model, RolloutFile *file, vpd_scene **out, Error *err);

// A copy of the scene's file with all motions that its edits tell. Between call_begin and call_end.
Status scene_copy_whole(const vpd_scene *scene, RolloutFile *out, Error *err);

// Our error as the user's.
vpd_status api_result(Status status, const Error *from, vpd_error *to);

// A pointer that must not be NULL; `what` is its name in vpd.h.
Status api_check_pointer(const void *pointer, const char *what, Error *err);
// struct_size of a struct called `name`.
Status api_check_size(size_t given, size_t known, const char *name, Error *err);
// Intrinsics and rigid pose; `what` is the place in messages.
Status api_check_camera(const double K[9], const double pose[16], const char *what, Error *err);
Status api_check_step(const RolloutFile *scene, size_t step, Error *err);
// `camera` of the recording that the scene comes from.
Status api_check_camera_index(const RolloutFile *scene, int camera, Error *err);
// The caller's arrays called `what` are of `count` particles.
Status api_check_count(const RolloutFile *scene, size_t count, const char *what, Error *err);
// Rows and columns of a picture.
Status api_check_sides(int H, int W, const char *what, Error *err);

// An existing file at `path` may only be replaced if it is of one of these kinds (datasets/output_kind.h); a new one
// must have their ending.
Status api_check_output(const char *path, const char *kinds, Error *err);

// ---- reports as JSON

enum { API_TEXTS_MAX = 65536 }; // texts in a list of the caller's

// Collects the warnings of a call, which the command would print.
typedef struct ApiNotes {
    Log log;
    char *text;
    size_t length;
} ApiNotes;

Status api_notes_open(ApiNotes *notes, Error *err);
// The warnings, a sentence a line, in memory that the caller frees; NULL if that is short.
char *api_notes_text(const ApiNotes *notes);
void api_notes_free(ApiNotes *notes); // accepts {0}

// `object` and the warnings as a text for the caller; `out` may be NULL. Releases the reference to `object`; NULL
// fails.
Status api_report(json_t *object, ApiNotes *notes, char **out, Error *err);

// A list of the caller's; with a count of 0 the list may be NULL.
Status api_check_list(const void *list, size_t count, size_t most, const char *what, Error *err);
Status api_check_texts(const char *const *list, size_t count, const char *what, Error *err);
Status api_check_threads(int threads, Error *err);
// 0 or from `low` to `high`.
Status api_check_whole(int value, int low, int high, const char *what, Error *err);

#define API_CHECK_STRUCT(pointer, name, err)                                                                           \
    (api_check_pointer((pointer), #name, (err)) == STATUS_OK                                                           \
         ? api_check_size((pointer)->struct_size, sizeof(name), #name, (err))                                          \
         : STATUS_BAD_INPUT)

#endif
