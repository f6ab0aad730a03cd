// SPDX-License-Identifier: Apache-2.0
// The scenes that a viewer shows, and the thread that edits and simulates them. Scenes are rollout files, or the start
// of an episode as the model sees it. A job edits a copy of one of them and simulates it; its steps can be read as they
// come. A new job ends the one before it.
#ifndef VPD_VIEW_LIVE_H
#define VPD_VIEW_LIVE_H

#include "view/scene.h"

enum { LIVE_SCENES_MAX = 8, LIVE_STEPS_MAX = 10000, LIVE_PICTURE_SIDE = 640, LIVE_NAME_SIZE = 128 };
#define LIVE_FILE_BYTES ((size_t)1 << 28) // of a dropped file

typedef struct Live Live;

typedef struct LiveOptions {
    const char *const *rollouts; // (rollout_count) rollout and particle files; or
    int rollout_count;
    const char *dataset, *episode; // an episode of a data set, NULL: the first test episode
    char **episodes;               // labels of its episodes up to a NULL, which live longer than the viewer
    int (*place)(const void *context, const char *episode); // of an episode among them; -1: unknown
    const void *context;
    int start, steps;  // present frame, -1: the earliest; steps predicted
    const char *model; // checkpoint or run; NULL: the one that the first rollout names
    const char *device;
    int threads, raw;
} LiveOptions;

typedef struct LiveJob {
    int scene;         // which of the scenes
    size_t step;       // its state that is edited
    const char *edits; // YAML list; "": none, and the scene's own steps up to `step` are kept
    size_t steps;      // to simulate
} LiveJob;

Status live_create(const LiveOptions *options, Live **out, Error *err);
void live_free(Live *live); // accepts NULL

// A JSON object for the page: names of the scenes, and whether and with which model they can be simulated. "real": how
// `compose` names a scene's file; "" if its particles cannot be added to the first scene.
Status live_facts(const Live *live, char **out, Error *err);
Status live_scene(const Live *live, int scene, ViewBytes *out, Error *err);
// The scene as the recording says that its objects moved.
Status live_truth(const Live *live, int scene, ViewBytes *out, Error *err);
// Shows another episode of the data set in place of the one that is shown. `start`: as in LiveOptions.
Status live_episode(Live *live, const char *episode, int start, int steps, Error *err);

// A byte for each shown particle: whether a selection of docs/editing.md, "label: 2", takes it.
typedef struct LiveSelect {
    int scene; // -1: of the finished result `id`
    long id;
    size_t step;
    const char *where;
} LiveSelect;
Status live_select(Live *live, const LiveSelect *select, ViewBytes *out, Error *err);

// Whether a job's edits can be made; nothing changes.
Status live_try(Live *live, const LiveJob *job, Error *err);
// Starts a job; *id tells its result from others.
Status live_ask(Live *live, const LiveJob *job, long *id, Error *err);
// Goes on with the result of the last job by `steps`.
Status live_more(Live *live, long id, size_t steps, Error *err);
// Ends the work on a result; the steps that are there stay, and live_more goes on behind them. Nothing is done if
// another one was asked for.
void live_stop(Live *live, long id);
// What there is of the result beyond its first `from` parts (the head and step 0 are the first part, each step is
// one): u32 bytes of JSON {"id", "state", "parts", "error", "warnings"}, the JSON, and the parts. While there is
// nothing yet and it is worked on, waits a moment for it.
Status live_result(Live *live, long id, size_t from, ViewBytes *out, Error *err);
// What the model draws of a scene, or with `scene` -1 of the finished result `id`, as PNG. `view` is at most
// LIVE_PICTURE_SIDE wide and high.
typedef struct LivePicture {
    int scene;
    long id;
    size_t step;
    vpd_view view;
} LivePicture;
Status live_picture(Live *live, const LivePicture *picture, ViewBytes *out, Error *err);
// How near what the model draws at a camera is to what the camera recorded, in dB.
Status live_psnr(Live *live, int scene, size_t step, int camera, double *out, Error *err);
// What a camera recorded at a step of a scene, as PNG; read from the data set each time.
Status live_recorded(Live *live, int scene, size_t step, int camera, ViewBytes *out, Error *err);
// A rollout or particle file that comes in parts, one at a time, and is then shown as one more scene. Edits name it by
// `name`, which request_file_name has approved.
typedef struct LiveUpload LiveUpload;
Status live_upload_begin(Live *live, const char *name, LiveUpload **out, Error *err);
void live_upload_write(LiveUpload *upload, const void *bytes, size_t size);
Status live_upload_end(LiveUpload *upload, int *scene, Error *err);
void live_upload_free(LiveUpload *upload); // accepts NULL; after an error, or without an end, the file is gone

// The result as a rollout file.
Status live_file(Live *live, long id, char **bytes, size_t *size, Error *err);

#endif
