// SPDX-License-Identifier: Apache-2.0
#include "app/train_view.h"

#include "base/clock.h"

static unsigned wish(void *owner) {
    TrainView *view = owner;
    double now = clock_now();
    if (now - view->tidied > 1) {
        server_tidy(view->server);
        view->tidied = now;
    }
    WatchWish wanted = watch_wish(view->watch);
    return (wanted.save ? TRAIN_SAVE : 0) | (wanted.show ? TRAIN_SHOW : 0) | (wanted.wait ? TRAIN_WAIT : 0);
}

Status train_view_open(const char *folder, int port, TrainView *out, Error *err) {
    *out = (TrainView){0};
    if (!*folder)
        return error_set(err, STATUS_BAD_INPUT, "--view: expected a folder for the run (-o FOLDER), found nothing");
    Status status = watch_create(folder, true, &out->watch, err);
    if (status == STATUS_OK) status = server_start(NULL, out->watch, port, &out->server, err);
    if (status == STATUS_OK) server_tell(out->server, stderr);
    else train_view_close(out);
    return status;
}

void train_view_close(TrainView *view) {
    server_stop(view->server);
    watch_free(view->watch);
    *view = (TrainView){0};
}

TrainWatcher train_view_watcher(TrainView *view) {
    return view->server ? (TrainWatcher){view, wish} : (TrainWatcher){0};
}
