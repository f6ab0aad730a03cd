// SPDX-License-Identifier: Apache-2.0
// The report in three sentences (docs/evaluation.md, "Verdict").
#include "infer/report.h"

#include <math.h>

// A smaller difference is within the noise between two runs of the same model.
#define SAME_DB 0.5
#define SAME_SHARE 0.1
// Below this PSNR a picture can hardly be recognised: colours are off by a tenth of their range.
#define DRAWN_DB 20
#define FAR_BELOW_DB 3
#define MOSTLY_WRONG 0.8
#define GROWS 1.25
// Objects that move less count as at rest, because depth is not measured more precisely.
#define MOVES_METRES 1e-3

// What the sentences report: means over the predicted steps, NaN where nothing was measured.
typedef struct Facts {
    int steps, last;                // predicted steps: requested, and measured
    const char *still;              // why no motion was measured
    bool driven;                    // the motion of some objects was given
    bool analytic;                  // the motion is not the model's, so that training does not mend it
    double drawn;                   // PSNR of step 0, the last input frame; all pixels
    double model[2], copy[2];       // PSNR of moving pixels, of all pixels
    double input, heldout;          // PSNR of all pixels in input views, in held-out views
    double way, error;              // metres that objects truly moved, and error of the prediction
    double first_share, last_share; // error / way at the first and the last step
} Facts;

static double pictures(const Report *report, ReportMethod method, int group, ReportRegion region, int first, int last) {
    Mean all = {0};
    for (int g = 0; g < GROUP_COUNT; g++)
        for (int step = first; step <= last && (group < 0 || g == group); step++) {
            Mean mean = report_mean(report, method, (ReportGroup)g, region, METRIC_PSNR, step, -1);
            mean_merge(&all, &mean);
        }
    return mean_value(&all);
}

static double share_at(const Report *report, int step) {
    const MotionTally *tally = report->motion + step; // of METHOD_MODEL
    double way = mean_value(&tally->true_motion);
    return way > MOVES_METRES ? mean_value(&tally->error) / way : NAN;
}

static Facts find_facts(const Report *report) {
    static const ReportRegion regions[] = {REGION_MOVING, REGION_WHOLE};
    Facts f = {.steps = report->steps,
               .last = report_last_step(report),
               .still = report->still,
               .driven = report->driven.count > 0,
               .analytic = report->analytic[0] != 0};
    Mean way = {0}, error = {0};
    f.drawn = pictures(report, METHOD_MODEL, -1, REGION_WHOLE, 0, 0);
    for (int i = 0; i < 2; i++) {
        f.model[i] = pictures(report, METHOD_MODEL, -1, regions[i], 1, f.last);
        f.copy[i] = pictures(report, METHOD_COPY, -1, regions[i], 1, f.last);
    }
    f.input = pictures(report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, 0, f.last);
    f.heldout = pictures(report, METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, 0, f.last);
    for (int step = 1; step <= f.last; step++) {
        mean_merge(&way, &report->motion[step].true_motion);
        mean_merge(&error, &report->motion[step].error);
    }
    f.way = mean_value(&way), f.error = mean_value(&error);
    f.first_share = f.last > 0 ? share_at(report, 1) : NAN, f.last_share = share_at(report, f.last);
    return f;
}

static const char *compared(double gain, double same) {
    return gain > same ? "better than" : gain < -same ? "worse than" : "no better than";
}

static void say_pictures(const Facts *f, char *out, size_t size) {
    bool moving = isfinite(f->model[0]) && isfinite(f->copy[0]);
    double gain = moving ? f->model[0] - f->copy[0] : f->model[1] - f->copy[1];
    int used;
    if (!isfinite(f->drawn) && !isfinite(f->model[1])) {
        snprintf(out, size, "not measured");
    } else if (f->last == 0) {
        snprintf(out, size, "PSNR of the last input frame %.1f dB; no step was predicted", f->drawn);
    } else if (!isfinite(gain)) {
        snprintf(out, size, "PSNR of all pixels %.1f dB (steps 1 to %d)", f->model[1], f->last);
    } else {
        bool only = moving && gain > SAME_DB && f->model[1] < f->copy[1] - SAME_DB;
        used = snprintf(out, size, "%s copying the last frame%s: PSNR ", compared(gain, SAME_DB),
                        only ? " on moving pixels only" : "");
        if (moving)
            used += snprintf(out + used, size - (size_t)used, "%.1f dB against %.1f on moving pixels, ", f->model[0],
                             f->copy[0]);
        snprintf(out + used, size - (size_t)used, "%.1f%s against %.1f on all pixels (steps 1 to %d)", f->model[1],
                 moving ? "" : " dB", f->copy[1], f->last);
    }
}

static void say_motion(const Facts *f, char *out, size_t size) {
    if (f->steps == 0) snprintf(out, size, "not measured: no step was predicted");
    else if (!isfinite(f->way) && f->driven) snprintf(out, size, "not measured: the motion of the objects was given");
    else if (!isfinite(f->way)) snprintf(out, size, "not measured%s%s", *f->still ? ": " : "", f->still);
    else if (f->way < MOVES_METRES)
        snprintf(out, size, "the objects move less than 1 mm; the predicted ones move by %.3g cm", 100 * f->error);
    else
        snprintf(out, size, "%s predicting no motion: error %.1f cm, true motion %.1f cm (%.0f %%, steps 1 to %d)",
                 compared(1 - f->error / f->way, SAME_SHARE), 100 * f->error, 100 * f->way, 100 * f->error / f->way,
                 f->last);
}

static void say_weakest(const Facts *f, char *out, size_t size) {
    double share = f->way > MOVES_METRES ? f->error / f->way : NAN;
    if (!isfinite(f->drawn) && !isfinite(f->model[1]) && !isfinite(f->way)) snprintf(out, size, "not measured");
    else if (f->drawn < DRAWN_DB)
        snprintf(out, size,
                 "rendering: even the last input frame has a PSNR of only %.1f dB; train longer (train.steps) or with "
                 "more particles (encoder.N)",
                 f->drawn);
    else if (share > MOSTLY_WRONG)
        snprintf(
            out, size, "motion: the error is %.0f %% of the true motion%s", 100 * share,
            f->analytic
                ? ""
                : "; train longer (train.steps), on rollouts of several steps (train.rollout), or on more episodes");
    else if (f->input - f->heldout > FAR_BELOW_DB)
        snprintf(
            out, size,
            "held-out views: PSNR %.1f dB, %.1f on input views; record with more cameras, or train with more particles "
            "(encoder.N)",
            f->heldout, f->input);
    else if (f->last_share > GROWS * f->first_share)
        snprintf(out, size, "later steps: the error is %.0f %% of the true motion at step %d, %.0f %% at step 1%s",
                 100 * f->last_share, f->last, 100 * f->first_share,
                 f->analytic ? "" : "; train on longer rollouts (train.rollout)");
    else if (f->model[1] < f->copy[1])
        snprintf(
            out, size,
            "static background: on all pixels copying the last frame is %.1f dB better; train longer (train.steps) "
            "or with more particles (encoder.N)",
            f->copy[1] - f->model[1]);
    else snprintf(out, size, "none of the known weaknesses was found (docs/evaluation.md)");
}

void report_verdict(const Report *report, ReportVerdict *out) {
    const Facts facts = find_facts(report);
    say_pictures(&facts, out->pictures, sizeof out->pictures);
    say_motion(&facts, out->motion, sizeof out->motion);
    say_weakest(&facts, out->weakest, sizeof out->weakest);
}
