// SPDX-License-Identifier: Apache-2.0
// Whole frames: tiles, memory, labels, and a picture of a known room. VPD_PICTURE=file.png keeps it.
#include "base/draw.h"
#include "base/sort.h"
#include "tests/renderer_scene.h"

typedef struct Frame {
    int H, W;
    uint8_t *rgb;
    float *colour, *depth, *opacity, *label;
} Frame;

static Frame frame_create(int H, int W, int labels) {
    size_t n = (size_t)H * (size_t)W;
    return (Frame){H, W, calloc(n, 3), calloc(n, 12), calloc(n, 4), calloc(n, 4), calloc(n * (size_t)labels + 1, 4)};
}

static void frame_free(Frame *f) {
    free(f->rgb);
    free(f->colour);
    free(f->depth);
    free(f->opacity);
    free(f->label);
}

static RendererFrame parts(const Frame *f, const int32_t *labels, int count) {
    return (RendererFrame){f->rgb, f->colour, f->depth, f->opacity, count ? f->label : NULL, labels, count};
}

static void draw(Scene *s, const RendererParticles *p, const RendererCamera *camera, const RendererFrame *frame) {
    Error err = {0};
    assert_status_ok(renderer_draw_image(&s->tape, &s->renderer, p, s->background, camera, frame, &err), err);
}

// A frame is what its rays give one by one, whatever the tiles.
static void frame_equals_its_rays(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 900, 1);
    RendererCamera camera = scene_camera(1, 71, 97); // more than one tile, the last one not full
    size_t pixels = 71 * 97;
    Frame f = frame_create(71, 97, 0);
    s.tape.recording = false;
    RendererParticles particles = scene_upload(&s);
    size_t used = s.tape.memory.used, host = s.tape.host.used;
    RendererFrame all = parts(&f, NULL, 0);
    draw(&s, &particles, &camera, &all);
    assert_int_equal(s.tape.memory.used, used);
    assert_int_equal(s.tape.host.used, host);
    real *origin = calloc(3 * pixels, sizeof(real)), *direction = calloc(3 * pixels, sizeof(real));
    renderer_camera_rays(&camera, 0, pixels, origin, direction);
    RendererRays *rays = renderer_rays(&s.tape, pixels, origin, direction, NULL, s.background);
    RendererIndex *index = renderer_index_build(&s.tape, &s.renderer, &particles);
    RendererSamples *samples = renderer_place_samples(&s.tape, &s.renderer, index, rays);
    RendererOutput out = renderer_forward(&s.tape, &s.renderer, &particles, rays, samples);
    assert_memory_equal(out.colour->value, f.colour, 12 * pixels);
    assert_memory_equal(out.depth->value, f.depth, 4 * pixels);
    assert_memory_equal(out.opacity->value, f.opacity, 4 * pixels);
    size_t seen = 0;
    for (size_t i = 0; i < 3 * pixels; i++) assert_true(fabs((double)f.rgb[i] - 255 * (double)f.colour[i]) <= 0.501);
    for (size_t i = 0; i < pixels; i++) seen += f.opacity[i] > 0.5f;
    assert_true(seen > pixels / 10);
    free(origin);
    free(direction);
    frame_free(&f);
    scene_close(&s);
}

// Memory grows with the particles and one tile, not with the frame.
static void memory_is_bounded(void **state) {
    (void)state;
    size_t peak[2];
    int sides[] = {64, 250};
    for (int i = 0; i < 2; i++) {
        Scene s;
        scene_open(&s, 900, 1);
        s.tape.recording = false;
        RendererParticles particles = scene_upload(&s);
        RendererCamera camera = scene_camera(2, sides[i], sides[i]);
        Frame f = frame_create(sides[i], sides[i], 0);
        RendererFrame all = parts(&f, NULL, 0);
        draw(&s, &particles, &camera, &all);
        peak[i] = tape_peak_bytes(&s.tape);
        size_t before = tape_allocations(&s.tape) + s.device->scratch.allocations;
        draw(&s, &particles, &camera, &all);
        assert_int_equal(tape_allocations(&s.tape) + s.device->scratch.allocations, before);
        frame_free(&f);
        scene_close(&s);
    }
    if (!(peak[1] < 1.25 * (double)peak[0] && peak[1] < 8 << 20)) fail_msg("%zu and %zu bytes", peak[0], peak[1]);
}

static void awkward_frames(void **state) {
    (void)state;
    Scene s;
    scene_open(&s, 0, 1);
    s.tape.recording = false;
    RendererParticles particles = scene_upload(&s);
    RendererCamera camera = scene_camera(0, 1, 1);
    Frame f = frame_create(1, 1, 0);
    RendererFrame nothing = {0}, all = parts(&f, NULL, 0);
    draw(&s, &particles, &camera, &nothing);
    draw(&s, &particles, &camera, &all);
    assert_true(f.opacity[0] == 0 && f.depth[0] == 0 && f.rgb[0] == 51 && f.rgb[1] == 128 && f.rgb[2] == 204);
    frame_free(&f);
    scene_close(&s);
}

// The colour of a point of the room, and which thing it belongs to.
static int room_colour(const double p[3], double rgb[3]) {
    static const double balls[3][7] = {
        {0.3, 0.2, 0.25, 0.9, 0.2, 0.15}, {-0.4, -0.1, 0.2, 0.2, 0.7, 0.25}, {0, -0.6, 0.3, 0.95, 0.8, 0.2}};
    static const double reach[3] = {0.25, 0.2, 0.15};
    for (int b = 0; b < 3; b++) {
        double d[3] = {p[0] - balls[b][0], p[1] - balls[b][1], p[2] - balls[b][2]};
        if (fabs(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - reach[b]) > 1e-3) continue;
        double light = 0.55 + 0.45 * d[2] / reach[b];
        for (int c = 0; c < 3; c++) rgb[c] = balls[b][3 + c] * light;
        return b + 1;
    }
    bool tile = ((int)floor(p[0] / 0.25) + (int)floor((p[1] + p[2]) / 0.25)) & 1;
    for (int c = 0; c < 3; c++) rgb[c] = fabs(p[1] - 2) < 1e-3 ? (tile ? 0.35 : 0.25) + 0.2 * c : tile ? 0.75 : 0.55;
    return 0;
}

static void set_room_features(Scene *s, int32_t *label) {
    for (size_t i = 0; i < s->N; i++) {
        double p[3] = {s->x[3 * i], s->x[3 * i + 1], s->x[3 * i + 2]}, rgb[3];
        label[i] = room_colour(p, rgb);
        for (int c = 0; c < 3; c++) s->f[(size_t)s->D * i + (size_t)c] = (real)(log(rgb[c] / (1 - rgb[c])) / 3);
    }
}

typedef struct Quality {
    double psnr, depth, label; // dB; median error in units of r; share of right labels
} Quality;

static Quality judge(const Scene *s, const RendererCamera *camera, const Frame *f, uint8_t *truth) {
    size_t pixels = (size_t)f->H * (size_t)f->W, seen = 0, right = 0;
    double square = 0, *errors = calloc(pixels, sizeof *errors);
    for (size_t i = 0; i < pixels; i++) {
        real origin[3], direction[3];
        renderer_camera_rays(camera, i, 1, origin, direction);
        double o[3] = {origin[0], origin[1], origin[2]}, d[3] = {direction[0], direction[1], direction[2]}, slope,
               rgb[3];
        double z = scene_room_hit(o, d, &slope), p[3] = {o[0] + z * d[0], o[1] + z * d[1], o[2] + z * d[2]};
        if (z == 0) continue;
        int label = room_colour(p, rgb), best = 0;
        for (int l = 1; l < 4; l++)
            if (f->label[4 * i + (size_t)l] > f->label[4 * i + (size_t)best]) best = l;
        right += best == label;
        for (size_t c = 0; c < 3; c++) {
            double off = (double)f->colour[3 * i + c] - rgb[c];
            square += off * off;
            truth[3 * i + c] = (uint8_t)(255 * rgb[c] + 0.5);
        }
        errors[seen++] = fabs((double)f->depth[i] - z) / s->renderer.config.radius;
    }
    sort_doubles(errors, seen);
    Quality q = {-10 * log10(square / (3.0 * (double)seen)), errors[seen / 2], (double)right / (double)seen};
    free(errors);
    return q;
}

static void keep_picture(const Frame *f, const uint8_t *truth) {
    const char *path = getenv("VPD_PICTURE");
    Canvas canvas;
    Error err = {0};
    if (!path) return;
    assert_status_ok(canvas_create(f->H, 4 * f->W, (Colour){0, 0, 0}, &canvas, &err), err);
    uint8_t *grey = calloc((size_t)f->H * (size_t)f->W, 3), *labels = calloc((size_t)f->H * (size_t)f->W, 3);
    for (size_t i = 0; i < (size_t)f->H * (size_t)f->W; i++)
        for (size_t c = 0; c < 3; c++) {
            grey[3 * i + c] = (uint8_t)fmin(255, 60 * (double)f->depth[i]);
            labels[3 * i + c] =
                (uint8_t)(255 * fmin(1, (double)f->label[4 * i + 1 + c] + 0.4 * (double)f->label[4 * i]));
        }
    draw_picture(&canvas, 0, 0, truth, f->H, f->W);
    draw_picture(&canvas, f->W, 0, f->rgb, f->H, f->W);
    draw_picture(&canvas, 2 * f->W, 0, grey, f->H, f->W);
    draw_picture(&canvas, 3 * f->W, 0, labels, f->H, f->W);
    assert_status_ok(canvas_write_png(&canvas, path, &err), err);
    free(grey);
    free(labels);
    canvas_free(&canvas);
}

enum { ROOM_H = 75, ROOM_W = 100 };

typedef struct Room {
    Scene s;
    int32_t *label;        // (N)
    RendererCamera camera; // one that saw nothing of it
    Frame f;
    uint8_t *truth;
} Room;

static void room_open(Room *r, int side) {
    scene_open(&r->s, 1, 1);
    scene_unproject_room(&r->s, side);
    r->label = calloc(r->s.N, sizeof *r->label);
    set_room_features(&r->s, r->label);
    r->camera = scene_camera(9, ROOM_H, ROOM_W);
    r->f = frame_create(ROOM_H, ROOM_W, 4);
    r->truth = calloc(ROOM_H * ROOM_W, 3);
}

static void room_close(Room *r) {
    free(r->label);
    free(r->truth);
    frame_free(&r->f);
    scene_close(&r->s);
}

static Quality room_draw(Room *r, const char *what) {
    Scene *s = &r->s;
    tape_reset(&s->tape);
    s->tape.recording = false;
    RendererParticles particles = scene_upload(s);
    int32_t *on_device = tape_memory(&s->tape, s->N, sizeof *r->label);
    s->device->nn->upload(s->device, on_device, r->label, s->N * sizeof *r->label);
    RendererFrame all = parts(&r->f, on_device, 4);
    draw(s, &particles, &r->camera, &all);
    Quality q = judge(s, &r->camera, &r->f, r->truth);
    print_message("%s, %zu particles: %.1f dB, median depth error %.2f r, labels right %.3f\n", what, s->N, q.psnr,
                  q.depth, q.label);
    return q;
}

// With an MLP that says nothing, colour is the mean of the features and density that of softplus(0).
static void a_known_room_is_recognised(void **state) {
    (void)state;
    Room r;
    room_open(&r, 60);
    r.s.device->nn->zero(r.s.device, r.s.set.values, r.s.set.size * sizeof(real));
    Quality q = room_draw(&r, "untrained");
    assert_true(q.psnr > 15 && q.depth < 2 && q.label > 0.84); // objects are bloated by their reach, edges are grey
    for (size_t i = 0; i < ROOM_H * ROOM_W; i++) {
        double sum = 0;
        for (size_t l = 0; l < 4; l++) sum += (double)r.f.label[4 * i + l];
        assert_close(sum, r.f.opacity[i], 2e-5, 0);
    }
    // Planted: a black picture without labels must not pass.
    memset(r.f.colour, 0, ROOM_H * ROOM_W * 12);
    memset(r.f.label, 0, ROOM_H * ROOM_W * 16);
    Quality bad = judge(&r.s, &r.camera, &r.f, r.truth);
    assert_true(bad.psnr < 10 && bad.label < 0.84);
    room_close(&r);
}

// Colours that the room's rays should have; the background where they meet nothing.
static void true_colours(const Scene *s, real *out) {
    for (size_t i = 0; i < s->R; i++) {
        double o[3], d[3], slope, rgb[3];
        for (size_t c = 0; c < 3; c++)
            o[c] = s->origin[3 * i + c], d[c] = s->direction[3 * i + c], rgb[c] = s->background[c];
        double z = scene_room_hit(o, d, &slope), p[3] = {o[0] + z * d[0], o[1] + z * d[1], o[2] + z * d[2]};
        if (z > 0) room_colour(p, rgb);
        for (size_t c = 0; c < 3; c++) out[3 * i + c] = (real)rgb[c];
    }
}

static void adam(Parameters *set, int step, real *m, real *v) {
    double rate = 5e-3 * sqrt(1 - pow(0.999, step)) / (1 - pow(0.9, step));
    for (size_t i = 0; i < set->size; i++) {
        m[i] += (real)0.1 * (set->grads[i] - m[i]);
        v[i] += (real)0.001 * (set->grads[i] * set->grads[i] - v[i]);
        set->values[i] -= (real)(rate * (double)m[i] / (sqrt((double)v[i]) + 1e-10));
    }
}

// The gradient is good for something: trained on rays of four cameras, the picture of a fifth is better.
static void a_room_is_learned(void **state) {
    (void)state;
    Room r;
    Scene *s = &r.s;
    room_open(&r, 60);
    Quality before = room_draw(&r, "random weights");
    scene_room_rays(s, 384, 400, 4);
    real *truth = calloc(3 * s->R, sizeof(real)), *moments = calloc(2 * s->set.size, sizeof(real));
    true_colours(s, truth);
    for (int step = 1; step <= 100; step++) {
        tape_reset(&s->tape);
        s->tape.recording = true;
        parameters_zero_grad(&s->set);
        Drawn d = scene_draw(s);
        real *grad = tape_grad(&s->tape, d.out.colour);
        for (size_t i = 0; i < 3 * s->R; i++) grad[i] = (d.out.colour->value[i] - truth[i]) / (real)s->R;
        tape_backward_from_grads(&s->tape);
        adam(&s->set, step, moments, moments + s->set.size);
    }
    Quality after = room_draw(&r, "trained for 100 steps of 384 rays");
    keep_picture(&r.f, r.truth);
    assert_true(after.psnr > before.psnr + 2 && after.depth < 0.6 * before.depth);
    free(truth);
    free(moments);
    room_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_equals_its_rays), cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(awkward_frames),        cmocka_unit_test(a_known_room_is_recognised),
        cmocka_unit_test(a_room_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
