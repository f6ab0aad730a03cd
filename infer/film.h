// SPDX-License-Identifier: Apache-2.0
// Films of a rollout: from cameras of its data set, each a row of truth | prediction | difference, or along a camera
// path while time advances.
//   film_of_views | film_of_path  ->  Film (which camera, which step)  ->  film_draw  ->  Video (infer/video.h)
#ifndef VPD_INFER_FILM_H
#define VPD_INFER_FILM_H

#include "infer/camera_path.h"
#include "infer/draw.h"
#include "infer/video.h"

// One picture: a step seen by a camera.
typedef struct FilmShot {
    size_t step;
    int view; // of the data set, whose true picture can be drawn beside it; -1: none
    RendererCamera camera;
} FilmShot;

typedef struct Film {
    int frames, rows, H, W; // all pictures have one size
    FilmShot *shots;        // (frames, rows)
} Film;

// Pictures of every step, or of one (only_step >= 0), from cameras of the rollout. H and W 0: the cameras' own size.
Status film_of_views(const RolloutFile *rollout, const int *views, int count, long only_step, int H, int W, Film *out,
                     Error *err);
// One row along the path. Steps 0..n are distributed evenly over its cameras; with a single camera, all steps are drawn
// from there. H and W 0: the size of the first camera.
Status film_of_path(const RolloutFile *rollout, const PathCamera *cameras, int count, long only_step, int H, int W,
                    Film *out, Error *err);
void film_free(Film *film); // accepts {0}

typedef struct FilmOptions {
    const Dataset *truth; // NULL: no true pictures
    int episode;          // of `truth`
    bool difference;      // a third column if there are true pictures
    bool labels;          // colours of labels instead of predicted colours
    const Log *log;       // progress; NULL: none
} FilmOptions;

// Draws the film and appends it to the video. Missing labels, and true pictures with other cameras, are
// STATUS_BAD_INPUT.
Status film_draw(RolloutWorkspace *workspace, const RolloutFile *rollout, const Film *film, const FilmOptions *options,
                 Video *video, Error *err);

// Draws one shot into (H,W,3).
Status film_draw_shot(RolloutWorkspace *workspace, const DrawScene *scene, const FilmShot *shot, bool labels,
                      uint8_t *rgb, Error *err);

#endif
