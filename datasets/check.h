// SPDX-License-Identifier: Apache-2.0
// Checks a data set. Reads every image and compares the cameras with each other: pixels of view a are unprojected,
// projected into view b and compared with the depth there.
//   in: an open data set      out: findings in words, errors in metres per ordered pair of views, guesses at what is
//   wrong
// A point is tested when its surface has no edge there and faces b, and when it lands inside b where the four pixels
// around it have depth, within 5 % of each other, and on the same mask. Its error is |z - depth of b|, that depth
// interpolated linearly in 1/z (exact on a plane). Beyond 5 % of z it counts as occluded (behind b's surface) or as
// seen through (in front of it: a view that agrees cannot have many). Then hypotheses about common mistakes are tested
// on a sample of images (datasets/check_evidence.h): cameras and depth, colour against depth, and clocks. One is
// reported only when it explains the data clearly better than no mistake.
#ifndef VPD_DATASETS_CHECK_H
#define VPD_DATASETS_CHECK_H

#include "base/log.h"
#include "datasets/dataset.h"

#define CHECK_PASS_RELATIVE 0.01  // the median error may be 1 % of the median depth
#define CHECK_PASS_ABSOLUTE 0.002 // plus 2 mm
#define CHECK_PASS_NOISE 1.0      // plus the noise of depth from pixel to pixel,
#define CHECK_NOISE_MAX 0.02      // which counts up to 2 % of depth
#define CHECK_PASS_THROUGH 0.2    // and at most a fifth of the points may be seen through, of all and of an episode

enum { CHECK_POINTS_MIN = 100 }; // of fewer tested points nothing is said

typedef struct PairStats {
    int a, b;                         // views
    size_t tested, occluded, through; // points
    size_t nearer;                    // points more than 1 % of depth in front of what the other view sees
    double median, p90, p99;          // metres, of the tested points that are neither; NaN when there are none
    double agree;                     // share of tested points within 1 % of depth
} PairStats;

typedef enum Guess { // hypotheses about cameras and depth; the first: no mistake
    GUESS_NONE,
    GUESS_RAY_LENGTH,
    GUESS_NOT_RAY_LENGTH,
    GUESS_OPENGL,
    GUESS_INVERSE,
    GUESS_INVERSE_OPENGL,
    GUESS_ROTATION_TRANSPOSED,
    GUESS_HALF_PIXEL_LESS,
    GUESS_HALF_PIXEL_MORE,
    GUESS_ROWS_FROM_BELOW,
    GUESS_MIRRORED,
    GUESS_UPSIDE_DOWN,
    GUESS_HALF_TURN,
    GUESS_TURNED_LEFT,
    GUESS_TURNED_RIGHT,
    GUESS_TRANSPOSED,
    GUESS_SWAPPED_FOCAL,
    GUESS_SWAPPED_CENTRE,
    GUESS_FIELD_OF_HEIGHT,
    GUESS_FIELD_OF_WIDTH,
    GUESS_W_LAST,
    GUESS_W_FIRST,
    GUESS_TEXT_ORDER,
    GUESS_NEXT_CAMERA,     // from here on with a number: how many views further
    GUESS_EXCHANGED,       // first view * V + second view
    GUESS_EXCHANGED_POSES, // the same; each view keeps its lens
    GUESS_LATE,            // frames of the evidence by which pictures come after poses
    GUESS_SCALE,           // of depth against poses
    GUESS_DEPTH_BUFFER,    // near plane, metres; with CheckReport.far_over_near
    GUESS_DISTORTED,       // k1
    GUESS_OTHER_SIZE,      // factor of fx, fy, cx, cy
    GUESS_FOCAL,           // of fx and fy
    GUESS_STRETCHED_X,     // of fx, about the middle
    GUESS_STRETCHED_Y,
    GUESS_COUNT
} Guess;

typedef enum ColourGuess { // hypotheses about colour against depth
    COLOUR_NONE,
    COLOUR_DEPTH_ALONE, // no mistake in colour; depth corrected by the guess about cameras and depth
    COLOUR_MIRRORED,
    COLOUR_UPSIDE_DOWN,
    COLOUR_HALF_TURN,
    COLOUR_TURNED_LEFT,
    COLOUR_TURNED_RIGHT,
    COLOUR_TRANSPOSED,
    COLOUR_NEXT_VIEW, // from here on with numbers: how many views further
    COLOUR_EXCHANGED, // first view * V + second view
    COLOUR_SHIFTED,   // x and y, of the width
    COLOUR_ZOOMED,    // factor about the middle
    COLOUR_OTHER_FRAME,
    COLOUR_COUNT
} ColourGuess;

// Colour at points on which two views agree in depth, with gain and offset of each pair of images left free.
typedef struct ColourCheck {
    size_t points;
    double texture, coherence; // share of points with detail; correlation of detail in neighbouring pixels
    double detail_correlation; // of detail across views
    double moving;             // correlation where something moves, when other frames explain colour better
    bool told;                 // there is texture enough to tell
    ColourGuess guess;
    double correlations[COLOUR_COUNT]; // correlation across views under each guess; NaN when it was not tried
    double numbers[COLOUR_COUNT][2];
} ColourCheck;

enum { CHECK_CLOCKS_MAX = 24 };
typedef struct ClockCheck { // a view that lags behind the others (negative: is ahead of them)
    int view, frames;
    double seconds, before, after; // mean error of moving surfaces relative to depth, without and with the offset
} ClockCheck;

// Median error of depth, by where in the picture the point was.
enum {
    WHERE_CENTRE,
    WHERE_CORNERS,
    WHERE_LEFT,
    WHERE_RIGHT,
    WHERE_TOP,
    WHERE_BOTTOM,
    WHERE_OBJECTS, // by the mask
    WHERE_BACKGROUND,
    WHERE_BAND, // bands of rows from the top
    WHERE_BANDS = 8,
    WHERE_COUNT = WHERE_BAND + WHERE_BANDS
};

typedef struct EpisodeCheck {
    double median;                 // metres over all pairs; NaN when nothing was tested
    size_t tested, through;        // points
    int view_off;                  // the view that disagrees most with the others in this episode; -1 when none does
    double view_agree, rest_agree; // share of its points that agree; the same of the other views
    double noise; // of depth from pixel to pixel, standard deviation over depth; NaN when it was not seen
    double depth_low, depth_median,
        depth_high; // 1st, 50th, 99th percentile of valid depth, metres; NaN when there is none
    double valid;   // share of pixels with depth
    size_t images_without_depth, images_of_one_depth, images_of_one_colour, bad_masks;
    int mask_highest;       // id of the masks
    uint8_t colour_highest; // value of the colour pictures
    int view_of_one_depth;  // the first view that has such an image
} EpisodeCheck;

typedef struct Finding {
    bool wrong; // else only information
    char text[600];
} Finding;

typedef struct CheckReport {
    int pair_views; // the first views of each episode take part in pairs
    int episode_count, pair_count;
    int wrong_count, note_count;         // findings, those that are not listed too
    int finding_count, finding_capacity; // listed
    EpisodeCheck *episodes;              // (episode_count)
    PairStats *pairs;                    // (pair_count), over all episodes
    PairStats all;                       // a = b = -1
    PairStats guesses[GUESS_COUNT];      // a sample of pairs under each guess; no points when it was not tried
    double numbers[GUESS_COUNT];         // the number that fits best
    double far_over_near;                // planes of GUESS_DEPTH_BUFFER
    Guess guess;                         // the one that explains the data clearly better, or GUESS_NONE
    ColourCheck colour;
    ClockCheck clocks[CHECK_CLOCKS_MAX];
    int clock_count;
    double where[WHERE_COUNT]; // NaN of too few points
    double noise;              // of depth, mean of the episodes
    double pass;               // metres: `all.median` passes up to this
    const char *not_compared;  // why cameras and depth could not be compared; NULL when they were
    Finding *findings;
} CheckReport;

// Damaged data are an error; wrong values become findings.
Status dataset_check(const Dataset *dataset, const Log *log, CheckReport *out, Error *err);
void check_report_free(CheckReport *report);
bool check_report_fails(const CheckReport *report);
// "FAIL", "pass", or "not checked" where nothing is wrong and nothing could be compared.
const char *check_report_word(const CheckReport *report);
// The number of findings that are not listed, since there are too many.
int check_report_unlisted(const CheckReport *report);
// The last line of the report: that word, and why.
void check_report_verdict(const CheckReport *report, char *out, size_t size);

// What the text about a guess depends on.
typedef struct GuessFacts {
    double number, far, depth, frame_seconds; // depth: median, metres
    int views;
    bool depth_alone; // colour shows that only the depth pictures are affected
} GuessFacts;

const char *guess_name(Guess guess);                                             // "ray length"
void guess_advice(Guess guess, const GuessFacts *facts, char *out, size_t size); // what to do about it
// Whether translations are to be divided by the scale, since the depth is plausible without it and not with it.
bool guess_scale_of_poses(double number, double depth);
const char *colour_guess_name(ColourGuess guess);
// Numbers in pixels and frames.
void colour_guess_advice(ColourGuess guess, const double number[2], int views, char *out, size_t size);
const char *where_name(int where);

// Frusta of all cameras and the merged points of one frame, from the side and from above.
Status dataset_check_picture(const Dataset *dataset, int episode, int frame, const char *title, const char *path,
                             Error *err);

#endif
