// SPDX-License-Identifier: Apache-2.0
// The parts of the check. Each adds its findings to the report.
#ifndef VPD_DATASETS_CHECK_PRIVATE_H
#define VPD_DATASETS_CHECK_PRIVATE_H

#include "datasets/check_evidence.h"

void check_add_finding(CheckReport *report, bool wrong, const char *format, ...) __attribute__((format(printf, 3, 4)));
// What is wrong and explains other findings: it comes first, however many there are.
void check_add_cause(CheckReport *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- hypotheses about cameras and depth (check_guess.c)

// Tries every hypothesis on the points of the evidence and keeps the one that explains them, if any.
Status check_guess(const Evidence *evidence, CheckReport *report, Error *err);
// The shot of an image under the chosen hypothesis, or without one.
Shot check_guessed_shot(const Evidence *evidence, const CheckReport *report, int image);
// Where a pixel of the depth picture lies in the colour picture if only the depth picture is as the hypothesis says;
// false when the hypothesis is not about pictures.
bool check_depth_alone(const Evidence *evidence, const CheckReport *report, int image, StoredMap *out);
// The argument with the largest `value`: on an even grid of `count` from low to high (in logarithms when
// `logarithmic`), then by golden-section search between the neighbours of the best.
typedef double Objective(void *context, double number);
double check_search(Objective *value, void *context, double low, double high, int count, bool logarithmic);

// ---- colour against depth (check_colour.c), clocks of the cameras (check_clock.c)

Status check_colour(const Evidence *evidence, CheckReport *report, Error *err);
// Whether colours agree clearly better as cameras and depth stand than under the report's guess about them: over a bare
// floor depth agrees either way, and a few points at edges speak for a guess by chance.
Status check_colour_refutes(const Evidence *evidence, CheckReport *report, bool *refuted, Error *err);
Status check_clocks(const Evidence *evidence, CheckReport *report, Error *err);

// ---- masks against known poses of objects (check_objects.c)

// Points of objects that the order of the four numbers of state/object_quaternion puts at different places, and how
// many of them some view sees through: w first, w last.
typedef struct TurnCounts {
    size_t points, through[2];
} TurnCounts;
// Of one episode, whose frames are read into `frames`. Its turns are added.
Status check_objects(const Dataset *dataset, int episode, Frames *frames, TurnCounts *turns, CheckReport *report,
                     Error *err);
void check_turns(const TurnCounts *turns, CheckReport *report); // of all episodes

// ---- where in the picture errors lie (check_where.c)

typedef struct WhereLists WhereLists;
WhereLists *where_create(void); // NULL without memory
void where_free(WhereLists *lists);
PointSeen where_add;         // context: WhereLists
PointSeen where_add_moments; // of two moments: objects may have moved and are left out
void where_judge(WhereLists *lists, CheckReport *report);

// ---- the verdict (check_verdict.c)

// Finds the view that agrees far less with the others in this episode than they do, if any, from its pairs of views.
Status check_view_of_episode(const PairStats *pairs, int pair_count, int views, EpisodeCheck *check, Error *err);

// After check_guess: colour, clocks, then the findings.
Status check_verdict(const Dataset *dataset, const Evidence *evidence, WhereLists *where, CheckReport *report,
                     Error *err);

#endif
