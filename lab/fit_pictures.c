// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_pictures.h"

#include "lab/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.5        // how far a difference of pictures moves, of the blur
#define EXACT_STEP 1e-6 // pixels, without blur: SoftRas jumps a little where a face begins to count
#define DEPTH_SHARE 0.1 // of the scene's size: what is further off in depth counts as that far off

enum { COLOUR, DEPTH, MASK, PARTS };
enum { SHADOW = 256 }; // texels of a shadow map, which would else be most of the work

struct FitPictures {
    SimScene scene; // the caller's, with the recording's size of pictures; owns nothing
    Render *render;
    Frames frames; // without arrays where `exact` is the recording
    double *exact; // (F,V,H,W,3) colour that is not blurred, of the scene's own cameras; or NULL
    uint32_t kinds;
    double size[FIT_KINDS]; // of residuals
    double blur;            // pixels: standard deviation of the Gaussian that residuals pass; 0: none
    double far_off;         // metres
    size_t pixels;
    double *seen[3][PARTS]; // colour, depth and alpha: of the frame, and moved forth and back; NULL: not compared
    double *residual, *loss, *row; // (values); (values) dcost/dpicture; (P,values) derivatives
    bool *live;                    // (values) changes with the picture
    double *moved, *slope;         // (N,3)
    double *line;                  // of the blur
    size_t rows;                   // variables that `row` has room for
};

static size_t channels(int part) { return part == COLOUR ? 3 : 1; }

static Status no_memory(const FitPictures *p, Error *err) {
    return error_set(err, STATUS_FAILED, "%s: out of memory to compare %d pictures of %d x %d", p->scene.path,
                     p->frames.F * p->frames.V, p->frames.W, p->frames.H);
}

void fit_pictures_close(FitPictures *p) {
    if (!p) return;
    render_close(p->render);
    frames_free(&p->frames);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < PARTS; k++) free(p->seen[i][k]);
    free(p->exact);
    free(p->residual);
    free(p->loss);
    free(p->live);
    free(p->row);
    free(p->moved);
    free(p->slope);
    free(p->line);
    free(p);
}

bool fit_pictures_rough(const FitPictures *p) { return p->scene.picture.raster.method == RASTER_HARD; }

// ---- opening

static bool allocate(FitPictures *p) {
    size_t values = 0;
    bool good = true;
    for (int k = 0; k < PARTS; k++) {
        if (!(p->kinds & (FIT_COLOUR << k))) continue;
        values += p->pixels * channels(k);
        for (int i = 0; i < 3; i++) {
            p->seen[i][k] = calloc(p->pixels * channels(k), sizeof(double));
            good = good && p->seen[i][k];
        }
    }
    p->residual = calloc(values, sizeof *p->residual);
    p->loss = calloc(values, sizeof *p->loss);
    p->live = calloc(values, sizeof *p->live);
    p->moved = calloc(3 * p->scene.model.particles, sizeof *p->moved);
    p->slope = calloc(3 * p->scene.model.particles, sizeof *p->slope);
    p->line = calloc(p->pixels, 3 * sizeof *p->line);
    return good && p->line && p->residual && p->loss && p->live && p->moved && p->slope;
}

// A z-buffer has no gradient at edges: where that is needed, SoftRas draws in its place.
static void choose_picture(FitPictures *p, bool smooth) {
    ScenePicture *picture = &p->scene.picture;
    double square = 0;
    picture->H = p->frames.H, picture->W = p->frames.W;
    if (smooth && picture->raster.method == RASTER_HARD) picture->raster.method = RASTER_SOFT;
    if (!picture->raster.shadow_size || picture->raster.shadow_size > SHADOW) picture->raster.shadow_size = SHADOW;
    for (int c = 0; c < 3; c++) {
        const double edge = picture->box[3 + c] - picture->box[c];
        square += edge * edge;
    }
    p->far_off = DEPTH_SHARE * sqrt(square);
    p->blur = 1;
    p->pixels = (size_t)p->frames.H * (size_t)p->frames.W;
}

void fit_pictures_blur(FitPictures *p, double pixels) {
    const double most = fmax(1, fmin(p->frames.H, p->frames.W) / 8.0);
    if (!p->exact) p->blur = fmin(pixels, most);
}

Status fit_pictures_open(const Dataset *dataset, int episode, size_t frames, uint32_t kinds, const double *size,
                         const SimScene *scene, bool smooth, int threads, FitPictures **out, Error *err) {
    FitPictures *p = *out = calloc(1, sizeof *p);
    if (!p) return error_set(err, STATUS_FAILED, "%s: out of memory for a fit", scene->path);
    p->scene = *scene;
    p->kinds = kinds;
    memcpy(p->size, size, sizeof p->size);
    const FrameRequest request = {.episode = episode, .count = (int)frames};
    Status status = dataset_read_frames(dataset, request, &p->frames, err);
    if (status == STATUS_OK) {
        const SimOptions on = {.precision = SIM_F64, .threads = threads};
        choose_picture(p, smooth);
        status = allocate(p) ? render_open(&p->scene, &on, &p->render, err) : no_memory(p, err);
    }
    if (status == STATUS_OK) return status;
    fit_pictures_close(p);
    *out = NULL;
    return status;
}

Status fit_pictures_record(const SimScene *scene, const double *position, size_t frames, int threads, FitPictures **out,
                           Error *err) {
    const ScenePicture *picture = &scene->picture;
    const size_t V = picture->cameras, one = 3 * (size_t)picture->H * (size_t)picture->W;
    FitPictures *p = *out = calloc(1, sizeof *p);
    if (!p) return error_set(err, STATUS_FAILED, "%s: out of memory for a fit", scene->path);
    p->scene = *scene;
    p->kinds = FIT_COLOUR;
    p->size[1] = 1;
    p->pixels = one / 3;
    p->frames = (Frames){.F = (int)frames, .V = (int)V, .H = picture->H, .W = picture->W};
    p->exact = calloc(frames * V * one, sizeof *p->exact);
    const SimOptions on = {.precision = SIM_F64, .threads = threads};
    Status status = p->exact && allocate(p) ? render_open(&p->scene, &on, &p->render, err) : no_memory(p, err);
    for (size_t i = 0; i < frames * V && status == STATUS_OK; i++)
        status = render_draw(p->render, picture->camera + i % V, position + i / V * 3 * scene->model.particles,
                             &(RenderPicture){.colour = p->exact + i * one}, err);
    if (status == STATUS_OK) return status;
    fit_pictures_close(p);
    *out = NULL;
    return status;
}

// Colours brighter than a byte can say.
static double clipped(double colour) { return fmin(fmax(colour, 0), 1); }

void fit_pictures_round(FitPictures *p) {
    const size_t count = p->exact ? 3 * p->pixels * (size_t)p->frames.F * (size_t)p->frames.V : 0;
    for (size_t i = 0; i < count; i++) p->exact[i] = round(255 * clipped(p->exact[i])) / 255;
}

// ---- residuals

static Status draw(FitPictures *p, const SceneCamera *camera, const double *position, int which, Error *err) {
    double *const *seen = p->seen[which];
    const RenderPicture picture = {.colour = seen[COLOUR], .alpha = seen[MASK], .depth = seen[DEPTH]};
    return render_draw(p->render, camera, position, &picture, err);
}

// Value i of a part of the recorded picture `image`, and whether it was seen.
static double recorded(const FitPictures *p, int part, size_t image, size_t i, bool *seen) {
    const size_t at = image * p->pixels * channels(part) + i;
    *seen = true;
    if (p->exact) return clipped(p->exact[at]);
    if (part == COLOUR) return p->frames.rgb[at] / 255.0;
    if (part == MASK) return p->frames.mask[at] > 0;
    *seen = p->frames.depth[at] > 0;
    return (double)p->frames.depth[at];
}

// Residual of value i of a part of the recorded picture `image`; *live: it changes with the picture. Depth that is off
// by more than far_off counts as off by that; nothing is far away.
static double residual_of(const FitPictures *p, int part, double drawn, size_t image, size_t i, bool *live) {
    bool seen;
    const double wanted = recorded(p, part, image, i, &seen), off = drawn - wanted;
    if (part == COLOUR) {
        *live = drawn > 0 && drawn < 1;
        return clipped(drawn) - wanted;
    }
    *live = seen && (part != DEPTH || (drawn > 0 && fabs(off) < p->far_off));
    if (!seen || *live) return seen ? off : 0;
    return drawn > 0 && off < 0 ? -p->far_off : p->far_off;
}

// ---- blur

// Gaussian of `count` rows of `width` values; 0 outside, so that it is its own adjoint. line: (count*width)
static void blur_rows(double *values, size_t count, size_t width, double sigma, double *line) {
    const long reach = lround(3 * sigma), n = (long)count;
    double sum = 0;
    for (long k = -reach; k <= reach; k++) sum += exp(-0.5 * (double)(k * k) / (sigma * sigma));
    memset(line, 0, count * width * sizeof *line);
    for (long k = -reach; k <= reach; k++) {
        const double weight = exp(-0.5 * (double)(k * k) / (sigma * sigma)) / sum;
        const size_t to = k > 0 ? (size_t)k : 0, from = k < 0 ? (size_t)-k : 0;
        const size_t rows = labs(k) < n ? (size_t)(n - labs(k)) : 0;
        for (size_t i = 0; i < rows * width; i++) line[to * width + i] += weight * values[from * width + i];
    }
    memcpy(values, line, count * width * sizeof *values);
}

// All compared parts of a picture (values).
static void blur(const FitPictures *p, double *values) {
    const size_t H = (size_t)p->frames.H, W = (size_t)p->frames.W;
    for (int k = 0; k < PARTS && p->blur > 0; k++) {
        if (!p->seen[0][k]) continue;
        const size_t C = channels(k);
        for (size_t y = 0; y < H; y++) blur_rows(values + y * W * C, W, C, p->blur, p->line);
        blur_rows(values, H, W * C, p->blur, p->line);
        values += H * W * C;
    }
}

// Fills residual and loss; adds the cost. The number of values.
static size_t take_residuals(FitPictures *p, size_t image, double *cost) {
    size_t n = 0;
    for (int k = 0; k < PARTS; k++)
        for (size_t i = 0; p->seen[0][k] && i < p->pixels * channels(k); i++, n++) {
            p->residual[n] = residual_of(p, k, p->seen[0][k][i], image, i, p->live + n) / p->size[k + 1];
        }
    blur(p, p->residual);
    for (size_t i = 0; i < n; i++) *cost += p->residual[i] * p->residual[i] / 2;
    return n;
}

// ---- derivatives

// dcost/dposition (N,3) of the picture that was drawn last.
static Status take_slope(FitPictures *p, size_t values, Error *err) {
    const double *parts[PARTS] = {NULL};
    size_t n = 0;
    memcpy(p->loss, p->residual, values * sizeof *p->loss);
    blur(p, p->loss);
    for (int k = 0; k < PARTS; k++) {
        if (!p->seen[0][k]) continue;
        parts[k] = p->loss + n;
        for (size_t i = 0; i < p->pixels * channels(k); i++, n++)
            p->loss[n] = p->live[n] ? p->loss[n] / p->size[k + 1] : 0;
    }
    memset(p->slope, 0, 3 * p->scene.model.particles * sizeof *p->slope);
    const RasterLoss loss = {.colour = parts[COLOUR], .alpha = parts[MASK], .depth = parts[DEPTH]};
    return render_gradient(p->render, &loss, &(RenderGradient){.position = p->slope}, err);
}

// How far particles move for a pixel, at the distance of the scene's middle.
static double pixel_length(const FitPictures *p, const SceneCamera *camera) {
    const double *box = p->scene.picture.box;
    double square = 0;
    for (int c = 0; c < 3; c++) {
        const double d = 0.5 * (box[c] + box[3 + c]) - camera->world_from_camera[4 * c + 3];
        square += d * d;
    }
    return fmax(sqrt(square), 1e-3) / camera->K[0];
}

// Derivatives of all residuals of a picture along one variable, by the scene moved forth and back. So depth pulls at
// edges too, where it jumps.
static Status take_row(FitPictures *p, const SceneCamera *camera, const FitFrame *in, size_t image, size_t variable,
                       double *row, Error *err) {
    const size_t numbers = 3 * p->scene.model.particles;
    const double *along = in->along + variable * numbers;
    double most = 0;
    Status status = STATUS_OK;
    for (size_t i = 0; i < numbers; i++) most = fmax(most, fabs(along[i]));
    const double far = p->blur > 0 ? STEP * p->blur : EXACT_STEP,
                 step = most > 0 ? far * pixel_length(p, camera) / most : 0;
    for (int side = 1; side <= 2 && step > 0 && status == STATUS_OK; side++) {
        for (size_t i = 0; i < numbers; i++) p->moved[i] = in->position[i] + (side == 1 ? step : -step) * along[i];
        status = draw(p, camera, p->moved, side, err);
    }
    size_t n = 0;
    for (int k = 0; k < PARTS && status == STATUS_OK; k++)
        for (size_t i = 0; p->seen[0][k] && i < p->pixels * channels(k); i++, n++) {
            bool live;
            const double change = step > 0 ? residual_of(p, k, p->seen[1][k][i], image, i, &live) -
                                                 residual_of(p, k, p->seen[2][k][i], image, i, &live)
                                           : 0;
            row[n] = change != 0 ? change / (2 * step) / p->size[k + 1] : 0;
        }
    if (step > 0) blur(p, row);
    return status;
}

static void add_sums(const FitPictures *p, size_t P, size_t values, MinimiseSums *sums) {
    for (size_t i = 0; i < P; i++) {
        const double *a = p->row + i * values;
        for (size_t n = 0; n < values; n++) sums->gradient[i] += a[n] * p->residual[n];
        for (size_t j = 0; j <= i; j++) {
            const double *b = p->row + j * values;
            double sum = 0;
            for (size_t n = 0; n < values; n++) sum += a[n] * b[n];
            sums->normal[i * P + j] += sum;
            if (i != j) sums->normal[j * P + i] += sum;
        }
    }
}

// Counts the values that change with any variable or do not fit. Of blurred ones 4 pi blur^2 count as one: as many as
// share their noise.
static void count(const FitPictures *p, const FitFrame *in, size_t values, MinimiseSums *sums) {
    size_t counted = 0;
    for (size_t n = 0; n < values; n++) {
        bool any = fabs(p->residual[n]) > 1e-9;
        for (size_t i = 0; i < in->variables && in->along && !any; i++) any = p->row[i * values + n] != 0;
        counted += any;
    }
    sums->residuals += (double)counted / fmax(1, 4 * 3.141592653589793 * p->blur * p->blur);
}

static Status take_rows(FitPictures *p, const SceneCamera *camera, const FitFrame *in, size_t image, size_t values,
                        Error *err) {
    Status status = STATUS_OK;
    if (p->rows < in->variables) {
        free(p->row);
        p->row = calloc(in->variables * values, sizeof *p->row);
        p->rows = p->row ? in->variables : 0;
        if (!p->row) return no_memory(p, err);
    }
    for (size_t i = 0; i < in->variables && status == STATUS_OK; i++)
        status = take_row(p, camera, in, image, i, p->row + i * values, err);
    return status;
}

void fit_camera(const SimScene *scene, const double *K, const double *world_from_camera, SceneCamera *out) {
    memcpy(out->K, K, sizeof out->K);
    memcpy(out->world_from_camera, world_from_camera, sizeof out->world_from_camera);
    for (int c = 0; c < 4 && scene->y_up; c++) {
        out->world_from_camera[4 + c] = world_from_camera[8 + c];
        out->world_from_camera[8 + c] = -world_from_camera[4 + c];
    }
}

static Status compare_view(FitPictures *p, const FitFrame *in, size_t view, MinimiseSums *sums, Error *err) {
    SceneCamera camera = {.name = ""};
    if (p->exact) camera = p->scene.picture.camera[view];
    else
        fit_camera(&p->scene, p->frames.intrinsics + 9 * view,
                   p->frames.world_from_camera + 16 * (in->frame * (size_t)p->frames.V + view), &camera);
    Status status = draw(p, &camera, in->position, 0, err);
    if (status != STATUS_OK) return status;
    const size_t image = in->frame * (size_t)p->frames.V + view, values = take_residuals(p, image, &sums->cost);
    if (in->slope) status = take_slope(p, values, err);
    for (size_t i = 0; i < 3 * p->scene.model.particles && in->slope; i++) in->slope[i] += p->slope[i];
    if (status == STATUS_OK && in->along) status = take_rows(p, &camera, in, image, values, err);
    if (status == STATUS_OK && in->along) add_sums(p, in->variables, values, sums);
    if (status == STATUS_OK) count(p, in, values, sums);
    return status;
}

Status fit_pictures_compare(FitPictures *p, const FitFrame *in, MinimiseSums *sums, Error *err) {
    Status status = STATUS_OK;
    for (size_t v = 0; v < (size_t)p->frames.V && status == STATUS_OK; v++) status = compare_view(p, in, v, sums, err);
    return status;
}
