// SPDX-License-Identifier: Apache-2.0
// The viewer's server: HTTP on 127.0.0.1 alone. Who opens the printed address with its token gets a cookie; nothing but
// /api/again is answered without one of the two. Host must be a loopback name, Origin the same place, and only POST
// changes anything.
//   GET  /                          the page            GET /viewer.css, /viewer.js
//   GET  /api/key                   {"key"}: what GET /api/again?nonce=N and POST /api/again {"proof"} prove, which let
//                                   in pages of an earlier server without cookie (view/again.h)
//   GET  /api/facts                 live_facts          GET /api/scene?id=I        live_scene
//   POST /api/jobs                  {"scene", "step", "edits", "steps"} or {"id", "more"}; answers {"id"}
//   POST /api/check                 the same job: live_try, which says what is wrong with its edits
//   POST /api/stop                  {"id"}: live_stop
//   GET  /api/result?id=I&from=K    live_result         GET /api/rollout.h5?id=I   live_file
//   GET  /api/picture?scene=I&..    live_picture; ?result=I for the result; step, width, height; focal and middle (row
//                                   of the optical axis) in pixels; and pose: 16 numbers with commas between
//   GET  /api/recorded?scene=I&step=K&camera=V   live_recorded; /api/psnr with the same: live_psnr
//   GET  /api/truth?id=I            live_truth
//   POST /api/select                {"scene" or "result", "step", "where"}: live_select
//   POST /api/file?name=NAME        a rollout file as application/octet-stream, LIVE_FILE_BYTES at most; answers {"id"}
//   POST /api/episode               {"episode", "start", "steps"}: live_episode
// Of runs instead (view/watch.h):
//   GET  /api/facts                 watch_facts         GET /api/metrics?run=NAME&from=BYTES   watch_metrics
//   GET  /api/scene?run=NAME[&which=truth]              GET /api/options?run=NAME, /api/picture?run=NAME
//   POST /api/wish                  {"wish"}: watch_ask
// Errors are JSON {"error": "one sentence"}.
#ifndef VPD_VIEW_SERVER_H
#define VPD_VIEW_SERVER_H

#include "view/live.h"
#include "view/watch.h"

#include <stdio.h>

enum { SERVER_PORT = 8317 }; // tried first

typedef struct Server Server;

// One of `live` and `watch` is shown, the other is NULL. `port`: the first one that is tried; a taken one is followed
// by the next, 32 in all.
Status server_start(Live *live, Watch *watch, int port, Server **out, Error *err);
// Prints the address, and how to reach it from another machine.
void server_tell(const Server *server, FILE *out);
// Ends requests that take too long; call it once a second.
void server_tidy(Server *server);
void server_stop(Server *server); // accepts NULL

#endif
