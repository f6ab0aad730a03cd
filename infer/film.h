// SPDX-License-Identifier: Apache-2.0
// A rollout as a moving picture: from cameras of its data set, each a row of truth | prediction | difference, or along
// a path of cameras while time goes on.
//   film_of_views | film_of_path  ->  Film (which camera, which step)  ->  film_draw  ->  Video (infer/video.h)
#ifndef VPD_INFER_FILM_H
#define VPD_INFER_FILM_H

#include "infer/camera_path.h"
#include "infer/draw.h"
#include "infer/video.h"

// One picture: a step seen by a camera.
typedef struct FilmShot {
    size_t step;
    int view; // of the data set, whose truth may stand beside; -1: none
    RendererCamera camera;
} FilmShot;

typedef struct Film {
    int frames, rows, H, W; // all pictures have one size
    FilmShot *shots;        // (frames, rows)
} Film;

// Pictures of every step, or of one (only_step >= 0), by cameras of the rollout. H and W 0: their own size.
Status film_of_views(const RolloutFile *rollout, const int *views, int count, long only_step, int H, int W, Film *out,
                     Error *err);
// One row along the path; steps 0..n are spread evenly over its cameras. A path of one camera stands still over all
// steps. H and W 0: the size of the first camera.
Status film_of_path(const RolloutFile *rollout, const PathCamera *cameras, int count, long only_step, int H, int W,
                    Film *out, Error *err);
void film_free(Film *film); // accepts {0}

typedef struct FilmOptions {
    const Dataset *truth; // NULL: none beside
    int episode;          // of `truth`
    bool difference;      // a third column where there is truth
    bool labels;          // colours of objects instead of their look
    const Log *log;       // progress; NULL: none
} FilmOptions;

// Draws and appends to the video. Labels that the rollout lacks, and truth whose cameras are others, are
// STATUS_BAD_INPUT.
Status film_draw(RolloutWorkspace *workspace, const RolloutFile *rollout, const Film *film, const FilmOptions *options,
                 Video *video, Error *err);

// What drawing one shot gives, (H,W,3).
Status film_draw_shot(RolloutWorkspace *workspace, const DrawScene *scene, const FilmShot *shot, bool labels,
                      uint8_t *rgb, Error *err);

#endif
