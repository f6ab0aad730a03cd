// SPDX-License-Identifier: Apache-2.0
// Is a data set what it says it is? Reads every image, and holds the cameras against each other: pixels of view a are
// unprojected, moved into view b and compared with the depth there.
//   in: an open data set      out: findings in words, errors in metres per ordered pair of views, guesses at what is
//   wrong
// A point is tested when it lands inside b where the four pixels around it have depth, within 5 % of each other, and on
// the same mask. Its error is |z - depth of b|, that depth interpolated linearly in 1/z (exact on a plane). Beyond 5 %
// of z it counts as occluded (behind b's surface) or as seen through (in front of it: a view that agrees cannot have
// many).
#ifndef VPD_DATASETS_CHECK_H
#define VPD_DATASETS_CHECK_H

#include "base/log.h"
#include "datasets/dataset.h"

#define CHECK_PASS_RELATIVE 0.01  // the median error may be 1 % of the median depth
#define CHECK_PASS_ABSOLUTE 0.002 // plus 2 mm
#define CHECK_PASS_THROUGH 0.2    // and at most a fifth of the points may be seen through

typedef struct PairStats {
    int a, b;                         // views
    size_t tested, occluded, through; // points
    double median, p90, p99;          // metres, of the tested points that are neither; NaN when there are none
    double agree;                     // share of tested points within 1 % of depth
} PairStats;

typedef enum Guess { // what the numbers may be instead; the first is as they stand
    GUESS_NONE,
    GUESS_RAY_LENGTH,
    GUESS_OPENGL,
    GUESS_INVERSE,
    GUESS_INVERSE_OPENGL,
    GUESS_HALF_PIXEL_LESS,
    GUESS_HALF_PIXEL_MORE,
    GUESS_MILLIMETRES,
    GUESS_POSE_MILLIMETRES,
    GUESS_MIRRORED,
    GUESS_UPSIDE_DOWN,
    GUESS_SWAPPED_FOCAL,
    GUESS_SWAPPED_CENTRE,
    GUESS_W_LAST,
    GUESS_W_FIRST,
    GUESS_COUNT
} Guess;

typedef struct EpisodeCheck {
    double median; // metres over all pairs; NaN when nothing was tested
    double depth_low, depth_median,
        depth_high; // 1st, 50th, 99th percentile of valid depth, metres; NaN when there is none
    double valid;   // share of pixels with depth
    size_t images_without_depth, bad_masks;
} EpisodeCheck;

typedef struct Finding {
    bool wrong; // else only worth knowing
    char text[400];
} Finding;

typedef struct CheckReport {
    int episode_count, pair_count, finding_count, finding_capacity;
    EpisodeCheck *episodes;         // (episode_count)
    PairStats *pairs;               // (pair_count), over all episodes
    PairStats all;                  // a = b = -1
    PairStats guesses[GUESS_COUNT]; // all pairs under each guess
    Guess guess;                    // the one that explains the data better, or GUESS_NONE
    double pass;                    // metres: the floor that `all.median` is held against
    Finding *findings;
} CheckReport;

// Damaged data are an error; what is merely wrong becomes a finding.
Status dataset_check(const Dataset *dataset, const Log *log, CheckReport *out, Error *err);
void check_report_free(CheckReport *report);
bool check_report_passes(const CheckReport *report);

const char *guess_name(Guess guess);   // "ray length"
const char *guess_advice(Guess guess); // what to do about it

// Frusta of all cameras and the merged points of one frame, from the side and from above.
Status dataset_check_picture(const Dataset *dataset, int episode, int frame, const char *title, const char *path,
                             Error *err);

#endif
