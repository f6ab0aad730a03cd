// SPDX-License-Identifier: Apache-2.0
#include "model/vpd.h"

#include "base/time_step.h"
#include "base/vector.h"
#include "model/memory.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/rows.h"

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

// Declares the parameters, which get no memory yet.
static Status declare(Vpd *model, Device *device, Error *err) {
    const Config *c = &model->config;
    EncoderConfig encoder = encoder_config(c);
    GnnConfig gnn = gnn_config(c);
    RendererConfig renderer = renderer_config(c);
    parameters_init(&model->parameters, device);
    encoder_create(&model->encoder, &model->parameters, &encoder);
    Status status = dynamics_create(&model->parameters, &gnn, &model->dynamics, err);
    if (has_bodies(c)) body_network_create(&model->parameters, (size_t)c->model.C, (size_t)c->gnn.L, &model->bodies);
    renderer_create(&model->renderer, &model->parameters, &renderer);
    return status;
}

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
    status = declare(model, device, err);
    if (status == STATUS_OK) status = parameters_allocate(&model->parameters, (uint32_t)config->train.seed, err);
    if (status == STATUS_OK) *out = model;
    else vpd_free(model);
    return status;
}

Status memory_count_weights(const Config *config, double *weights, Error *err) {
    Device none = {.name = "none"};
    Vpd model = {.config = *config};
    Status status = declare(&model, &none, err);
    if (status == STATUS_OK && model.parameters.failed)
        status = error_set(err, STATUS_FAILED, "out of memory for a model");
    *weights = (double)model.parameters.size;
    dynamics_free(model.dynamics);
    parameters_free(&model.parameters);
    return status;
}

void vpd_free(Vpd *model) {
    if (!model) return;
    dynamics_free(model->dynamics);
    parameters_free(&model->parameters);
    free(model);
}

void workspace_free(Workspace *workspace) {
    for (size_t f = 0; f < workspace->frames; f++) {
        point_cloud_free(&workspace->clouds[f]);
        selection_free(&workspace->selections[f]);
    }
    free(workspace->clouds);
    free(workspace->selections);
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

// ---- one step

// Set t of all scenes, one behind the other. The scenes' own become rows of it.
static GnnSet join_set(Tape *tape, size_t count, Scene *const *scenes, size_t t) {
    GnnSet all = scenes[0]->sets.set[t];
    Tensor **x = tape_context(tape, count * sizeof *x), **f = tape_context(tape, count * sizeof *f);
    if (tape->device->failed) return all;
    for (size_t s = 0; s < count; s++) x[s] = scenes[s]->sets.set[t].x, f[s] = scenes[s]->sets.set[t].f;
    all = (GnnSet){.x = join_rows(tape, count, x), .f = join_rows(tape, count, f)};
    for (size_t s = 0; s < count; s++) scenes[s]->sets.set[t].x = x[s], scenes[s]->sets.set[t].f = f[s];
    return all;
}

static GnnSets join_sets(Tape *tape, size_t count, Scene *const *scenes) {
    GnnSets all = scenes[0]->sets;
    for (size_t t = 0; t < all.count; t++) all.set[t] = join_set(tape, count, scenes, t);
    return all;
}

void vpd_plan(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, GnnPlan *plan) {
    GnnPlanInput *inputs = tape_context(tape, count * sizeof *inputs);
    join_sets(tape, count, scenes);
    for (size_t s = 0; inputs && s < count; s++)
        inputs[s] = (GnnPlanInput){.sets = scenes[s]->sets,
                                   .seed = scenes[s]->key.seed,
                                   .step = scenes[s]->key.step,
                                   .episode = scenes[s]->key.episode,
                                   .rollout_step = scenes[s]->rollout_step};
    if (!tape->device->failed) gnn_plan_make(tape, &model->dynamics->config, count, inputs, plan);
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

static void run_checkpointed(Tape *tape, const Vpd *model, const GnnSets *sets, const GnnPlan *plan,
                             DynamicsOutput *out) {
    Tensor *inputs[2 * GNN_MAX_SETS], *outputs[3];
    StepSegment *segment = tape_context(tape, sizeof *segment);
    GnnPlan *kept = tape_context(tape, sizeof *kept);
    *out = (DynamicsOutput){0};
    if (!segment || !kept) return;
    *kept = *plan;
    *segment = (StepSegment){model, *sets, kept};
    for (size_t t = 0; t < sets->count; t++) {
        inputs[2 * t] = sets->set[t].x;
        inputs[2 * t + 1] = sets->set[t].f;
    }
    tape_checkpoint(tape, run_segment, segment, 2 * sets->count, inputs, 3, outputs);
    *out = (DynamicsOutput){.dx = outputs[0], .x = outputs[1], .f = outputs[2]};
}

// The rows of a scene among those of all; NULL if there are none.
static Tensor *rows_of(Tape *tape, Tensor *all, size_t first, size_t rows) {
    return all ? tensor_rows(tape, all, first, rows) : NULL;
}

void vpd_move(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, const GnnPlan *plan, StepOutput *out) {
    GnnSets sets = join_sets(tape, count, scenes);
    bool moves = vpd_has_dynamics(model), again = model->config.train.checkpoint_steps && tape->recording;
    DynamicsOutput all = {.x = sets.set[sets.count - 1].x, .f = sets.set[sets.count - 1].f};
    if (moves && again) run_checkpointed(tape, model, &sets, plan, &all);
    else if (moves) dynamics_step(tape, model->dynamics, plan, &sets, &all);
    size_t row = 0;
    for (size_t s = 0; s < count && !tape->device->failed; s++) {
        Scene *scene = scenes[s];
        GnnSet next = *scene_present(scene);
        size_t rows = next.x->rows, node = moves ? plan->first_node[s] : 0;
        next.x = rows_of(tape, all.x, row, rows);
        next.f = rows_of(tape, all.f, row, rows);
        out[s] = (StepOutput){rows_of(tape, all.dx, row, rows),
                              all.h ? rows_of(tape, all.h, node, plan->first_node[s + 1] - node) : NULL};
        memmove(scene->sets.set, scene->sets.set + 1, (scene->sets.count - 1) * sizeof *scene->sets.set);
        *scene_present(scene) = next;
        scene->rollout_step++;
        row += rows;
    }
}

BodyScales vpd_body_scales(const Vpd *model) { return body_scales(model->config.data.extent); }

// How many times as long as the time step that was learned; 1 if it is the same or not known.
static double rate_ratio(const Vpd *model, double time_step) {
    double learned = model->config.data.time_step;
    bool known = learned > 0 && time_step > 0;
    return known && !time_step_same(time_step, learned) ? time_step / learned : 1;
}

double vpd_scale(const Vpd *model, double time_step) {
    double ratio = rate_ratio(model, time_step);
    return 1 / (ratio * ratio);
}

bool vpd_moves_at(const Vpd *model, double time_step) {
    double most = (1 + TIME_STEP_SAME) * (vpd_has_bodies(model) ? 4 : 1), ratio = rate_ratio(model, time_step);
    return ratio <= most && 1 / ratio <= most;
}

// Shadows of all scenes before the first step. Their features come to the host at once.
static void find_shadows(Tape *tape, size_t count, Scene *const *scenes) {
    bool lit = false;
    for (size_t s = 0; s < count; s++) lit = lit || vector_dot(scenes[s]->light, scenes[s]->light) > 0;
    if (!lit || tape->device->failed) return;
    const Tensor *f = join_set(tape, count, scenes, scenes[0]->sets.count - 1).f;
    real *feature = tape_context(tape, (f->rows * f->cols + 1) * sizeof *feature);
    if (!feature) return;
    tape->device->nn->download(tape->device, feature, f->value, f->rows * f->cols * sizeof *feature);
    ShadeMemory memory = {tape->device, &tape->host};
    for (size_t s = 0; s < count; s++) {
        Scene *scene = scenes[s];
        ShadeScene present = {scene->bodies.count, scene->bodies.now, scene->bodies.body};
        scene->features = scene_present(scene)->f;
        if (vector_dot(scene->light, scene->light) > 0)
            scene->shadows = shadows_find(memory, &present, scene->light, f->cols, feature);
        feature += f->cols * present.count;
    }
}

// How the features of all particles change (rows, D) as shadows go with the bodies.
static Tensor *add_changes(Tape *tape, size_t count, Scene *const *scenes, size_t rows, TapeUpload *upload) {
    size_t D = scenes[0]->features->cols;
    Tensor *change = tape_constant_at(tape, rows, D, upload->device + upload->added);
    for (size_t s = 0; s < count; s++) {
        size_t numbers = D * scenes[s]->bodies.count;
        const real *by = scenes[s]->shadows ? shadows_change(tape, scenes[s]->shadows, scenes[s]->bodies.now)
                                            : tape_context(tape, (numbers + 1) * sizeof *by);
        if (!by) break;
        tape_upload_add(upload, numbers, by);
    }
    return change;
}

// Where shadows fall carries no gradient.
static void move_shadows(Tape *tape, size_t count, Scene *const *scenes, Tensor *change) {
    Tensor **f = tape_context(tape, count * sizeof *f);
    for (size_t s = 0; f && s < count; s++) f[s] = scenes[s]->features;
    if (!f) return;
    Tensor *all = tensor_add(tape, join_rows(tape, count, f), change);
    for (size_t s = 0, row = 0; s < count; row += scenes[s++]->bodies.count)
        scene_present(scenes[s])->f = tensor_rows(tape, all, row, scenes[s]->bodies.count);
}

// The bodies' new places, which carry no gradient, and how far particles have come.
static void move_particles(Tape *tape, size_t count, Scene *const *scenes, size_t rows, TapeUpload *upload,
                           StepOutput *out) {
    Tensor *x = tape_constant_at(tape, rows, 3, upload->device + upload->added), *dx;
    for (size_t s = 0, row = 0; s < count; row += scenes[s++]->bodies.count) {
        const SceneBodies *bodies = &scenes[s]->bodies;
        tape_upload_add(upload, 3 * bodies->count, bodies->now);
        scene_present(scenes[s])->x = tensor_rows(tape, x, row, bodies->count);
    }
    dx = tape_constant_at(tape, rows, 3, upload->device + upload->added);
    for (size_t s = 0, row = 0; s < count; row += scenes[s++]->bodies.count) {
        const SceneBodies *bodies = &scenes[s]->bodies;
        real *by = tape_context(tape, (3 * bodies->count + 1) * sizeof *by);
        if (!by) return;
        for (size_t i = 0; i < 3 * bodies->count; i++) by[i] = bodies->now[i] - bodies->before[i];
        tape_upload_add(upload, 3 * bodies->count, by);
        out[s].dx = tensor_rows(tape, dx, row, bodies->count);
    }
}

// What follows from the bodies' new places goes to the device at once.
static void bodies_moved(Tape *tape, size_t count, Scene *const *scenes, StepOutput *out) {
    size_t rows = 0, changes = 0;
    bool shadows = false;
    for (size_t s = 0; s < count; s++) {
        shadows = shadows || scenes[s]->shadows;
        rows += scenes[s]->bodies.count;
        scenes[s]->rollout_step++;
    }
    if (shadows) changes = rows * scenes[0]->features->cols;
    TapeUpload upload;
    if (!tape_upload_begin(tape, 6 * rows + changes, &upload)) return;
    move_particles(tape, count, scenes, rows, &upload, out);
    Tensor *change = shadows ? add_changes(tape, count, scenes, rows, &upload) : NULL;
    if (tape->device->failed) return;
    tape_upload_end(&upload);
    if (change) move_shadows(tape, count, scenes, change);
}

static void step_bodies(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, StepOutput *out) {
    BodyScales scales = vpd_body_scales(model);
    SceneBodies **bodies = tape_context(tape, count * sizeof *bodies);
    for (size_t s = 0; bodies && s < count; s++) bodies[s] = &scenes[s]->bodies;
    if (scenes[0]->rollout_step == 0) find_shadows(tape, count, scenes);
    if (tape->device->failed) return;
    body_step(tape, &model->bodies, &scales, scenes[0]->step, count, bodies);
    if (!tape->device->failed) bodies_moved(tape, count, scenes, out);
}

void vpd_steps(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, StepOutput *out) {
    memset(out, 0, count * sizeof *out);
    vpd_part(tape, VPD_DYNAMICS);
    if (vpd_has_bodies(model)) {
        step_bodies(tape, model, count, scenes, out);
        return;
    }
    GnnPlan *plan = tape_context(tape, sizeof *plan);
    if (!plan) return;
    if (vpd_has_dynamics(model)) vpd_plan(tape, model, count, scenes, plan);
    if (!tape->device->failed) vpd_move(tape, model, count, scenes, plan, out);
}

StepOutput vpd_step(Tape *tape, const Vpd *model, Scene *scene) {
    StepOutput out;
    vpd_steps(tape, model, 1, &scene, &out);
    return out;
}

// ---- drawing

RendererCamera observation_camera(const Observation *o, int frame, int view) {
    RendererCamera camera = {.H = o->H, .W = o->W};
    memcpy(camera.K, o->intrinsics + 9 * view, sizeof camera.K);
    memcpy(camera.world_from_camera, o->world_from_camera + 16 * (frame * o->V + view),
           sizeof camera.world_from_camera);
    return camera;
}

RendererParticles vpd_particles(const Scene *scene) {
    const GnnSet *present = &scene->sets.set[scene->sets.count - 1];
    return (RendererParticles){.x = present->x, .f = present->f, .radius = scene->radius->value, .reach = scene->reach};
}

// The present particles of all scenes, one behind the other.
static RendererParticles join_particles(Tape *tape, size_t count, Scene *const *scenes) {
    GnnSet present = join_set(tape, count, scenes, scenes[0]->sets.count - 1);
    RendererParticles all = {.x = present.x, .f = present.f};
    Tensor **radius = tape_context(tape, count * sizeof *radius);
    if (!radius) return all;
    for (size_t s = 0; s < count; s++) radius[s] = scenes[s]->radius;
    all.radius = join_rows(tape, count, radius)->value;
    for (size_t s = 0; s < count; s++) {
        scenes[s]->radius = radius[s];
        all.reach = scenes[s]->reach > all.reach ? scenes[s]->reach : all.reach;
    }
    return all;
}

// Where the particles and the rays of each scene begin.
static void set_scene_rows(Tape *tape, size_t count, Scene *const *scenes, const size_t *per_scene,
                           RendererParticles *particles, RendererRays *rays) {
    int32_t *host = tape_context(tape, 2 * (count + 1) * sizeof *host), *particle = host, *ray = host + count + 1;
    SceneRows all = {.scenes = count}, drawn = {.scenes = count};
    for (size_t s = 0; host && s < count; s++) {
        size_t present = scene_present(scenes[s])->x->rows;
        particle[s + 1] = particle[s] + (int32_t)present;
        ray[s + 1] = ray[s] + (int32_t)per_scene[s];
        particles->most = present > particles->most ? present : particles->most;
    }
    all.first = tape_upload(tape, host, 2 * (count + 1), sizeof *host);
    if (tape->device->failed) return;
    drawn.first = all.first + count + 1;
    particles->scenes = all;
    rays->scenes = drawn;
}

// The background of each ray's scene.
static Tensor *ray_backgrounds(Tape *tape, size_t count, Scene *const *scenes, const size_t *per_scene, size_t all) {
    real *host = tape_context(tape, (3 * all + 1) * sizeof *host), *next = host;
    for (size_t s = 0; host && s < count; s++)
        for (size_t r = 0; r < per_scene[s]; r++, next += 3) memcpy(next, scenes[s]->background, 3 * sizeof *next);
    return tape_constant(tape, all, 3, host);
}

static RendererSamples *place_samples(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                                      const RendererRays *rays) {
    return renderer_place_samples(tape, renderer, renderer_index_build(tape, renderer, particles), rays);
}

RendererOutput vpd_render(Tape *tape, const Vpd *model, const Scene *scene, size_t count, const real *origin,
                          const real *direction, const real *jitter, RendererSamples **samples) {
    vpd_part(tape, VPD_RENDERER);
    RendererParticles particles = vpd_particles(scene);
    RendererRays *rays = renderer_rays(tape, count, origin, direction, jitter, scene->background);
    RendererSamples *placed = samples ? *samples : NULL;
    if (!placed) placed = place_samples(tape, &model->renderer, &particles, rays);
    if (samples) *samples = placed;
    return renderer_forward(tape, &model->renderer, &particles, rays, placed);
}

RendererOutput vpd_renders(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, const SceneRays *rays) {
    if (count == 1)
        return vpd_render(tape, model, scenes[0], rays->count[0], rays->origin, rays->direction, rays->jitter, NULL);
    size_t all = 0;
    for (size_t s = 0; s < count; s++) all += rays->count[s];
    vpd_part(tape, VPD_RENDERER);
    RendererParticles particles = join_particles(tape, count, scenes);
    RendererRays *drawn = renderer_rays(tape, all, rays->origin, rays->direction, rays->jitter, NULL);
    set_scene_rows(tape, count, scenes, rays->count, &particles, drawn);
    if (!tape->device->failed && model->renderer.config.background == BACKGROUND_MEAN)
        drawn->background = ray_backgrounds(tape, count, scenes, rays->count, all);
    RendererSamples *placed = place_samples(tape, &model->renderer, &particles, drawn);
    return renderer_forward(tape, &model->renderer, &particles, drawn, placed);
}
