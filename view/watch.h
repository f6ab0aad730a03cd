// SPDX-License-Identifier: Apache-2.0
// Training runs as a page shows them: a run's folder, or the run folders in a folder. What runs write is read
// (its layout: docs/training.md); nothing is written there. A run of this process can be paused, saved and stopped.
#ifndef VPD_VIEW_WATCH_H
#define VPD_VIEW_WATCH_H

#include "view/scene.h"

#include <stdbool.h>

enum { WATCH_RUNS_MAX = 64 };

typedef struct Watch Watch;

// `own`: the folder is that of a run in this process; it need not be there yet. Otherwise it is an error if it holds no
// run.
Status watch_create(const char *folder, bool own, Watch **out, Error *err);
void watch_free(Watch *watch); // accepts NULL

// A JSON object {"title", "own", "paused", "saves", "runs": [{"name", "active", "metrics": {"file", "size"}, "picture",
// "rollout", "truth", "options"}]}. "file", "picture" and "rollout" change when the files do; "" if there is none.
// "truth" and "options": whether watch_scene and watch_options have them.
Status watch_facts(Watch *watch, char **out, Error *err);
// `run` is one of the names, no path. Whole lines of metrics.jsonl behind `from` bytes, a megabyte at most.
Status watch_metrics(Watch *watch, const char *run, size_t from, ViewBytes *out, Error *err);
Status watch_options(Watch *watch, const char *run, ViewBytes *out, Error *err); // config.yaml
Status watch_picture(Watch *watch, const char *run, ViewBytes *out, Error *err); // the newest, GIF
// The newest sample rollout, or what was recorded of it.
Status watch_scene(Watch *watch, const char *run, bool truth, ViewBytes *out, Error *err);

// "pause", "go", "save" or "stop" a run of this process.
Status watch_ask(Watch *watch, const char *wish, Error *err);

// For the run, between two steps: what is wanted now. While the run is paused it waits a little.
typedef struct WatchWish {
    bool save, show, wait; // show: somebody looks; wait: the run is paused, ask again
} WatchWish;
WatchWish watch_wish(Watch *watch);

#endif
