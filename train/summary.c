// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "train/trainer.h"

// {"gnn.length_scale": {"value": "0.1", "from": "data"}, ..}
static json_t *options_json(const Config *config) {
    json_t *object = json_object();
    ConfigChange change;
    for (size_t i = 0; config_each_change(config, &i, &change);)
        json_object_set_new(object, change.key, json_pack("{s:s s:s}", "value", change.value, "from", change.origin));
    return object;
}

json_t *train_summary_json(const Config *config, bool dry_run, const TrainSummary *s) {
    if (dry_run)
        return json_pack("{s:b s:[] s:o s:I s:I s:o s:o s:o s:o}", "dry_run", true, "written", "options",
                         options_json(&s->config), "weights", (json_int_t)s->weights, "particles",
                         (json_int_t)s->particles, "memory_mib", json_finite(s->memory_mib), "tape_mib",
                         json_finite(s->tape_mib), "seconds_per_step", json_finite(s->seconds_per_step), "eta_seconds",
                         json_finite(s->seconds_per_step * (double)config->train.steps));
    return json_pack("{s:[s] s:I s:o s:o s:I s:o s:b}", "written", config->train.out, "step", (json_int_t)s->step,
                     "loss", json_finite(s->loss), "best_score", json_finite(s->best_score), "weights",
                     (json_int_t)s->weights, "run_seconds", json_finite(s->seconds), "stopped", s->stopped);
}
