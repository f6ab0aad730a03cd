// SPDX-License-Identifier: Apache-2.0
// True poses as labels: which object a body is, where its tracks go, and states that are not those of the video.
#include "base/camera.h"
#include "tests/track_scene.h"

static double positions[TRACK_FRAMES * 6], quaternions[TRACK_FRAMES * 8];

// The poses of the scene's two bodies, which turn about x.
static EpisodeInfo true_states(void) {
    for (int f = 0; f < TRACK_FRAMES; f++)
        for (int body = 0; body < 2; body++) {
            double side = body ? -1 : 1, half = side * 0.025 * f;
            const double centre[3] = {-0.4 * side, 0.1 * side, 0.5};
            double *q = quaternions + 8 * f + 4 * body;
            track_place(body, f, centre, positions + 6 * f + 3 * body);
            q[0] = cos(half), q[1] = sin(half), q[2] = q[3] = 0;
        }
    return (EpisodeInfo){.file = "a.h5",
                         .name = "7",
                         .F = TRACK_FRAMES,
                         .O = 2,
                         .object_position = positions,
                         .object_quaternion = quaternions};
}

static Tracks track(const TrackScene *scene, Poses *poses) {
    TrackOptions options = {.longest = 6, .colour_length = 1, .reach = 0.08, .stiff = 0.01, .poses = poses};
    Tracks out = {0};
    Error err = {0};
    assert_status_ok(tracks_add_video(&out, &options, TRACK_FRAMES, scene->field, &err), err);
    return out;
}

// Also where the video does not show them.
static void tracks_follow_the_poses(void **state) {
    (void)state;
    TrackScene scene;
    Error err = {0};
    EpisodeInfo episode = true_states();
    track_scene_make(&scene);
    for (int c = 0; c < TRACK_ALL; c++) scene.field[5].body[c] = -1;
    Poses poses = {.episode = &episode, .stride = 1, .tolerance = 0.005};
    Tracks t = track(&scene, &poses);
    assert_int_equal(poses.known, 2 * (TRACK_FRAMES - 2));
    assert_int_equal(poses.strange, 0);
    assert_status_ok(poses_check(&poses, &err), err);
    size_t b = (size_t)track_number(1, 1), first = t.set.first_node[b], last = t.set.first_node[b + 1];
    assert_int_equal(t.steps[b], 6);
    for (size_t n = first; n < last; n++) {
        double x[3], here[3], there[3];
        for (int i = 0; i < TRACK_POINTS; i++) {
            track_point(1, i, x);
            track_place(1, 1, x, here);
            if (fabs(here[0] - (double)t.set.now[3 * n]) + fabs(here[1] - (double)t.set.now[3 * n + 1]) > 1e-6)
                continue;
            track_place(1, 7, x, there);
            for (int c = 0; c < 3; c++)
                assert_close(tracks_places(&t, b, 5)[3 * (n - first) + (size_t)c], there[c], 1e-5, 0);
        }
    }
    tracks_free(&t);
    track_scene_free(&scene);
}

// A ball: the states turn it, and the video does not show that.
static void turning_that_is_not_seen_is_left_out(void **state) {
    (void)state;
    TrackScene scene;
    EpisodeInfo episode = true_states();
    track_scene_make(&scene);
    double turning[TRACK_FRAMES * 8];
    memcpy(turning, quaternions, sizeof turning);
    for (int f = 0; f < TRACK_FRAMES; f++) turning[8 * f] = cos(f), turning[8 * f + 3] = sin(f), turning[8 * f + 1] = 0;
    episode.object_quaternion = turning;
    Poses poses = {.episode = &episode, .stride = 1, .tolerance = 0.005};
    Tracks t = track(&scene, &poses);
    assert_int_equal(poses.known, 2 * (TRACK_FRAMES - 1));
    assert_null(poses.error);
    assert_int_equal(poses.objects, 2);
    assert_int_equal(poses.plain, 1);
    size_t b = (size_t)track_number(1, 0), first = t.set.first_node[b], nodes = t.set.first_node[b + 1] - first;
    assert_int_equal(t.steps[b], 6);
    for (size_t i = 0; i < 3 * nodes; i++)
        assert_close(tracks_places(&t, b, 5)[i] - t.set.now[3 * first + i],
                     positions[6 * 7 + i % 3] - positions[6 * 1 + i % 3], 1e-5, 0);
    tracks_free(&t);
    track_scene_free(&scene);
}

// In the other order of time, bodies move the other way.
static void other_states_are_refused(void **state) {
    (void)state;
    TrackScene scene;
    Error err = {0};
    EpisodeInfo episode = true_states();
    track_scene_make(&scene);
    double turned[TRACK_FRAMES * 6];
    for (int i = 0; i < TRACK_FRAMES * 6; i++) turned[i] = positions[6 * (TRACK_FRAMES - 1 - i / 6) + i % 6];
    episode.object_position = turned;
    Poses poses = {.episode = &episode, .stride = 1, .tolerance = 0.005};
    Tracks t = track(&scene, &poses);
    assert_int_equal(poses.known, 0);
    assert_int_equal(t.steps[0], 0);
    assert_status_error(poses_check(&poses, &err), STATUS_BAD_INPUT, err, "a.h5:/episodes/7: frame 1, body 0 at (");
    assert_non_null(strstr(err.text, "16 of 16 bodies"));
    tracks_free(&t);
    track_scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tracks_follow_the_poses),
                                       cmocka_unit_test(turning_that_is_not_seen_is_left_out),
                                       cmocka_unit_test(other_states_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
