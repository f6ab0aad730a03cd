// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the C API (api/vpd.h) alone.
#ifndef VPD_API_API_H
#define VPD_API_API_H

#include "api/vpd.h"
#include "base/threads.h"
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
};

// A call that uses the model: alone, with as many threads as it was opened with. The caller's own setting of OpenMP is
// put back at the end.
typedef struct Call {
    vpd_model *model;
    int threads; // the caller's setting
} Call;

Call call_begin(vpd_model *model);
void call_end(const Call *call);

// A scene of the model around *file, which it takes over; after an error *file is freed.
Status scene_create(vpd_model *model, RolloutFile *file, vpd_scene **out, Error *err);

// Our error as the user's.
vpd_status api_result(Status status, const Error *from, vpd_error *to);

// A pointer that must not be NULL; `what` is its name in vpd.h.
Status api_check_pointer(const void *pointer, const char *what, Error *err);
// struct_size of a struct called `name`.
Status api_check_size(size_t given, size_t known, const char *name, Error *err);
// Intrinsics and rigid pose; `what` is the place in messages.
Status api_check_camera(const double K[9], const double pose[16], const char *what, Error *err);
Status api_check_step(const vpd_scene *scene, size_t step, Error *err);
// Rows and columns of a picture.
Status api_check_sides(int H, int W, const char *what, Error *err);

#define API_CHECK_STRUCT(pointer, name, err)                                                                           \
    (api_check_pointer((pointer), #name, (err)) == STATUS_OK                                                           \
         ? api_check_size((pointer)->struct_size, sizeof(name), #name, (err))                                          \
         : STATUS_BAD_INPUT)

#endif
