// SPDX-License-Identifier: Apache-2.0
// A scene on the CPU's stand-in for a GPU: its rollout, its pictures in each rasteriser, and the gradient of a loss on
// them, against the CPU in f64.
#include "tests/test.h"

#include "device/sim_options.h"
#include "lab/footage.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

enum { H = 20, W = 24, PIXELS = H * W, FRAMES = 3, NUMBERS = 5 * PIXELS + 3 * 64 };

static const char text[] =
    "frames: 2\nsubsteps: 20\ncontacts: {ground: {k_e: 900, k_d: 1, k_f: 3, mu: .4}}\nplanes: [{normal: [0, 0, 1]}]\n"
    "cameras: {front: {eye: [0.3, -1.1, 0.6], look_at: [0, 0, 0.1], fov: 36}}\n"
    "lights: [{direction: [-0.5, -0.4, 1]}]\n"
    "objects:\n"
    "  box: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 300, solid: {young: 1e4, poisson: .3},"
    " position: [0, 0, .1], velocity: [.3, 0, -.5]}\n"
    "  chain: {grid: {size: [0.4, 1, 1], points: [3, 1, 1]}, mass: 1, springs: {k_e: 90}, position: [0, 0.1, .4]}\n";

// Colour, alpha and depth of the last frame, and what a loss on them says of the particles.
static void draw(const char *rasteriser, Device *device, double out[NUMBERS]) {
    const RenderPicture picture = {out, out + 3 * PIXELS, out + 4 * PIXELS, NULL};
    const SimOptions on = sim_options_of(device, SIM_F64);
    double loss[5 * PIXELS];
    char all[2048];
    SimScene scene;
    Footage footage;
    Render *render;
    Error err;
    snprintf(all, sizeof all, "%sprecision: f64\npicture: {size: [24, 20], near: .3, far: 4, %s}\n", text, rasteriser);
    assert_status_ok(scene_parse(all, strlen(all), "s.yaml", ".", &scene, &err), err);
    assert_true(scene.model.particles <= 64);
    assert_status_ok(footage_run(&scene, &on, &footage, &err), err);
    assert_int_equal(footage.frames, FRAMES);
    assert_status_ok(render_open(&scene, &on, &render, &err), err);
    const double *last = footage.position + 3 * (FRAMES - 1) * scene.model.particles;
    assert_status_ok(render_draw(render, scene.picture.camera, last, &picture, &err), err);
    for (int i = 0; i < 5 * PIXELS; i++) loss[i] = 1 + .01 * (i % 17);
    const RasterLoss of = {loss, loss + 3 * PIXELS, loss + 4 * PIXELS};
    assert_status_ok(render_gradient(render, &of, &(RenderGradient){.position = out + 5 * PIXELS}, &err), err);
    render_close(render);
    footage_free(&footage);
    scene_free(&scene);
}

static void the_gpu_draws_the_same(void **state) {
    static const char *const rasterisers[] = {"rasteriser: soft, sigma: 1e-3, gamma: 1e-2", "rasteriser: z-buffer",
                                              "rasteriser: dib-r, delta: 3e-3"};
    Device *cpu, *gpu;
    Error err;
    (void)state;
    assert_status_ok(device_open("cpu:base", 1, &cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
    cuda_on_cpu_guard(true);
    for (size_t i = 0; i < sizeof rasterisers / sizeof *rasterisers; i++) {
        double here[NUMBERS] = {0}, there[NUMBERS] = {0}, size = 0;
        const long launches = cuda_on_cpu_launches();
        draw(rasterisers[i], cpu, here);
        assert_int_equal(cuda_on_cpu_launches(), launches);
        draw(rasterisers[i], gpu, there);
        assert_true(cuda_on_cpu_launches() > launches + 40 * 3); // steps are three launches each
        for (int k = 5 * PIXELS; k < NUMBERS; k++) size = fmax(size, fabs(here[k]));
        assert_true(size > .1);
        for (int k = 0; k < NUMBERS; k++) // orders of sums in f64; edges of a picture multiply them
            assert_close(there[k], here[k], 1e-9 * fmax(1, size), 0);
    }
    cuda_on_cpu_guard(false);
    device_close(cpu);
    device_close(gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_gpu_draws_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
