// SPDX-License-Identifier: Apache-2.0
// `vpd train --view`: a page of the run while it runs.
#ifndef VPD_APP_TRAIN_VIEW_H
#define VPD_APP_TRAIN_VIEW_H

#include "train/trainer.h"
#include "view/server.h"

typedef struct TrainView {
    Watch *watch;
    Server *server;
    double tidied;
} TrainView;

// Serves the run that will be in `folder`, and prints the address on stderr.
Status train_view_open(const char *folder, int port, TrainView *out, Error *err);
void train_view_close(TrainView *view); // accepts {0}
TrainWatcher train_view_watcher(TrainView *view);

#endif
