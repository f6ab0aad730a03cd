// SPDX-License-Identifier: Apache-2.0
#include "motion/light.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/line_fit.h"
#include "base/vector.h"
#include "motion/views.h"

#include <math.h>
#include <string.h>

enum {
    DIRECTIONS = 500, // that are tried first, spread evenly over the sphere
    TURNS = 8         // directions around the best one that are tried then
};
static const double FIRST_TURN = 0.06, LAST = 0.004; // radians: how far around the best direction
static const double EXPLAINED = 0.45;                // least correlation of shadows and darkness
static const double CHANGED = 4;                     // squared changes of shade: less is no evidence
static const double MOVED = 0.1;    // of what shadows should do between the two frames: less, and they are marks
static const double SAME = 0.02;    // of the depth: so near to it, a pixel shows the same place
static const double WIDEST = 0.125; // of the picture's width: what a particle covers to each side, at most

typedef struct Search {
    Tape *tape;
    const LightScene *scene;
    ShadeGroup bodies, still;
    double spread; // metres
    Screen screen;
    double *shade; // (still)
} Search;

static ShadeMemory memory_of(const Search *q) { return (ShadeMemory){q->tape->device, &q->tape->host}; }

// ---- shadows and darkness

// Some of the particles, among which a light is searched.
typedef struct Sample {
    ShadeGroup bodies, still;
    double spread; // metres
    double *dark;  // (still) darkness, less its mean, of sum of squares 1
} Sample;

// At most `most`, spread evenly.
static ShadeGroup thin_out(const Search *q, const ShadeGroup *group, size_t most) {
    ShadeGroup out = {group->count < most ? group->count : most, NULL};
    out.particle = shade_array(memory_of(q), out.count, sizeof *out.particle);
    for (size_t k = 0; out.particle && k < out.count; k++)
        out.particle[k] = group->particle[k * group->count / out.count];
    return out;
}

static double darkness(const real *colour) { return -((double)colour[0] + (double)colour[1] + (double)colour[2]); }

static void find_darkness(const LightScene *scene, const ShadeGroup *still, double *dark) {
    double mean = 0, square = 0;
    for (size_t k = 0; k < still->count; k++) {
        dark[k] = darkness(scene->colour + 3 * still->particle[k]);
        mean += dark[k] / (double)still->count;
    }
    for (size_t k = 0; k < still->count; k++) dark[k] -= mean, square += dark[k] * dark[k];
    for (size_t k = 0; k < still->count; k++) dark[k] *= square > 0 ? 1 / sqrt(square) : 0;
}

static Sample take_sample(const Search *q, size_t bodies, size_t still) {
    Sample out = {.bodies = thin_out(q, &q->bodies, bodies), .still = thin_out(q, &q->still, still)};
    out.spread = q->spread * sqrt((double)q->bodies.count / (double)out.bodies.count);
    out.dark = shade_array(memory_of(q), still, sizeof *out.dark);
    if (!q->tape->device->failed) find_darkness(q->scene, &out.still, out.dark);
    return out;
}

// Correlation of shade and darkness over particles that stand.
static double explains(Search *q, const double way[3], const Sample *sample) {
    const real *x = q->scene->shade.x;
    double sum = 0, square = 0, with = 0;
    size_t count = sample->still.count;
    if (!screen_place(&q->screen, way, x, &sample->bodies, sample->spread, false)) return 0;
    screen_cast(&q->screen, x, &sample->bodies);
    screen_shade(&q->screen, x, &sample->still, q->shade);
    for (size_t k = 0; k < count; k++)
        sum += q->shade[k], square += q->shade[k] * q->shade[k], with += q->shade[k] * sample->dark[k];
    square -= sum * sum / (double)count;
    return square > 0 ? with / sqrt(square) : 0;
}

// ---- the best direction

static void direction(size_t k, double out[3]) {
    double z = 1 - (2 * (double)k + 1) / DIRECTIONS, angle = acos(-1) * (1 + sqrt(5)) * ((double)k + 0.5);
    out[0] = sqrt(1 - z * z) * cos(angle), out[1] = sqrt(1 - z * z) * sin(angle), out[2] = z;
}

static void turn(const double way[3], double by, int k, double out[3]) {
    double u[3], v[3], angle = 2 * acos(-1) * k / TURNS;
    vector_across(way, u, v);
    for (int c = 0; c < 3; c++) out[c] = way[c] + by * (cos(angle) * u[c] + sin(angle) * v[c]);
    double length = sqrt(vector_dot(out, out));
    for (int c = 0; c < 3; c++) out[c] /= length;
}

// Turns a direction as long as that explains more. Returns how much it explains.
static double look_closer(Search *q, const Sample *sample, double best[3]) {
    double way[3], from[3], most = explains(q, best, sample);
    for (double by = FIRST_TURN; by > LAST;) {
        bool better = false;
        memcpy(from, best, sizeof from);
        for (int k = 0; k < TURNS; k++) {
            turn(from, by, k, way);
            double now = explains(q, way, sample);
            if (now > most) most = now, better = true, memcpy(best, way, sizeof way);
        }
        if (!better) by /= 2;
    }
    return most;
}

static bool find_best(Search *q, double best[3]) {
    double most = 0, way[3];
    Sample few = take_sample(q, 256, 512), many = take_sample(q, 1024, 2048);
    if (q->tape->device->failed) return false;
    for (size_t k = 0; k < DIRECTIONS; k++) {
        direction(k, way);
        double now = explains(q, way, &few);
        if (now > most) most = now, memcpy(best, way, sizeof way);
    }
    return most > 0 && look_closer(q, &many, best) >= EXPLAINED;
}

// ---- what the last motion has changed

// The last two frames as cameras show them: the one before, and that of now.
typedef struct Sights {
    const Observation *o;
    double *from_world; // (2,V,4,4)
    bool *body;         // (2,V,H,W) whether a pixel shows a body
} Sights;

// The pixel of x in a frame, (V,H,W), and its depth; 0 if it is out of the picture.
static double find_pixel(const Sights *s, size_t frame, size_t view, const real *x, size_t *pixel) {
    const double place[3] = {(double)x[0], (double)x[1], (double)x[2]};
    return views_find_pixel(s->o, view, s->from_world + 16 * (frame * (size_t)s->o->V + view), place, pixel);
}

// The pixels around one that a particle of a body covers.
static void cover(const Observation *o, size_t pixel, double radius, bool *body) {
    long H = o->H, W = o->W, x = (long)pixel % W, y = (long)pixel / W % H, view = (long)pixel / (W * H),
         r = (long)ceil(fmin(radius, WIDEST * (double)W));
    for (long row = y - r > 0 ? y - r : 0; row <= y + r && row < H; row++)
        for (long column = x - r > 0 ? x - r : 0; column <= x + r && column < W; column++)
            body[(view * H + row) * W + column] = true;
}

static bool see(Search *q, const Observation *o, Sights *out) {
    size_t V = (size_t)o->V, pixels = observation_pixels(o);
    const real *x[2] = {q->scene->before, q->scene->shade.x};
    *out = (Sights){o, shade_array(memory_of(q), 32 * V, sizeof(double)), shade_array(memory_of(q), 2 * pixels, 1)};
    if (q->tape->device->failed) return false;
    memset(out->body, 0, 2 * pixels);
    for (size_t frame = 0; frame < 2; frame++)
        for (size_t view = 0; view < V; view++) {
            const double *pose = o->world_from_camera + 16 * (((size_t)o->F - 2 + frame) * V + view);
            pose_inverse(pose, out->from_world + 16 * (frame * V + view));
            for (size_t k = 0; k < q->bodies.count; k++) {
                size_t pixel;
                double z = find_pixel(out, frame, view, x[frame] + 3 * (size_t)q->bodies.particle[k], &pixel);
                if (z > 0) cover(o, pixel, q->spread / 2 * o->intrinsics[9 * view] / z, out->body + frame * pixels);
            }
        }
    return true;
}

// The darkness of a place in one of the frames, in the view that shows it now; NAN if it is out of sight there.
static double darkness_in(const Sights *s, size_t frame, const real *x, int32_t shown) {
    const Observation *o = s->o;
    size_t pixels = observation_pixels(o), view = (size_t)shown / ((size_t)o->H * (size_t)o->W), pixel;
    double z = find_pixel(s, frame, view, x, &pixel);
    if (!(z > 0) || s->body[frame * pixels + pixel]) return NAN;
    size_t at = ((size_t)o->F - 2 + frame) * pixels + pixel;
    if (!(fabs((double)o->depth[at] - z) < SAME * z)) return NAN;
    return -((double)o->rgb[3 * at] + o->rgb[3 * at + 1] + o->rgb[3 * at + 2]) / 255;
}

// Whether places grew darker and lighter as the shadows of moving bodies make them. Marks on the floor stay as they
// are. Without motion nothing speaks against shadows.
static bool changes_agree(Search *q, const Observation *o, const double way[3]) {
    const LightScene *scene = q->scene;
    double *before = shade_array(memory_of(q), q->still.count, sizeof *before);
    LineFit present = {0}, change = {0};
    Sights sights;
    CHECK(o->F > 1); // or nothing has moved
    if (!before || !see(q, o, &sights) || !screen_place(&q->screen, way, scene->shade.x, &q->bodies, q->spread, true))
        return false;
    screen_cast(&q->screen, scene->before, &q->bodies);
    screen_shade(&q->screen, scene->shade.x, &q->still, before);
    screen_cast(&q->screen, scene->shade.x, &q->bodies);
    screen_shade(&q->screen, scene->shade.x, &q->still, q->shade);
    for (size_t k = 0; k < q->still.count; k++) {
        size_t i = q->still.particle[k];
        const real *x = scene->shade.x + 3 * i;
        double darker = darkness_in(&sights, 1, x, scene->pixel[i]) - darkness_in(&sights, 0, x, scene->pixel[i]);
        line_fit_add(&present, q->shade[k], darkness(scene->colour + 3 * i));
        if (isfinite(darker)) line_fit_add(&change, q->shade[k] - before[k], darker);
    }
    return !(change.xx >= CHANGED) || line_fit_slope_centred(&change) >= MOVED * line_fit_slope_centred(&present);
}

// False if there are no bodies, or nothing that they could shade.
static bool begin(Search *q) {
    q->bodies = shade_group(memory_of(q), &q->scene->shade, true);
    q->still = shade_group(memory_of(q), &q->scene->shade, false);
    q->shade = shade_array(memory_of(q), q->still.count, sizeof *q->shade);
    q->screen = screen_make(memory_of(q));
    if (q->tape->device->failed || !q->still.count) return false;
    q->spread = shade_spread(&q->scene->shade, &q->bodies);
    return q->spread > 0 && isfinite(q->spread);
}

bool light_find(Tape *tape, const Observation *observation, const LightScene *scene, double way[3]) {
    Search q = {.tape = tape, .scene = scene};
    ArenaMark mark = arena_mark(&tape->host);
    bool found = begin(&q) && find_best(&q, way) && changes_agree(&q, observation, way);
    arena_release(&tape->host, mark);
    return found && !tape->device->failed;
}
