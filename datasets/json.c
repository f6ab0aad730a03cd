// SPDX-License-Identifier: Apache-2.0
#include "datasets/json.h"

static json_t *pair_json(const PairStats *pair) {
    return json_pack("{s:i s:i s:I s:I s:I s:o s:o s:o s:o}", "a", pair->a, "b", pair->b, "points",
                     (json_int_t)pair->tested, "occluded", (json_int_t)pair->occluded, "through",
                     (json_int_t)pair->through, "median_mm", json_finite(1e3 * pair->median), "p90_mm",
                     json_finite(1e3 * pair->p90), "p99_mm", json_finite(1e3 * pair->p99), "agree",
                     json_finite(pair->agree));
}

static json_t *guesses_json(const CheckReport *report) {
    json_t *guesses = json_object();
    for (int g = 0; g < GUESS_COUNT; g++) {
        json_t *guess = pair_json(&report->guesses[g]);
        if (g >= GUESS_NEXT_CAMERA && report->guesses[g].tested)
            json_object_set_new(guess, "number", json_finite(report->numbers[g]));
        json_object_set_new(guesses, guess_name((Guess)g), guess);
    }
    return guesses;
}

static json_t *colour_json(const ColourCheck *colour) {
    json_t *guesses = json_object();
    for (int g = 0; g < COLOUR_COUNT; g++)
        json_object_set_new(guesses, colour_guess_name((ColourGuess)g), json_finite(colour->correlations[g]));
    return json_pack("{s:I s:o s:b s:s s:o}", "points", (json_int_t)colour->points, "correlation",
                     json_finite(colour->correlations[COLOUR_NONE]), "enough_texture", colour->told, "guess",
                     colour_guess_name(colour->guess), "correlations", guesses);
}

static json_t *clocks_json(const CheckReport *report) {
    json_t *clocks = json_array();
    for (int i = 0; i < report->clock_count; i++) {
        const ClockCheck *clock = &report->clocks[i];
        json_array_append_new(clocks, json_pack("{s:i s:i s:f s:f s:f}", "view", clock->view, "frames_behind",
                                                clock->frames, "seconds_behind", clock->seconds, "error", clock->before,
                                                "error_then", clock->after));
    }
    return clocks;
}

// Median error over depth by part of the picture; the bands of rows are a list from the top.
static json_t *where_json(const CheckReport *report) {
    json_t *where = json_object(), *bands = json_array();
    for (int i = 0; i < WHERE_BAND; i++) json_object_set_new(where, where_name(i), json_finite(report->where[i]));
    for (int i = WHERE_BAND; i < WHERE_COUNT; i++) json_array_append_new(bands, json_finite(report->where[i]));
    json_object_set_new(where, "row bands", bands);
    return where;
}

static json_t *episodes_json(const Dataset *dataset, const CheckReport *report) {
    json_t *episodes = json_array();
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        json_array_append_new(
            episodes, json_pack("{s:s s:s s:o s:o s:o s:o s:o s:o}", "file", dataset_episode(dataset, i)->file, "name",
                                dataset_episode(dataset, i)->name, "median_mm", json_finite(1e3 * check->median),
                                "depth_p1_m", json_finite(check->depth_low), "depth_median_m",
                                json_finite(check->depth_median), "depth_p99_m", json_finite(check->depth_high),
                                "valid", json_finite(check->valid), "noise", json_finite(check->noise)));
    }
    return episodes;
}

json_t *check_report_json(const Dataset *dataset, const CheckReport *report) {
    bool fails = check_report_fails(report), unknown = !fails && report->not_compared;
    json_t *pass = unknown ? json_null() : json_boolean(!fails);
    json_t *pairs = json_array(), *findings = json_array();
    for (int i = 0; i < report->pair_count; i++) json_array_append_new(pairs, pair_json(&report->pairs[i]));
    for (int i = 0; i < report->finding_count; i++)
        json_array_append_new(
            findings, json_pack("{s:b s:s}", "wrong", report->findings[i].wrong, "text", report->findings[i].text));
    return json_pack("{s:s s:s s:o s:s* s:o s:o s:s s:o s:o s:o s:o s:o s:o s:o s:i}", "path",
                     dataset_info(dataset)->path, "verdict", check_report_word(report), "pass", pass, "not_compared",
                     report->not_compared, "floor_mm", json_finite(1e3 * report->pass), "all", pair_json(&report->all),
                     "guess", guess_name(report->guess), "guesses", guesses_json(report), "colour",
                     colour_json(&report->colour), "clocks", clocks_json(report), "where", where_json(report), "pairs",
                     pairs, "episodes", episodes_json(dataset, report), "findings", findings, "findings_not_listed",
                     check_report_unlisted(report));
}

Status dataset_written_json(const char *path, json_t **out, Error *err) {
    Dataset *dataset = NULL;
    json_int_t frames = 0, images = 0;
    *out = NULL;
    Status status = dataset_open(path, &dataset, err);
    if (status != STATUS_OK) return status;
    const DatasetInfo *info = dataset_info(dataset);
    for (int i = 0; i < info->episode_count; i++) {
        const EpisodeInfo *episode = dataset_episode(dataset, i);
        frames += episode->F;
        images += (json_int_t)episode->F * episode->V;
    }
    *out = json_pack("{s:[s] s:i s:I s:I s:{s:i s:i s:i}}", "written", path, "episodes", info->episode_count, "frames",
                     frames, "images", images, "splits", "train", info->split_count[SPLIT_TRAIN], "val",
                     info->split_count[SPLIT_VAL], "test", info->split_count[SPLIT_TEST]);
    dataset_close(dataset);
    return STATUS_OK;
}

Status import_left_out_json(const ImportLeftOut *left_out, json_t *object, Error *err) {
    bool good = json_object_set_new(object, "moments_left_out", json_integer((json_int_t)left_out->moments)) == 0 &&
                json_object_set_new(object, "pictures_left_out", json_integer((json_int_t)left_out->pictures)) == 0;
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "no memory for the report of an import");
}

Status import_skipped_json(const ImportReport *report, json_t *object, Error *err) {
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < report->bad; i++)
        good = json_array_append_new(list, json_string(report->why[i])) == 0;
    if (good && json_object_set(object, "skipped", list) != 0) good = false;
    json_decref(list);
    return good ? STATUS_OK
                : error_set(err, STATUS_FAILED, "the list of pictures: a name is no UTF-8, or memory ran out");
}
