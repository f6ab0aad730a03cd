// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <math.h>

bool schedule_has_images(const TrainConfig *train, long step) { return step >= train->motion_steps; }

long schedule_phase_step(const TrainConfig *train, long step) {
    return step < train->motion_steps ? step : step - train->motion_steps;
}

static long phase_length(const TrainConfig *train, long step) {
    long motion = train->motion_steps < train->steps ? train->motion_steps : train->steps;
    return step < motion ? motion : train->steps - motion;
}

double schedule_rate(const TrainConfig *train, long of_run) {
    long step = schedule_phase_step(train, of_run);
    if (step < train->warmup) return train->rate * (double)(step + 1) / (double)train->warmup;
    long last = phase_length(train, of_run) - 1;
    double share = last > train->warmup ? (double)(step - train->warmup) / (double)(last - train->warmup) : 0;
    if (share > 1) share = 1;
    return train->rate_end + (train->rate - train->rate_end) * 0.5 * (1 + cos(3.14159265358979323846 * share));
}

long schedule_rollout(const TrainConfig *train, long step) {
    long length = train->rollout.count ? train->rollout.v[0] : 0;
    double at = (double)schedule_phase_step(train, step), steps = (double)phase_length(train, step);
    for (int i = 1; i < train->rollout.count && i < train->rollout_from.count; i++) {
        if (at >= train->rollout_from.v[i] * steps) length = train->rollout.v[i];
    }
    return length;
}

long schedule_longest_rollout(const TrainConfig *train) {
    long longest = 0;
    for (int i = 0; i < train->rollout.count; i++) {
        if (train->rollout.v[i] > longest) longest = train->rollout.v[i];
    }
    return longest;
}

OptimizerConfig schedule_optimizer(const TrainConfig *train) {
    return (OptimizerConfig){.beta1 = 0.9,
                             .beta2 = 0.99,
                             .epsilon = 1e-8,
                             .weight_decay = train->weight_decay,
                             .clip = train->clip,
                             .ema = train->ema};
}
