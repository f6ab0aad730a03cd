// SPDX-License-Identifier: Apache-2.0
// Compares vpd data import with a plain loop that decodes the same PNGs and compresses the same bytes on as many
// threads. Prints wall time and processor time; on a shared machine compare processor time.
//   cmake --build BUILD --target bench_import && BUILD/bench_import [FRAMES] [REPEAT]      (200, 5)
#include "base/clock.h"
#include "base/file.h"
#include "base/image.h"
#include "base/sort.h"
#include "base/threads.h"
#include "datasets/import/import.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { H = 480, W = 640, LEVEL = 4, REPEAT_MAX = 32 };

static char folder[] = "/tmp/vpd_bench_XXXXXX";

static int fail(const Error *err) {
    fprintf(stderr, "bench_import: %s\n", err->text);
    return 1;
}

static void path_of(char out[FILE_PATH_SIZE], const char *kind, int frame) {
    snprintf(out, FILE_PATH_SIZE, "%s/%s/%06d.png", folder, kind, frame);
}

// Resembles a camera's picture: smooth shading with some noise in colour and depth, so that neither compresses to
// nothing.
static Status write_frame(int frame, Error *err) {
    char path[FILE_PATH_SIZE];
    Image colour = {0}, depth = {0};
    uint32_t noise = 2463534242u + (uint32_t)frame;
    Status status = image_create(H, W, 3, PIXEL_U8, &colour, err);
    if (!status) status = image_create(H, W, 1, PIXEL_U16, &depth, err);
    for (int i = 0; !status && i < H * W; i++) {
        int row = i / W;
        double x = i % W, y = row, shade = 120 + 60 * sin(0.02 * x + 0.1 * frame) + 40 * cos(0.015 * y);
        noise ^= noise << 13, noise ^= noise >> 17, noise ^= noise << 5;
        for (int c = 0; c < 3; c++)
            ((uint8_t *)colour.pixels)[3 * i + c] = (uint8_t)(shade + c * 8 + (noise >> (4 * c) & 7));
        ((uint16_t *)depth.pixels)[i] = (uint16_t)(1500 + 2 * y + 300 * sin(0.01 * x) + (noise >> 20 & 3));
    }
    path_of(path, "color", frame);
    if (!status) status = image_write_png(&colour, path, err);
    path_of(path, "depth", frame);
    if (!status) status = image_write_png(&depth, path, err);
    image_free(&colour);
    image_free(&depth);
    return status;
}

static Status write_recording(int frames, Error *err) {
    char path[FILE_PATH_SIZE];
    FILE *log = NULL;
    Status status = STATUS_OK;
    for (int i = 0; !status && i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "depth" : "color");
        status = file_make_folders(path, err);
    }
    for (int f = 0; !status && f < frames; f++) status = write_frame(f, err);
    snprintf(path, sizeof path, "%s/odometry.log", folder);
    if (!status && !(log = fopen(path, "w"))) status = error_set(err, STATUS_FAILED, "%s: cannot be written", path);
    for (int f = 0; !status && f < frames; f++)
        fprintf(log, "%d %d %d\n1 0 0 %g\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", f, f, f + 1, 0.01 * f);
    if (log) fclose(log);
    return status;
}

// The plain loop for one frame; the two bytes of depth values are stored separately, as in the file.
static bool plain_frame(int frame) {
    char path[FILE_PATH_SIZE];
    Image colour = {0}, depth = {0};
    uLongf room = compressBound(3 * H * W), size = room;
    uint8_t *out = malloc(room), *apart = malloc(2 * H * W);
    path_of(path, "color", frame);
    bool good = out && apart && image_read(path, &colour, NULL) == STATUS_OK;
    path_of(path, "depth", frame);
    good = good && image_read(path, &depth, NULL) == STATUS_OK;
    good = good && compress2(out, &size, colour.pixels, 3 * H * W, LEVEL) == Z_OK;
    for (size_t i = 0; good && i < H * W; i++) {
        apart[i] = ((uint8_t *)depth.pixels)[2 * i];
        apart[H * W + i] = ((uint8_t *)depth.pixels)[2 * i + 1];
    }
    size = room;
    good = good && compress2(out, &size, apart, 2 * H * W, LEVEL) == Z_OK;
    image_free(&colour);
    image_free(&depth);
    free(out);
    free(apart);
    return good;
}

typedef struct Time {
    double wall, cpu; // seconds
} Time;

static Time time_now(void) { return (Time){clock_now(), (double)clock() / CLOCKS_PER_SEC}; }

static Time time_since(Time start) {
    Time now = time_now();
    return (Time){now.wall - start.wall, now.cpu - start.cpu};
}

static bool time_plain(int frames, Time *out) {
    Time start = time_now();
    int bad = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : bad)
    for (int f = 0; f < frames; f++) bad += !plain_frame(f);
    *out = time_since(start);
    return bad == 0;
}

static Status time_import(Time *out, Error *err) {
    char target[FILE_PATH_SIZE];
    ImportOptions options = {
        .near = NAN, .far = NAN, .intrinsics = {525, 525, 319.5, 239.5}, .has_intrinsics = true, .level = LEVEL};
    snprintf(target, sizeof target, "%s/out.h5", folder);
    Time start = time_now();
    Status status = dataset_import(folder, &options, target, NULL, err);
    *out = time_since(start);
    return status;
}

static void print_line(const char *what, const double *plain, const double *import, int repeat) {
    double p = plain[repeat / 2], m = import[repeat / 2];
    printf("%-15s plain loop %.2f s (%.2f to %.2f), import %.2f s (%.2f to %.2f): %.2f of its speed\n", what, p,
           plain[0], plain[repeat - 1], m, import[0], import[repeat - 1], p / m);
}

int main(int argc, char **argv) {
    int frames = argc > 1 ? atoi(argv[1]) : 200, repeat = argc > 2 ? atoi(argv[2]) : 5, threads = threads_use(0);
    double plain[2][REPEAT_MAX], import[2][REPEAT_MAX];
    Error err = {0};
    if (frames < 1 || repeat < 1 || repeat > REPEAT_MAX || !mkdtemp(folder)) return 2;
    if (write_recording(frames, &err)) return fail(&err);
    for (int i = 0; i < repeat; i++) { // alternate, so that a busy machine slows both
        Time a, b;
        if (!time_plain(frames, &a) || time_import(&b, &err)) return fail(&err);
        plain[0][i] = a.wall, plain[1][i] = a.cpu;
        import[0][i] = b.wall, import[1][i] = b.cpu;
    }
    printf("%d frames of %dx%d, %d threads\n", frames, W, H, threads);
    for (int k = 0; k < 2; k++) {
        sort_doubles(plain[k], (size_t)repeat);
        sort_doubles(import[k], (size_t)repeat);
        print_line(k ? "processor time" : "wall time", plain[k], import[k], repeat);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}
