// SPDX-License-Identifier: Apache-2.0
// Tracks of bodies through motion fields: where they are known to go, and where a track ends.
#include "tests/track_scene.h"

static const TrackOptions options = {.longest = 6, .colour_length = 1, .reach = 0.08, .stiff = 0.01};

static Tracks track(const TrackScene *scene) {
    Tracks out = {0};
    Error err = {0};
    assert_status_ok(tracks_add_video(&out, &options, TRACK_FRAMES, scene->field, &err), err);
    return out;
}

// Body `body` of the scene in window w, which is frame w + 1.
static size_t body_of(const Tracks *t, size_t w, int body) {
    return t->set.first_body[w] + (size_t)track_number((int)w + 1, body);
}

// Distance of tracked nodes from their true places after k + 1 frames, at most. Nodes are points of frame 0.
static double worst_error(const Tracks *t, size_t w, int body, int true_body, int k) {
    size_t b = body_of(t, w, body), first = t->set.first_node[b];
    double worst = 0, x[3], here[3], there[3];
    for (size_t n = first; n < t->set.first_node[b + 1]; n++) {
        const real *y = tracks_places(t, b, (size_t)k) + 3 * (n - first);
        bool found = false;
        for (int i = 0; i < TRACK_POINTS && !found; i++) {
            track_point(body, i, x);
            track_place(body, (int)w + 1, x, here);
            found = fabs(here[0] - (double)t->set.now[3 * n]) + fabs(here[1] - (double)t->set.now[3 * n + 1]) < 1e-6;
        }
        assert_true(found);
        track_place(true_body, (int)w + 2 + k, x, there);
        for (int c = 0; c < 3; c++) worst = fmax(worst, fabs((double)y[c] - there[c]));
    }
    return worst;
}

// Their numbers change places in every frame.
static void nodes_go_where_their_body_goes(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    Tracks t = track(&scene);
    assert_int_equal(t.set.windows, TRACK_FRAMES - 1);
    assert_int_equal(t.set.bodies, 2 * (TRACK_FRAMES - 1));
    for (size_t w = 0; w < t.set.windows; w++) {
        int left = TRACK_FRAMES - 2 - (int)w, known = left < options.longest ? left : options.longest;
        assert_int_equal(tracks_steps(&t, w), known);
        assert_int_equal(t.set.first_patch[w + 1] - t.set.first_patch[w], 256); // of TRACK_STILL points
        for (int body = 0; body < 2; body++) {
            size_t b = body_of(&t, w, body);
            assert_int_equal(t.set.first_node[b + 1] - t.set.first_node[b], BODY_NODES);
            assert_int_equal(t.steps[b], known);
            for (int k = 0; k < known; k++) {
                assert_true(worst_error(&t, w, body, body, k) < 1e-5);     // roundings of numbers up to 1, in some fits
                assert_true(worst_error(&t, w, body, 1 - body, k) > 0.01); // the planted error
            }
        }
    }
    tracks_free(&t);
    track_scene_free(&scene);
}

// Only the top of body 0 is seen; its other points are mirror images, and something like them stands where each was.
static void hide_below(TrackScene *scene) {
    for (int f = 1; f < TRACK_FRAMES; f++) {
        MotionField *field = &scene->field[f];
        for (int i = 0; i < TRACK_POINTS; i++) {
            size_t still = 3 * (size_t)(2 * TRACK_POINTS + i);
            if (scene->field[1].position[3 * i + 2] > (real)0.53) continue;
            field->mirrored[i] = 1;
            memcpy(field->colour + still, field->colour + 3 * i, 3 * sizeof(real));
            for (size_t c = 0; c < 3; c++)
                field->position[still + c] = field->position[3 * (size_t)i + c] - field->motion[3 * (size_t)i + c];
        }
    }
}

static void mirror_images_go_where_the_seen_goes(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    hide_below(&scene);
    Tracks t = track(&scene);
    size_t b = body_of(&t, 0, 0), below = 0;
    assert_int_equal(t.set.first_node[b + 1] - t.set.first_node[b], BODY_NODES);
    for (size_t n = t.set.first_node[b]; n < t.set.first_node[b + 1]; n++) below += t.set.now[3 * n + 2] < (real)0.53;
    assert_true(2 * below > BODY_NODES); // most nodes are images
    assert_int_equal(t.steps[b], 6);
    for (int k = 0; k < 6; k++) assert_true(worst_error(&t, 0, 0, 0, k) < 1e-5);
    tracks_free(&t);
    track_scene_free(&scene);
}

// Removes the points of a body (-1: what stands still) from a frame.
static void hide(TrackScene *scene, int frame, int body) {
    MotionField *field = &scene->field[frame];
    for (size_t i = 0; i < field->count; i++)
        if (field->body[i] == (real)(body < 0 ? body : track_number(frame, body)))
            for (int c = 0; c < 3; c++) field->position[3 * i + c] += 10;
}

// Makes a body stand where it is in a frame, from then on.
static void stop(TrackScene *scene, int from, int body) {
    for (int f = from + 1; f < TRACK_FRAMES; f++) {
        MotionField *field = &scene->field[f];
        for (int i = body * TRACK_POINTS; i < (body + 1) * TRACK_POINTS; i++) {
            field->body[i] = -1;
            memcpy(field->position + 3 * i, scene->field[from].position + 3 * i, 3 * sizeof(real));
            memset(field->motion + 3 * i, 0, 3 * sizeof(real));
        }
    }
}

static void a_hidden_body_is_lost(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    hide(&scene, 4, 1);
    Tracks t = track(&scene);
    assert_int_equal(t.steps[body_of(&t, 0, 1)], 2); // frames 2 and 3
    assert_int_equal(t.steps[body_of(&t, 2, 1)], 0); // at once
    assert_int_equal(t.steps[body_of(&t, 0, 0)], 6);
    assert_int_equal(tracks_steps(&t, 0), 6);
    tracks_free(&t);
    track_scene_free(&scene);
}

static void a_body_comes_to_rest(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    stop(&scene, 3, 0);
    for (int f = 4; f < TRACK_FRAMES; f++) // the other one has the only number then
        for (int i = TRACK_POINTS; i < 2 * TRACK_POINTS; i++) scene.field[f].body[i] = 0;
    Tracks t = track(&scene);
    size_t b = body_of(&t, 0, 0), first = t.set.first_node[b];
    assert_int_equal(t.steps[b], 6);
    assert_true(worst_error(&t, 0, 0, 0, 1) < 1e-5);
    for (size_t k = 2; k < 6; k++)
        for (size_t n = 0; n < 3 * (t.set.first_node[b + 1] - first); n++)
            assert_close(tracks_places(&t, b, k)[n], tracks_places(&t, b, 1)[n], 1e-6, 0);
    assert_int_equal(t.set.windows, TRACK_FRAMES);
    assert_int_equal(t.set.first_body[5] - t.set.first_body[4], 1); // in frame 4 it is no body
    assert_int_equal(t.set.first_body[4] - t.set.first_body[3], 1); // it rests in a window of its own
    assert_int_equal(t.set.first_patch[4] - t.set.first_patch[3], 256);
    b = t.set.first_body[3], first = t.set.first_node[b];
    assert_int_equal(t.steps[b], options.longest);
    size_t bytes = 3 * BODY_NODES * sizeof(real);
    assert_memory_equal(t.set.now + 3 * first, t.set.now + 3 * t.set.first_node[body_of(&t, 2, 0)], bytes);
    assert_memory_equal(t.set.before + 3 * first, t.set.now + 3 * first, bytes);
    for (size_t k = 0; k < 6; k++) assert_memory_equal(tracks_places(&t, b, k), t.set.now + 3 * first, bytes);
    tracks_free(&t);
    track_scene_free(&scene);
}

// From frame 2 on the upper half of body 0 goes along x while the lower one stands. `whole`: frames of odd number see
// both as one body. The other body stands.
static void bend(TrackScene *scene, bool whole) {
    for (int f = 2; f < TRACK_FRAMES; f++) {
        MotionField *field = &scene->field[f];
        for (int i = 0; i < 2 * TRACK_POINTS; i++) {
            bool first = i < TRACK_POINTS, upper = first && scene->field[1].position[3 * i + 2] > (real)0.46,
                 moves = upper || (whole && first && f % 2);
            field->body[i] = moves ? 0 : -1;
            for (int c = 0; c < 3; c++) {
                field->motion[3 * i + c] = c == 0 && moves ? (real)0.03 : 0;
                field->position[3 * i + c] = scene->field[f - 1].position[3 * i + c] + field->motion[3 * i + c];
            }
        }
    }
}

static void nodes_of_what_bends_go_apart(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    bend(&scene, true);
    Tracks t = track(&scene);
    size_t b = body_of(&t, 0, 0), first = t.set.first_node[b], count = t.set.first_node[b + 1] - first, moved = 0;
    assert_int_equal(t.steps[b], 6);
    for (size_t n = 0; n < count; n++) {
        double way = (double)tracks_places(&t, b, 0)[3 * n] - (double)t.set.now[3 * (first + n)];
        assert_true(fabs(way) < 1e-5 || fabs(way - 0.03) < 1e-5);
        moved += way > 0.02;
    }
    assert_true(moved > 2 && moved < count - 2);
    tracks_free(&t);
    track_scene_free(&scene);
}

// Only the first frame sees both halves as one body.
static void a_body_divided_once_stays_rigid(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    bend(&scene, false);
    Tracks t = track(&scene);
    size_t b = body_of(&t, 0, 0), first = t.set.first_node[b], count = t.set.first_node[b + 1] - first;
    for (int k = 0; k < t.steps[b]; k++) {
        RigidMotion all = rigid_motion_fit(count, t.set.now + 3 * first, tracks_places(&t, b, (size_t)k));
        for (size_t n = 0; n < count; n++) {
            real y[3];
            rigid_motion_apply(&all, t.set.now + 3 * (first + n), y);
            for (int c = 0; c < 3; c++) assert_close(y[c], tracks_places(&t, b, (size_t)k)[3 * n + (size_t)c], 1e-5, 0);
        }
    }
    tracks_free(&t);
    track_scene_free(&scene);
}

static void frames_without_motion_are_no_windows(void **state) {
    (void)state;
    TrackScene scene;
    track_scene_make(&scene);
    for (int f = 1; f < TRACK_FRAMES; f++)
        for (size_t i = 0; i < scene.field[f].count; i++)
            if (f != 5 || i != 0) scene.field[f].body[i] = -1;
    Tracks t = track(&scene), empty = {0};
    assert_int_equal(t.set.windows, 2); // one point is a body of one node, which rests in a window of its own
    assert_int_equal(t.set.nodes, 2);
    Error err = {0};
    static const MotionField none[3];
    assert_status_ok(tracks_add_video(&empty, &options, 3, none, &err), err);
    assert_status_ok(tracks_add_video(&empty, &options, 0, none, &err), err);
    assert_int_equal(empty.set.windows, 0);
    tracks_free(&t);
    tracks_free(&empty);
    track_scene_free(&scene);
}

static void videos_follow_each_other(void **state) {
    (void)state;
    TrackScene scene;
    Error err = {0};
    track_scene_make(&scene);
    Tracks one = track(&scene), both = {0};
    for (int i = 0; i < 2; i++) assert_status_ok(tracks_append(&both, &one, &err), err);
    assert_int_equal(both.set.windows, 2 * one.set.windows);
    assert_int_equal(both.set.patches, 2 * one.set.patches);
    size_t bodies = one.set.bodies;
    assert_memory_equal(both.set.now + 3 * one.set.nodes, one.set.now, 3 * one.set.nodes * sizeof(real));
    assert_memory_equal(both.steps + bodies, one.steps, bodies * sizeof(int));
    for (size_t b = 0; b < bodies; b++)
        assert_memory_equal(tracks_places(&both, bodies + b, 0), tracks_places(&one, b, 0),
                            3 * BODY_NODES * (size_t)one.steps[b] * sizeof *one.place);
    tracks_free(&one);
    tracks_free(&both);
    track_scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_go_where_their_body_goes),
                                       cmocka_unit_test(mirror_images_go_where_the_seen_goes),
                                       cmocka_unit_test(a_hidden_body_is_lost),
                                       cmocka_unit_test(a_body_comes_to_rest),
                                       cmocka_unit_test(nodes_of_what_bends_go_apart),
                                       cmocka_unit_test(a_body_divided_once_stays_rigid),
                                       cmocka_unit_test(frames_without_motion_are_no_windows),
                                       cmocka_unit_test(videos_follow_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
