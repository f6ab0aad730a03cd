// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a request of the viewer's page says: refused, or numbers within their limits.
#include "tests/fuzz/fuzz.h"

#include "view/request.h"

#include <math.h>
#include <string.h>

static void hold(bool good) {
    if (!good) abort();
}

// "name=value&name=value" of the text, as the server's library would give it.
typedef struct Query {
    char text[4096], value[4096];
} Query;

static const char *argument(void *owner, const char *name) {
    Query *query = owner;
    size_t length = strlen(name);
    for (const char *at = query->text; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        snprintf(query->value, sizeof query->value, "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
        return query->value;
    }
    return NULL;
}

static void try_query(const uint8_t *data, size_t size) {
    Query query = {0};
    LivePicture picture;
    long number;
    double numbers[16];
    memcpy(query.text, data, size < sizeof query.text ? size : sizeof query.text - 1);
    if (request_picture(argument, &query, &picture)) {
        hold(picture.scene >= -1 && picture.scene <= LIVE_SCENES_MAX && picture.view.W <= LIVE_PICTURE_SIDE);
        hold(picture.view.H >= 0 && picture.view.H <= LIVE_PICTURE_SIDE && picture.view.W >= 0);
        for (int i = 0; i < 16; i++) hold(isfinite(picture.view.world_from_camera[i]));
    }
    if (request_number(query.text, &number)) hold(number >= 0 && number < 1000000000000);
    if (request_numbers(query.text, numbers, 16)) hold(isfinite(numbers[0]) && isfinite(numbers[15]));
    if (request_file_name(query.text)) hold(!strchr(query.text, '/') && query.text[0] != '.' && query.text[0]);
    if (request_is_loopback(query.text)) hold(strchr("1lL[", query.text[0]) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    JobRequest job;
    SelectRequest select;
    EpisodeRequest episode;
    if (request_job(text, size, &job, NULL) == STATUS_OK) {
        hold(job.job.edits && job.job.scene >= 0 && job.job.scene <= LIVE_SCENES_MAX && job.id >= 0);
        hold(job.job.steps <= LIVE_STEPS_MAX && job.more <= LIVE_STEPS_MAX);
    }
    json_decref(job.object);
    if (request_select(text, size, &select, NULL) == STATUS_OK)
        hold(select.select.where[0] && select.select.scene >= -1 && select.select.scene <= LIVE_SCENES_MAX);
    json_decref(select.object);
    if (request_episode(text, size, &episode, NULL) == STATUS_OK)
        hold(episode.episode && episode.start >= -1 && episode.steps >= 0 && episode.steps <= LIVE_STEPS_MAX);
    json_decref(episode.object);
    try_query(data, size);
    return 0;
}
