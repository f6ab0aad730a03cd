// SPDX-License-Identifier: Apache-2.0
#include "train/turn.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

void turn_at_random(const TrainConfig *train, long step, int episode, uint64_t in_batch, double turn[9]) {
    Random4 random =
        random4((RandomKey){(uint32_t)train->seed, RANDOM_TURN, (uint32_t)step, (uint32_t)episode}, in_batch);
    double angle = 6.283185307179586 * (double)random_to_unit(random.v[0]), sign = random.v[1] & 1 ? -1 : 1;
    int axis = train->turn - TURN_X, a = (axis + 1) % 3, b = (axis + 2) % 3;
    memset(turn, 0, 9 * sizeof *turn);
    turn[4 * axis] = 1;
    turn[3 * a + a] = cos(angle), turn[3 * a + b] = -sign * sin(angle);
    turn[3 * b + a] = sin(angle), turn[3 * b + b] = sign * cos(angle);
}
