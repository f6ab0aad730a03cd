// SPDX-License-Identifier: Apache-2.0
#include "model/vpd.h"

#include "base/check.h"
#include "model/body_labels.h"
#include "model/memory.h"
#include "motion/flags.h"
#include "nn/backend.h"
#include "nn/columns.h"
#include "nn/knn.h"

#include <string.h>

// ---- building

static EncoderConfig encoder_config(const Config *c) {
    EncoderConfig out = {.levels = c->encoder.widths.count,
                         .latent = (size_t)(c->model.D - (c->encoder.carry_rgb ? 3 : 0)),
                         .depth_input = c->encoder.depth_input,
                         .extent = c->data.extent};
    for (int l = 0; l < out.levels && l < ENCODER_MAX_LEVELS; l++) out.widths[l] = (size_t)c->encoder.widths.v[l];
    return out;
}

// All options must be resolved.
static GnnConfig gnn_config(const Config *c) {
    const GnnOptions *g = &c->gnn;
    return (GnnConfig){.T = (size_t)c->model.T,
                       .D = (size_t)c->model.D,
                       .C = (size_t)c->model.C,
                       .L = (size_t)g->L,
                       .M = (size_t)g->M,
                       .graph = (GnnGraph)g->graph,
                       .carry_rgb = c->encoder.carry_rgb,
                       .feature_change = g->feature_change,
                       .k_particle_to_node = GNN_PARTICLE_TO_NODE,
                       .k_node_to_node = GNN_NODE_TO_NODE,
                       .k_node_to_particle = GNN_NODE_TO_PARTICLE,
                       .length_scale = g->length_scale,
                       .displacement_scale = g->displacement_scale,
                       .keep = !c->train.checkpoint_steps};
}

static RendererConfig renderer_config(const Config *c) {
    const RendererOptions *r = &c->renderer;
    return (RendererConfig){.features = (int)c->model.D,
                            .neighbours = (int)r->K,
                            .samples = (int)r->S,
                            .hidden = {r->widths.v[0], r->widths.v[1]},
                            .radius = r->radius,
                            .near = r->near,
                            .far = r->far,
                            .view_direction = r->view_direction,
                            .carry_rgb = c->encoder.carry_rgb,
                            .background = (RendererBackground)r->background};
}

static bool has_bodies(const Config *c) { return c->gnn.graph == GRAPH_BODIES && c->model.T > 1; }

bool vpd_has_bodies(const Vpd *model) { return has_bodies(&model->config); }

bool vpd_has_dynamics(const Vpd *model) { return model->config.gnn.graph != GRAPH_NONE && model->config.model.T > 1; }

Status vpd_create(const Config *config, Device *device, Vpd **out, Error *err) {
    *out = NULL;
    RendererConfig renderer = renderer_config(config);
    Status status = renderer_config_check(&renderer, err);
    if (status != STATUS_OK) return status;
    Vpd *model = calloc(1, sizeof *model);
    if (!model) return error_set(err, STATUS_FAILED, "out of memory for a model");
    model->config = *config;
    model->device = device;
    device_set_precision(device, (Precision)config->model.precision);
    parameters_init(&model->parameters, device);
    EncoderConfig encoder = encoder_config(config);
    GnnConfig gnn = gnn_config(config);
    encoder_create(&model->encoder, &model->parameters, &encoder);
    status = dynamics_create(&model->parameters, &gnn, &model->dynamics, err);
    if (has_bodies(config))
        body_network_create(&model->parameters, (size_t)config->model.C, (size_t)config->gnn.L, &model->bodies);
    renderer_create(&model->renderer, &model->parameters, &renderer);
    if (status == STATUS_OK) status = parameters_allocate(&model->parameters, (uint32_t)config->train.seed, err);
    if (status == STATUS_OK) *out = model;
    else vpd_free(model);
    return status;
}

Status memory_count_weights(const Config *config, double *weights, Error *err) {
    Device none = {.name = "none"}; // parameters are declared and get no memory
    Parameters set;
    Encoder encoder;
    Renderer renderer;
    Dynamics *dynamics = NULL;
    EncoderConfig of_encoder = encoder_config(config);
    GnnConfig of_dynamics = gnn_config(config);
    RendererConfig of_renderer = renderer_config(config);
    parameters_init(&set, &none);
    encoder_create(&encoder, &set, &of_encoder);
    Status status = dynamics_create(&set, &of_dynamics, &dynamics, err);
    BodyNetwork bodies;
    if (has_bodies(config)) body_network_create(&set, (size_t)config->model.C, (size_t)config->gnn.L, &bodies);
    renderer_create(&renderer, &set, &of_renderer);
    if (status == STATUS_OK && set.failed) status = error_set(err, STATUS_FAILED, "out of memory for a model");
    *weights = (double)set.size;
    dynamics_free(dynamics);
    parameters_free(&set);
    return status;
}

void vpd_free(Vpd *model) {
    if (!model) return;
    dynamics_free(model->dynamics);
    parameters_free(&model->parameters);
    free(model);
}

void workspace_free(Workspace *workspace) {
    point_cloud_free(&workspace->cloud);
    selection_free(&workspace->selection);
    body_step_free(&workspace->step);
    *workspace = (Workspace){0};
}

// The advice on reducing memory differs between training and inference.
void vpd_part(Tape *tape, VpdPart part) {
    static const TapePart parts[2][3] = {
        {{"encoder", "fewer data.input_views, smaller images"},
         {"dynamics", "fewer particles (encoder.N)"},
         {"renderer", "fewer particles (encoder.N), smaller pictures"}},
        {{"encoder", "a smaller train.batch, fewer data.input_views, smaller images"},
         {"dynamics", "train.keep_mib=0, train.checkpoint_steps=true, a shorter train.rollout, a smaller encoder.N"},
         {"renderer", "a smaller train.batch, fewer train.rays, a shorter train.rollout"}}};
    tape_part(tape, &parts[tape->recording][part]);
}

// ---- encoding

// Chosen particles, in the tape's host memory.
typedef struct Chosen {
    size_t count;
    real *position, *colour, *moving; // (n,3), (n,3), (n)
    int32_t *pixel;                   // (n) within its frame
} Chosen;

// With room for `more`.
static void copy_chosen(Tape *tape, const PointCloud *cloud, const Selection *selection, size_t more, Chosen *out) {
    size_t room = selection->count + more + 1;
    out->count = selection->count;
    out->position = tape_context(tape, 3 * room * sizeof(real));
    out->colour = tape_context(tape, 3 * room * sizeof(real));
    out->moving = tape_context(tape, room * sizeof(real));
    out->pixel = tape_context(tape, room * sizeof(int32_t));
    if (tape->device->failed) return;
    for (size_t i = 0; i < out->count; i++) {
        size_t from = (size_t)selection->items[i].index;
        memcpy(out->position + 3 * i, cloud->position + 3 * from, 3 * sizeof(real));
        memcpy(out->colour + 3 * i, cloud->colour + 3 * from, 3 * sizeof(real));
        out->moving[i] = cloud->moving[from];
        out->pixel[i] = cloud->pixel[from];
    }
}

static Status choose_frame(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *o, int frame,
                           const MotionSeen *seen, SceneKey key, Chosen *out, Error *err) {
    const Config *c = &model->config;
    MotionOptions motion = vpd_motion_options(model);
    SampleOptions sample = {.sampling = (Sampling)c->encoder.sampling,
                            .N = (size_t)c->encoder.N,
                            .moving_share = c->encoder.moving_share,
                            .extent = c->data.extent,
                            .seed = key.seed,
                            .step = key.step,
                            .episode = key.episode};
    PointCloud *cloud = &workspace->cloud;
    Status status = unproject_frame(o, frame, (UnprojectOptions){.crop = motion.crop}, cloud, err);
    if (status == STATUS_OK && seen->moving) flags_unpack(seen->moving + (size_t)frame * seen->flag_bytes, cloud);
    if (status == STATUS_OK) status = sample_particles(o, cloud, &sample, &workspace->selection, err);
    if (status != STATUS_OK) return status;
    copy_chosen(tape, cloud, &workspace->selection, seen->field.count, out);
    return STATUS_OK;
}

// f = [rgb, latent] at the pixels of particles. `first` is the row of their frame's first pixel.
static Tensor *chosen_features(Tape *tape, const Vpd *model, Tensor *pixels, size_t first, const GnnSet *set,
                               const int32_t *pixel) {
    size_t count = set->x->rows;
    int32_t *rows = tape_context(tape, (count + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < count; i++) rows[i] = pixel[i] + (int32_t)first;
    Tensor *latent =
        encoder_latents(tape, &model->encoder, pixels, count, tape_upload(tape, rows, count, sizeof *rows));
    if (!model->config.encoder.carry_rgb) return latent;
    Tensor *rgb = tape_tensor(tape, count, 3, false);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, rgb->value, set->c, 3 * count * sizeof(real));
    return concat_columns(tape, 2, (Tensor *[]){rgb, latent});
}

void observation_background(const Observation *o, real out[3]) {
    size_t pixels = (size_t)o->F * (size_t)o->V * (size_t)o->H * (size_t)o->W, count = 0;
    double sum[3] = {0}, all[3] = {0};
    for (size_t i = 0; i < pixels; i++) {
        bool missing = !(o->depth[i] > 0);
        count += missing;
        for (size_t c = 0; c < 3; c++) {
            all[c] += o->rgb[3 * i + c];
            if (missing) sum[c] += o->rgb[3 * i + c];
        }
    }
    for (size_t c = 0; c < 3; c++) out[c] = (real)((count ? sum[c] / (double)count : all[c] / (double)pixels) / 255);
}

RendererCamera observation_camera(const Observation *o, int frame, int view) {
    RendererCamera camera = {.H = o->H, .W = o->W};
    memcpy(camera.K, o->intrinsics + 9 * view, sizeof camera.K);
    memcpy(camera.world_from_camera, o->world_from_camera + 16 * (frame * o->V + view),
           sizeof camera.world_from_camera);
    return camera;
}

// Support radii R_i: from the distance to the fourth nearest particle, or r for all. *reach is the largest. `images`
// particles that follow are mirror images, which have none.
static real *particle_radii(Tape *tape, const Vpd *model, const real *position, size_t count, size_t images,
                            real *reach) {
    enum { FOURTH = 4 };
    double r = model->config.renderer.radius;
    size_t k = count > FOURTH ? FOURTH : count - 1, all = count + images;
    real *host = tape_context(tape, (all + count * FOURTH + 1) * sizeof *host), *distance2 = host + all;
    for (size_t i = count; host && i < all; i++) host[i] = 0;
    for (size_t i = 0; host && i < count; i++) host[i] = (real)r;
    if (host && model->config.renderer.radius_per_particle && count > 1) {
        int32_t *self = tape_context(tape, count * sizeof *self);
        for (size_t i = 0; self && i < count; i++) self[i] = (int32_t)i;
        KnnArgs args = {.points = count,
                        .queries = count,
                        .point = position,
                        .query = position,
                        .self = tape_upload(tape, self, count, sizeof *self),
                        .k = (int)k,
                        .index = tape_memory(tape, count * k, sizeof(int32_t)),
                        .distance2 = tape_memory(tape, count * k, sizeof(real))};
        if (!tape->device->failed) knn(tape->device, &args);
        if (!tape->device->failed)
            tape->device->nn->download(tape->device, distance2, args.distance2, count * k * sizeof(real));
        for (size_t i = 0; !tape->device->failed && i < count; i++) {
            double fourth = 1.25 * sqrt((double)distance2[i * k + k - 1]);
            host[i] = (real)fmin(fmax(fourth, 0.6 * r), 2.3 * r);
        }
    }
    *reach = host ? renderer_reach(count, host) : 0;
    return tape_upload(tape, host, all, sizeof *host);
}

BodyScales vpd_body_scales(const Vpd *model) { return body_scales(model->config.data.extent); }

// Not train.seed: the fields of one run serve those of other seeds.
enum { MOTION_SEED = 1 };

MotionOptions vpd_motion_options(const Vpd *model) {
    const Config *c = &model->config;
    return (MotionOptions){.crop = c->data.crop,
                           .flags = vpd_has_bodies(model),
                           .velocity = vpd_has_bodies(model),
                           .moving_threshold = c->gnn.moving_threshold,
                           .colour_length = c->gnn.colour_length,
                           .extent = c->data.extent,
                           .seed = MOTION_SEED};
}

Status vpd_observe(Tape *tape, const Vpd *model, const Observation *history, MotionSeen *out, Error *err) {
    MotionOptions options = vpd_motion_options(model);
    vpd_part(tape, VPD_ENCODER);
    return motion_observe(tape, &options, history, out, err);
}

// Bodies need no particles of frames before the last, because the motion seen in the input tells where they were.
static int first_set(const Vpd *model) { return vpd_has_bodies(model) ? (int)model->config.model.T - 1 : 0; }

// Particles of disputed bodies go.
static void keep_particles(Chosen *chosen, SceneBodies *bodies) {
    size_t kept = 0;
    for (size_t i = 0; i < bodies->count; i++) {
        if (bodies->body[i] == BODY_DISPUTED) continue;
        memmove(chosen->position + 3 * kept, chosen->position + 3 * i, 3 * sizeof *chosen->position);
        memmove(chosen->colour + 3 * kept, chosen->colour + 3 * i, 3 * sizeof *chosen->colour);
        memmove(bodies->before + 3 * kept, bodies->before + 3 * i, 3 * sizeof *bodies->before);
        bodies->image[kept] = bodies->image[i];
        memmove(bodies->now + 3 * kept, bodies->now + 3 * i, 3 * sizeof *bodies->now);
        chosen->moving[kept] = chosen->moving[i];
        chosen->pixel[kept] = chosen->pixel[i];
        bodies->body[kept++] = bodies->body[i];
    }
    chosen->count = bodies->count = kept;
}

// Mirror images are particles that are not drawn. Each has the pixel of a particle near to it, so that it has a label
// and features too. Returns their number.
static size_t add_images(Tape *tape, const Observation *history, const MotionField *field, Chosen *chosen,
                         SceneBodies *bodies) {
    int32_t *like = tape_context(tape, (field->count + 1) * sizeof *like);
    if (!like) return 0;
    size_t images = scene_bodies_add_images(bodies, history, field, like);
    for (size_t k = 0; k < images; k++) {
        size_t i = chosen->count++, j = (size_t)like[k];
        memcpy(chosen->position + 3 * i, bodies->now + 3 * i, 3 * sizeof *chosen->position);
        memcpy(chosen->colour + 3 * i, chosen->colour + 3 * j, 3 * sizeof *chosen->colour);
        chosen->moving[i] = chosen->moving[j];
        chosen->pixel[i] = chosen->pixel[j];
    }
    return images;
}

// Returns the number of mirror images, which come last.
static size_t find_bodies(Tape *tape, const Vpd *model, const Observation *history, const MotionSeen *seen,
                          Chosen *chosen, Scene *scene) {
    const Config *c = &model->config;
    scene->bodies = scene_bodies_of(tape, history, &seen->field, c->gnn.colour_length, c->data.extent, chosen->count,
                                    chosen->position, chosen->colour, chosen->moving);
    if (tape->device->failed) return 0;
    keep_particles(chosen, &scene->bodies);
    return add_images(tape, history, &seen->field, chosen, &scene->bodies);
}

Status vpd_place(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history, const MotionSeen *seen,
                 SceneKey key, Scene *scene, Error *err) {
    int T = (int)model->config.model.T, first = first_set(model);
    CHECK_EQ(history->F, T);
    CHECK(!seen->moving || (seen->frames == (size_t)T && seen->flag_bytes == motion_flag_bytes(history)));
    Chosen chosen = {0};
    size_t images = 0;
    *scene = (Scene){.key = key, .sets.count = (size_t)(T - first)};
    vpd_part(tape, VPD_ENCODER);
    for (int t = first; t < T; t++) {
        Status status = choose_frame(tape, model, workspace, history, t, seen, key, &chosen, err);
        if (status != STATUS_OK) return status;
        if (vpd_has_bodies(model)) images = find_bodies(tape, model, history, seen, &chosen, scene);
        scene->sets.set[t - first] = (GnnSet){.x = tape_constant(tape, chosen.count, 3, chosen.position),
                                              .c = tape_upload(tape, chosen.colour, 3 * chosen.count, sizeof(real))};
        scene->pixel[t - first] = chosen.pixel;
    }
    if (chosen.count == 0)
        return error_set(err, STATUS_BAD_INPUT, "no valid depth in any input image%s",
                         model->config.data.crop ? " within the workspace box (data.crop)" : "");
    scene->radius =
        particle_radii(tape, model, scene_present(scene)->x->value, chosen.count - images, images, &scene->reach);
    scene->step = vpd_has_bodies(model) ? &workspace->step : NULL;
    scene->colour = chosen.colour;
    scene->moving = chosen.moving;
    observation_background(history, scene->background);
    return device_status(tape->device, err);
}

// Features of scenes whose images have one size, in one call of the encoder.
static void encode_images(Tape *tape, const Vpd *model, size_t count, const Observation *const *histories,
                          Scene *const *scenes) {
    size_t row = 0;
    ImageShape shape = {0, (size_t)histories[0]->H, (size_t)histories[0]->W};
    for (size_t b = 0; b < count; b++) shape.n += scenes[b]->sets.count * (size_t)histories[b]->V;
    Tensor *images =
        encoder_input(tape, &model->encoder, count, histories, first_set(model), (int)scenes[0]->sets.count);
    Tensor *pixels = encoder_pixels(tape, &model->encoder, images, shape);
    for (size_t b = 0; b < count; b++)
        for (size_t t = 0; t < scenes[b]->sets.count; t++, row += observation_pixels(histories[b])) {
            GnnSet *set = &scenes[b]->sets.set[t];
            set->f = chosen_features(tape, model, pixels, row, set, scenes[b]->pixel[t]);
        }
}

Status vpd_add_features(Tape *tape, const Vpd *model, size_t count, const Observation *const *histories,
                        Scene *const *scenes, Error *err) {
    const Observation **same = tape_context(tape, count * sizeof *same);
    Scene **theirs = tape_context(tape, count * sizeof *theirs);
    bool *done = tape_context(tape, count);
    vpd_part(tape, VPD_ENCODER);
    for (size_t first = 0; first < count && !tape->device->failed; first++) {
        size_t found = 0;
        for (size_t b = first; b < count; b++) {
            if (done[b] || histories[b]->H != histories[first]->H || histories[b]->W != histories[first]->W) continue;
            done[b] = true;
            same[found] = histories[b], theirs[found++] = scenes[b];
        }
        if (found) encode_images(tape, model, found, same, theirs);
    }
    return device_status(tape->device, err);
}

Status vpd_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                  const MotionSeen *seen, SceneKey key, Scene *scene, Error *err) {
    Status status = vpd_place(tape, model, workspace, history, seen, key, scene, err);
    return status == STATUS_OK ? vpd_add_features(tape, model, 1, &history, &scene, err) : status;
}

Status vpd_observe_and_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                              SceneKey key, Scene *scene, Error *err) {
    MotionSeen seen;
    Status status = vpd_observe(tape, model, history, &seen, err);
    if (status == STATUS_OK) status = vpd_encode(tape, model, workspace, history, &seen, key, scene, err);
    motion_seen_free(&seen);
    return status;
}

// ---- one step

void vpd_plan(Tape *tape, const Vpd *model, const Scene *scene, GnnPlan *plan) {
    GnnPlanInput input = {.sets = scene->sets,
                          .seed = scene->key.seed,
                          .step = scene->key.step,
                          .episode = scene->key.episode,
                          .rollout_step = scene->rollout_step};
    gnn_plan_make(tape, &model->dynamics->config, &input, plan);
}

// Arguments of tape_checkpoint: a step with tensors x0, f0, x1, f1, ..
typedef struct StepSegment {
    const Vpd *model;
    GnnSets sets;
    const GnnPlan *plan;
} StepSegment;

static void run_segment(Tape *tape, void *context, Tensor *const *inputs, Tensor **outputs) {
    StepSegment *segment = context;
    GnnSets sets = segment->sets;
    for (size_t t = 0; t < sets.count; t++) {
        sets.set[t].x = inputs[2 * t];
        sets.set[t].f = inputs[2 * t + 1];
    }
    DynamicsOutput out;
    dynamics_step(tape, segment->model->dynamics, segment->plan, &sets, &out);
    outputs[0] = out.dx;
    outputs[1] = out.x;
    outputs[2] = out.f;
}

static void run_checkpointed(Tape *tape, const Vpd *model, const Scene *scene, const GnnPlan *plan,
                             DynamicsOutput *out) {
    Tensor *inputs[2 * GNN_MAX_SETS], *outputs[3];
    StepSegment *segment = tape_context(tape, sizeof *segment);
    GnnPlan *kept = tape_context(tape, sizeof *kept);
    *out = (DynamicsOutput){0};
    if (!segment || !kept) return;
    *kept = *plan;
    *segment = (StepSegment){model, scene->sets, kept};
    for (size_t t = 0; t < scene->sets.count; t++) {
        inputs[2 * t] = scene->sets.set[t].x;
        inputs[2 * t + 1] = scene->sets.set[t].f;
    }
    tape_checkpoint(tape, run_segment, segment, 2 * scene->sets.count, inputs, 3, outputs);
    *out = (DynamicsOutput){.dx = outputs[0], .x = outputs[1], .f = outputs[2]};
}

StepOutput vpd_move(Tape *tape, const Vpd *model, Scene *scene, const GnnPlan *plan) {
    GnnSet next = *scene_present(scene);
    StepOutput step = {0};
    if (vpd_has_dynamics(model)) {
        bool again = model->config.train.checkpoint_steps && tape->recording;
        DynamicsOutput out;
        if (again) run_checkpointed(tape, model, scene, plan, &out);
        else dynamics_step(tape, model->dynamics, plan, &scene->sets, &out);
        if (tape->device->failed) return step;
        next.x = out.x;
        next.f = out.f;
        step = (StepOutput){out.dx, out.h};
    }
    memmove(scene->sets.set, scene->sets.set + 1, (scene->sets.count - 1) * sizeof *scene->sets.set);
    *scene_present(scene) = next;
    scene->rollout_step++;
    return step;
}

// A step of rigid bodies. The new positions carry no gradient.
static StepOutput step_bodies(Tape *tape, const Vpd *model, Scene *scene) {
    BodyScales scales = vpd_body_scales(model);
    SceneBodies *bodies = &scene->bodies;
    body_step(tape, &model->bodies, &scales, scene->step, bodies);
    real *dx = tape_context(tape, (3 * bodies->count + 1) * sizeof *dx);
    if (!dx) return (StepOutput){0};
    for (size_t i = 0; i < 3 * bodies->count; i++) dx[i] = bodies->now[i] - bodies->before[i];
    scene_present(scene)->x = tape_constant(tape, bodies->count, 3, bodies->now);
    scene->rollout_step++;
    return (StepOutput){.dx = tape_constant(tape, bodies->count, 3, dx)};
}

StepOutput vpd_step(Tape *tape, const Vpd *model, Scene *scene) {
    vpd_part(tape, VPD_DYNAMICS);
    if (vpd_has_bodies(model)) return step_bodies(tape, model, scene);
    GnnPlan *plan = tape_context(tape, sizeof *plan);
    if (!plan) return (StepOutput){0};
    if (vpd_has_dynamics(model)) vpd_plan(tape, model, scene, plan);
    return vpd_move(tape, model, scene, plan);
}

// ---- drawing

RendererParticles vpd_particles(const Scene *scene) {
    const GnnSet *present = &scene->sets.set[scene->sets.count - 1];
    return (RendererParticles){present->x, present->f, scene->radius, scene->reach};
}

RendererOutput vpd_render(Tape *tape, const Vpd *model, const Scene *scene, size_t count, const real *origin,
                          const real *direction, const real *jitter, RendererSamples **samples) {
    vpd_part(tape, VPD_RENDERER);
    RendererParticles particles = vpd_particles(scene);
    RendererRays *rays = renderer_rays(tape, count, origin, direction, jitter, scene->background);
    RendererSamples *placed = samples ? *samples : NULL;
    if (!placed)
        placed = renderer_place_samples(tape, &model->renderer,
                                        renderer_index_build(tape, &model->renderer, &particles), rays);
    if (samples) *samples = placed;
    return renderer_forward(tape, &model->renderer, &particles, rays, placed);
}
