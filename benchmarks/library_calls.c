// SPDX-License-Identifier: Apache-2.0
// library_calls CHECKPOINT DATA COUNT: prints milliseconds of COUNT calls of vpd_scene_step and of vpd_scene_render,
// one line per pair, for benchmarks/library_calls.py.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vpd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    vpd_model *model = NULL;
    vpd_scene *scene = NULL;
    vpd_error err = {VPD_OK, ""};
    vpd_view view = {.struct_size = sizeof view};
    if (argc != 4) return 2;
    if (vpd_model_open(argv[1], NULL, &model, &err) || vpd_scene_episode(model, argv[2], NULL, -1, &scene, &err) ||
        vpd_scene_camera(scene, 0, 0, &view, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    size_t pixels = (size_t)view.H * (size_t)view.W;
    vpd_picture picture = {
        .struct_size = sizeof picture, .rgb = malloc(3 * pixels), .depth = malloc(pixels * sizeof(float))};
    int good = 1;
    for (int i = 0; good && i < atoi(argv[3]); i++) {
        double start = now();
        good = !vpd_scene_step(scene, 1, &err);
        double stepped = now();
        good = good && !vpd_scene_render(scene, 0, &view, &picture, &err);
        printf("%.4f %.4f\n", stepped - start, now() - stepped);
        good = good && !vpd_scene_rewind(scene, 0, &err);
    }
    free(picture.rgb);
    free(picture.depth);
    vpd_scene_free(scene);
    vpd_model_close(model);
    if (!good) fprintf(stderr, "%s\n", err.text);
    return !good;
}
