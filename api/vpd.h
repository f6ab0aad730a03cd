// SPDX-License-Identifier: Apache-2.0
// vpd as a library (libvpd.so): open a trained model, turn posed RGB-D frames into particles, step them, draw them from
// any camera, edit them, save and export them; and import data, check them, train a model and evaluate it.
//
//   vpd_model *model;  vpd_scene *scene;  vpd_error err;
//   if (vpd_model_open("runs/a", NULL, &model, &err)) ...              // err.text says in one sentence what is wrong
//   if (vpd_scene_episode(model, "my.h5", NULL, -1, &scene, &err)) ... // or vpd_scene_encode: frames in memory
//   if (vpd_scene_edit(scene, 0, "remove: {label: object 0}", NULL, NULL, &err)) ...
//   if (vpd_scene_step(scene, 10, &err)) ...
//   if (vpd_scene_camera(scene, 10, 0, &view, &err) || vpd_scene_render(scene, 10, &view, &picture, &err)) ...
//   vpd_scene_free(scene);  vpd_model_close(model);
//
// - Every function that can fail returns a vpd_status and fills `err`, which may be NULL. Nothing here prints, ends the
//   process or catches a signal. A NULL where an object or array is needed is VPD_BAD_INPUT.
// - Signals for which the process has a handler wait while a call computes, in the calling thread and in OpenMP's (the
//   code of oneDNN 2.6 does not survive a handler on its thread). They are delivered when the call returns, or to
//   another thread at once.
// - Structs begin with struct_size, which the caller sets to sizeof of the struct, also of one that is filled in. So
//   later versions can add members at the end; a library that is older than the header refuses a struct it does not
//   know.
// - Any number of threads may use any number of models at once. Calls on one model and its scenes wait for one
//   another; a scene's pointers must not be read while another thread changes that scene.
// - The same frames, name, number of threads and machine give the same bits.
// - A waiting thread spins for a while (OpenMP's habit): set OMP_WAIT_POLICY=passive in the environment before the
//   library is loaded where processors are shared.
//
// Units: metres, seconds, world coordinates. Cameras are OpenCV's: x right, y down, z forward, pixel centres at (u +
// 0.5, v + 0.5), depth along z. Matrices are row-major, images channel-last. Shapes stand behind each array.
#ifndef VPD_H
#define VPD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VPD_API_VERSION 1

typedef enum vpd_status {
    VPD_OK = 0,
    VPD_FAILED = 1,    // the machine failed: no memory, a full disk
    VPD_BAD_INPUT = 2, // a file, array or value is wrong
    VPD_STOPPED = 3    // a long call ended early because vpd_stop or a signal asked it to
} vpd_status;

typedef struct vpd_error {
    vpd_status status;
    char text[1024]; // one sentence; "" after VPD_OK
} vpd_error;

const char *vpd_library_version(void); // "0.1.0"
const char *vpd_library_commit(void);  // "3ab418e"; "unknown" when built outside git
int vpd_library_api(void);             // VPD_API_VERSION of the library

// Asks the long calls that are under way in this process to end early with VPD_STOPPED. Without one it does nothing.
// Any thread may call it, a signal handler too. Long calls: vpd_train, vpd_model_evaluate, vpd_data_check,
// vpd_data_import, vpd_scene_episode, vpd_scene_encode, vpd_scene_step, vpd_scene_render, vpd_sim_rollout,
// vpd_sim_adjoint, vpd_sim_fit. SIGINT, SIGTERM and SIGHUP that wait for the calling thread end them too.
void vpd_stop(void);

// Frees a text that a function below returned. Accepts NULL.
void vpd_text_free(char *text);

// ---- a model

typedef struct vpd_model vpd_model;

typedef struct vpd_open_options {
    size_t struct_size;
    const char *device; // "auto", "cpu", "cpu:avx2", "cuda", "cuda:1"; NULL: auto (a GPU that agrees with the CPU)
    int threads;        // 0: what the process may use (affinity, cgroup, VPD_THREADS)
    int raw;            // 1: the weights as the optimiser left them, not their moving average
} vpd_open_options;

// `path`: a checkpoint, or the folder of a run (its best checkpoint, else its latest). `options` may be NULL.
vpd_status vpd_model_open(const char *path, const vpd_open_options *options, vpd_model **out, vpd_error *err);
// Accepts NULL. Scenes of the model stay valid: it goes when the last of them is freed.
void vpd_model_close(vpd_model *model);

// Texts live as long as the model.
typedef struct vpd_model_facts {
    size_t struct_size;
    int history;            // T: frames that it sees before a rollout
    int features;           // D: features of each particle beside its position
    int particles_max;      // N: particles per frame at most
    int has_dynamics;       // 0: it draws, but cannot predict motion
    double time_step;       // seconds between the frames that it learned from; 0: it was trained on single frames
    double radius;          // metres: support radius of a particle in the renderer
    int64_t train_step;     // optimiser steps of the weights
    const char *path;       // of the checkpoint's file, absolute
    const char *hash;       // of its content
    const char *device;     // "cpu avx512, 2 threads"
    const char *note;       // "" or a warning about a damaged file that was skipped
    const char *device_why; // "", or why "auto" chose the CPU instead of the GPU
} vpd_model_facts;

vpd_status vpd_model_get_facts(const vpd_model *model, vpd_model_facts *out, vpd_error *err);

// ---- a scene: the particles of one recording, and of every step behind it

typedef struct vpd_scene vpd_scene;

// What the model is given. The arrays are the caller's and are read during the call alone. Points that are spread over
// a hundred times the model's scene, or `bounds`, or the reverse, are VPD_BAD_INPUT: depth in millimetres. A step of
// the scene is as long as the time between its frames, which may differ from the model's time_step by a factor of 4 (a
// model without bodies: by 20 %), and had better stay within 1.5. Give `time` where it does: else things fall too fast
// or slow.
typedef struct vpd_frames {
    size_t struct_size;
    int F, V, H, W;                  // F = history of the model, oldest first; views; rows; columns
    const uint8_t *rgb;              // (F,V,H,W,3)
    const float *depth;              // (F,V,H,W) metres along camera z, finite, 0 = missing
    const double *intrinsics;        // (V,3,3) [fx s cx; 0 fy cy; 0 0 1] pixels
    const double *world_from_camera; // (F,V,4,4) rigid poses
    const double *time;              // (F) seconds, evenly spaced; NULL: by the model's time_step
    const uint16_t *mask;            // (F,V,H,W) 0 = background, k+1 = object k: labels of the particles; or NULL
    const double *bounds;            // (2,3) workspace box, lower and upper corner; or NULL
    const char *name; // keys the random choices together with the model's seed, as an episode's name does; NULL: ""
} vpd_frames;

vpd_status vpd_scene_encode(vpd_model *model, const vpd_frames *frames, vpd_scene **out, vpd_error *err);

// From a data set (docs/data.md), as `vpd rollout` does. `episode` is a name or number, NULL the first test episode;
// `start` is the present frame, -1 the earliest that has its history before it.
vpd_status vpd_scene_episode(vpd_model *model, const char *dataset, const char *episode, int start, vpd_scene **out,
                             vpd_error *err);

// A file of format vpd-rollout or vpd-particles (docs/rollouts.md) that this model's weights made, and back.
vpd_status vpd_scene_read(vpd_model *model, const char *path, vpd_scene **out, vpd_error *err);
vpd_status vpd_scene_write(const vpd_scene *scene, const char *path, vpd_error *err);

vpd_status vpd_scene_copy(const vpd_scene *scene, vpd_scene **out, vpd_error *err);
void vpd_scene_free(vpd_scene *scene); // accepts NULL

// Texts live until the scene changes.
typedef struct vpd_scene_facts {
    size_t struct_size;
    size_t particles;        // N, the same at every step
    size_t features;         // D
    size_t steps;            // steps behind the present frame so far
    double time_step;        // seconds of one step
    int cameras;             // the recording's
    int height, width;       // of their pictures
    float background[3];     // rgb in [0,1] of rays that meet no particle
    const char *name;        // of the episode
    const char *label_names; // one line per label; "" when there are no labels
} vpd_scene_facts;

vpd_status vpd_scene_get_facts(const vpd_scene *scene, vpd_scene_facts *out, vpd_error *err);

// Particles of one step, without a copy: valid until the scene is stepped, rewound, edited or freed.
typedef struct vpd_particle_arrays {
    size_t struct_size;
    size_t count, features; // N, D
    double time;            // seconds
    const float *positions; // (N,3) metres
    const float *feature;   // (N,D); NULL when the file has none
    const uint8_t *colour;  // (N,3) of the pixel that a particle came from; or NULL
    const uint16_t *labels; // (N) 0 = background, k+1 = object k; or NULL
    const uint8_t *moving;  // (N) 1: it moved before the present frame; or NULL
    const float *radius;    // (N) metres, 0: a hidden point, which is not drawn (docs/model.md, 5.3); or NULL
    const int32_t *body;    // (N) number of its rigid body, -1: it stands still; or NULL
} vpd_particle_arrays;

// `step` 0 is the present frame of the recording.
vpd_status vpd_scene_get_particles(const vpd_scene *scene, size_t step, vpd_particle_arrays *out, vpd_error *err);

// Moves on by `steps`; the steps of an edit `simulate` that was the last one of its list are computed here. After an
// error the scene holds the steps before it.
vpd_status vpd_scene_step(vpd_scene *scene, size_t steps, vpd_error *err);
// Forgets the steps behind `step`.
vpd_status vpd_scene_rewind(vpd_scene *scene, size_t step, vpd_error *err);

// Sets the particles' positions (N,3), finite, at one step. The next step of the model reads the last two steps, so
// moving particles at the step before the last changes their velocity. Other steps do not change.
vpd_status vpd_scene_set_positions(vpd_scene *scene, size_t step, const float *positions, size_t count, vpd_error *err);

// ---- edits: docs/editing.md has every edit and selection

// Result of the functions below, filled on success; NULL: not wanted.
typedef struct vpd_edit_report {
    size_t struct_size;
    size_t before, after;    // present particles
    size_t applied, skipped; // edits; those with `if_empty: skip` that selected nothing
    const char *warnings;    // what is to be known of the edits, a sentence a line; "": nothing. The scene has it until
                             // it is edited again
} vpd_edit_report;

// Applies edits, as `vpd edit` does, to the state at `step`: it becomes step 0, with the velocities that it has, and
// the steps behind it are forgotten. `edits` is YAML: one edit, a list of them, or such a list with its version:
//     "remove: {label: object 0}"      "- cluster: {}\n- copy: {label: cluster 1, by: [0.5, 0, 0]}\n"
// Files that it names lie in `folder` (NULL: the working folder). Each edit is noted in the scene's history, which
// vpd_scene_write keeps. YAML that is not an edit, an empty selection, an unknown label and the like are VPD_BAD_INPUT;
// after an error the scene is unchanged. Pointers into the scene are no longer valid. Where `simulate` is the last
// edit, its steps are computed by vpd_scene_step, or when vpd_scene_write or another edit needs them all.
vpd_status vpd_scene_edit(vpd_scene *scene, size_t step, const char *edits, const char *folder, vpd_edit_report *report,
                          vpd_error *err);

// Appends all particles of another scene's state, of the same weights and time step, moved by `by` (3) metres (NULL:
// not moved). The scene's own state is taken from `step` as above. Labels keep their names and get new numbers; `label`
// gives all new particles one label of this name instead (1 to 127 bytes; NULL: not). To append a part, edit a copy of
// the other scene first. The other scene does not change, and may be the same one.
vpd_status vpd_scene_append(vpd_scene *scene, size_t step, const vpd_scene *other, size_t other_step,
                            const double by[3], const char *label, vpd_edit_report *report, vpd_error *err);

// Gives the particles labels (N) of the caller's, 0 = background. `names` has one line per label, that of label 0 first
// ("background\ncup\n"); NULL: the names are kept. Steps are kept. Labels by clustering are an edit, "cluster: {}";
// vpd_scene_get_particles and vpd_scene_facts tell labels and names.
vpd_status vpd_scene_set_labels(vpd_scene *scene, const uint16_t *labels, size_t count, const char *names,
                                vpd_error *err);

// ---- pictures

typedef struct vpd_view {
    size_t struct_size;
    int H, W;                     // rows and columns, 1 .. 16384
    double intrinsics[9];         // (3,3) pixels
    double world_from_camera[16]; // (4,4)
} vpd_view;

// Camera `camera` of the recording at a step.
vpd_status vpd_scene_camera(const vpd_scene *scene, size_t step, int camera, vpd_view *out, vpd_error *err);

// The caller's arrays; parts that are NULL are not drawn; all NULL is an error.
typedef struct vpd_picture {
    size_t struct_size;
    uint8_t *rgb;   // (H,W,3)
    float *colour;  // (H,W,3) the same in [0,1], not rounded
    float *depth;   // (H,W) metres along camera z, 0 = nothing there
    float *opacity; // (H,W) [0,1]
} vpd_picture;

vpd_status vpd_scene_render(const vpd_scene *scene, size_t step, const vpd_view *view, const vpd_picture *picture,
                            vpd_error *err);

// What camera `camera` recorded at a step: (H,W,3) of vpd_scene_facts. `dataset`: where the recording is now; NULL: the
// data set that the scene came from. After the end of the recording it is VPD_BAD_INPUT.
vpd_status vpd_scene_recorded(const vpd_scene *scene, const char *dataset, size_t step, int camera, uint8_t *rgb,
                              vpd_error *err);

// The scene as recorded: each object's particles (by label) follow its true poses, the others stand still; at most as
// many steps as the recording has. `dataset` as above. VPD_BAD_INPUT for data without poses of objects, particles
// without labels, and edited scenes.
vpd_status vpd_scene_truth(const vpd_scene *scene, const char *dataset, vpd_scene **out, vpd_error *err);

// ---- files for other programs (docs/rollouts.md)

typedef enum vpd_export_format {
    VPD_EXPORT_PLY = 0,  // a folder with one PLY file for each step
    VPD_EXPORT_NPZ = 1,  // all arrays for numpy
    VPD_EXPORT_GLTF = 2, // animated points as binary glTF 2.0 (.glb)
    VPD_EXPORT_USDA = 3  // animated points as USD text
} vpd_export_format;

// Writes the present frame and every step. `path`: a file, or for PLY a folder, which is made when missing. An existing
// file that is not of this format is not replaced.
vpd_status vpd_scene_export(const vpd_scene *scene, vpd_export_format format, const char *path, vpd_error *err);
// The same for a file of format vpd-rollout or vpd-particles, without a model.
vpd_status vpd_rollout_export(const char *rollout, vpd_export_format format, const char *path, vpd_error *err);

// ---- training, evaluation and data
//
// These functions return what they found as JSON, in a text that the caller frees with vpd_text_free; docs/library.md
// names the keys. `report` may be NULL where it is not wanted, and is NULL after an error. Options may be NULL, except
// those of vpd_train, which name the data and the folder; a member that is 0 or NULL means the default. Warnings are in
// the list "warnings" of the JSON.

typedef struct vpd_train_options {
    size_t struct_size;
    const char *config;     // YAML file, as `vpd init` writes it; NULL: default options
    const char *const *set; // (set_count) "key=value", applied in order after the file, as --set does
    size_t set_count;
    const char *data;   // data set: data.path
    const char *out;    // folder of the run: train.out
    int resume;         // 1: continue from the folder's latest checkpoint
    int dry_run;        // 1: a few steps that measure memory and time and write nothing
    const char *device; // as in vpd_open_options
    int threads;
    // Called on the calling thread with each line of metrics.jsonl when it has been written. When it returns something
    // other than 0, the run saves a checkpoint and ends with VPD_OK and "stopped": true. NULL: not called.
    int (*line)(void *context, const char *json);
    void *context;
} vpd_train_options;

// Trains a model as `vpd train` does, on a device of its own. `options` must not be NULL. After VPD_STOPPED a
// checkpoint of the last whole step is saved, and `resume` continues from it.
vpd_status vpd_train(const vpd_train_options *options, char **report, vpd_error *err);

typedef struct vpd_evaluate_options {
    size_t struct_size;
    const char *split;           // "train", "val", "test" or a list "val,test" (the default)
    const char *const *episodes; // (episode_count) names or numbers, in place of `split`
    size_t episode_count;
    const int *starts; // (start_count <= 16) present frames; default: the earliest and one halfway
    size_t start_count;
    const int *input_views; // (input_view_count <= 16) default: all that are not held out
    size_t input_view_count;
    int steps;            // steps to predict; 0: 12, or as many as every episode has; -1: none, only step 0
    int seen;             // 1: only pixels whose point an input view saw at step 0
    int motion;           // 1: only the motion of the particles; no pictures are drawn
    const char *pictures; // folder for the predicted pictures; NULL: none
    const int *driven;    // (driven_count <= 16) objects that move as the recording says; -1: the last. Not measured
    size_t driven_count;
    const char *analytic; // YAML, "{}" for the defaults: all bodies are simulated with these keys of the edit
                          // `simulate`; NULL: they move as the model says
} vpd_evaluate_options;

// Compares a model's predictions with a data set, as `vpd eval` does. `report` is what `vpd eval --json` writes: PSNR,
// SSIM and depth error for each step, and motion error (docs/evaluation.md).
vpd_status vpd_model_evaluate(vpd_model *model, const char *dataset, const vpd_evaluate_options *options, char **report,
                              vpd_error *err);

// Looks for wrong cameras, depth and values in a data set, as `vpd data check` does. Errors in the data are VPD_OK with
// "pass": false and a list "findings". "pass" is null, and "verdict" "not checked", where nothing could be compared.
vpd_status vpd_data_check(const char *dataset, char **report, vpd_error *err);

typedef struct vpd_import_options {
    size_t struct_size;
    const char *format;       // layout: "tum", "colmap", ..; NULL: guessed
    int height, width;        // of the pictures, in pixels; both 0: as recorded
    int every;                // every Nth picture is taken; 0: all
    int holdout;              // every Nth view is held out, 2 or more; 0: none
    int holdout_first;        // the first of them, below `holdout`
    int window;               // still scenes: an episode for each N consecutive pictures; 0: one episode
    double near, far;         // metres: depth outside is discarded; 0: the layout's own
    const double *bounds;     // (2,3) metres: workspace box, lower and upper corner; or NULL
    const char *split;        // "train" (the default), "val", "test"
    const char *name;         // of the data set; NULL: the folder's
    const char *as;           // one moving camera: "still" or "video"; NULL: as recorded
    double fps;               // frames per second, for recordings without times; 0: not given
    double gap;               // seconds between pictures that count as one moment; 0: the layout's own
    const double *intrinsics; // (intrinsics_count) fx fy cx cy [k1 k2 p1 p2 [k3]], for layouts without them; or NULL
    size_t intrinsics_count;  // 4, 8 or 9
    const char *cameras;      // JSON file with cameras, for layouts without cameras; or NULL
    const char *depth;        // folder with the depth pictures when they are elsewhere; or NULL
    double depth_unit;        // metres for each unit of the depth pictures; 0: the layout's own
    int level;                // of deflate, 1 to 9; 0: 4
    double time_unit; // seconds per unit of time stamps, for layouts that do not define it; 0: guessed from their steps
    int skip_bad;     // 1: pictures that cannot be read are left out and listed in the report as "skipped"
} vpd_import_options;

// Turns a recording in another layout into the data set `out`, as `vpd data import` does. An existing file is not
// replaced, unless it is empty. The report has how many episodes, frames and images were written.
vpd_status vpd_data_import(const char *path, const char *out, const vpd_import_options *options, char **report,
                           vpd_error *err);

// ---- the simulator (docs/simulator.md): springs, soft solids and contact, and the gradient of a rollout
//
//   vpd_sim *sim;
//   double *q = malloc(..), *dq = malloc(..), *dmass = malloc(..);    // (frames+1,B,N,3), the same, (B,N)
//   if (vpd_sim_open("scenes/ball.yaml", NULL, &sim, &err)) ...
//   if (vpd_sim_rollout(sim, NULL, 0, 1, q, NULL, &err)) ...
//   ...                                                               // dq = dLoss/dq
//   vpd_sim_array mass = {"mass", dmass, N};
//   if (vpd_sim_adjoint(sim, dq, NULL, &mass, 1, NULL, &err)) ...
//   vpd_sim_close(sim);
//
// Arrays are the caller's and are not copied: those of a rollout with gradient = 1 must stay as they are until the last
// vpd_sim_adjoint of it. B scenes of one topology step together; each has its own values.

typedef struct vpd_sim vpd_sim;

typedef struct vpd_sim_options {
    size_t struct_size;
    const char *precision; // "f32", "f64"; NULL: the scene's
    int scenes;            // B; 0: 1
    int threads;           // 0: as many as pay
    double memory_mib;     // for the states that a gradient keeps; 0: the scene's
    const char *device;    // as in vpd_open_options; NULL: cpu
} vpd_sim_options;

// `scene`: a YAML file. `options` may be NULL.
vpd_status vpd_sim_open(const char *scene, const vpd_sim_options *options, vpd_sim **out, vpd_error *err);
void vpd_sim_close(vpd_sim *sim); // accepts NULL

// Texts live as long as the simulation.
typedef struct vpd_sim_facts {
    size_t struct_size;
    size_t scenes, particles, springs, tets, hinges, materials; // B, N, ..
    size_t frames, substeps;                                    // frames after the first; steps of each
    double time_step, frame_time;                               // seconds
    double stable_step;                                         // largest stable time step, an estimate from below
    size_t values;                                              // that vpd_sim_get_value knows
    const char *precision;                                      // "f32" or "f64"
    const char *objects;                                        // their names, one a line
    const char *device;                                         // "cpu", or what vpd_sim_options.device has opened
    const char *device_why; // why "auto" took the CPU although there is a GPU back end; else ""
    const char *joints;     // names of the hinges among them, one a line: the last rows of "torque", "hinge.k_e", ..
    const char *sliders;    // names of the sliders, one a line: the first rows of "thrust", "slide.k_e", ..
    const char *balls;      // names of the ball joints that resist turning, one a line: the rows of "socket.k_e", ..
} vpd_sim_facts;

vpd_status vpd_sim_get_facts(const vpd_sim *sim, vpd_sim_facts *out, vpd_error *err);

// Something that a rollout depends on and has a gradient: "position", "mass", "tet.mu", "contact.mu", ..
typedef struct vpd_sim_value {
    size_t struct_size;
    const char *name, *unit, *help;
    size_t intervals;   // frames for controls ("force", "activation", "torque", "thrust", "drive"), else 0
    size_t rows, axes;  // shape (B,rows,axes), of controls (intervals,B,rows,axes)
    size_t count;       // numbers in all; 0: the scene has none of its kind
    double low, high;   // allowed values
    const double *data; // (count) the scene's own; NULL: none
} vpd_sim_value;

// `index` from 0.
vpd_status vpd_sim_get_value(const vpd_sim *sim, size_t index, vpd_sim_value *out, vpd_error *err);

typedef struct vpd_sim_array {
    const char *name; // of a value
    double *data;     // (count)
    size_t count;
} vpd_sim_array;

// All frames from the scene's values, or from `inputs` where they name one, each at most once. position and velocity
// (frames+1,B,N,3), or NULL. A state that is not finite is VPD_FAILED, and the error names step and element; earlier
// frames are written.
vpd_status vpd_sim_rollout(vpd_sim *sim, const vpd_sim_array *inputs, size_t input_count, int gradient,
                           double *position, double *velocity, vpd_error *err);

// Gradients of a loss from dLoss/dposition and dLoss/dvelocity (frames+1,B,N,3) of the last rollout, which had
// gradient = 1; NULL means 0. Writes dLoss/dvalue into each array of `gradients`; no name may stand there twice.
// *growth, or NULL, gets the largest factor by which the adjoint grew: far above 1e6, a right gradient is useless.
vpd_status vpd_sim_adjoint(vpd_sim *sim, const double *position, const double *velocity, const vpd_sim_array *gradients,
                           size_t gradient_count, double *growth, vpd_error *err);

// ---- fits (docs/fits.md): numbers of a scene from a recording, with standard errors
//
//   vpd_sim_free wanted[] = {{"ball.density", NAN, 50, 5000}, {"ground.mu", 0.5, NAN, NAN}};
//   vpd_sim_fit_options options = {.struct_size = sizeof options, .data = "my.h5", .free = wanted, .free_count = 2};
//   vpd_sim_fitted *fitted;
//   if (vpd_sim_fit("scene.yaml", &options, &fitted, &err)) ...
//   vpd_sim_number density = {.struct_size = sizeof density};
//   if (vpd_sim_fitted_get_number(fitted, 0, &density, &err)) ...        // density.value +- density.error
//   vpd_sim_fitted_close(fitted);

// A number of the scene file, or several: "ball.density", "ball.velocity", "values.ball.mass". NAN: as the file and its
// section "fit" say.
typedef struct vpd_sim_free {
    const char *name;
    double start, low, high; // in the unit of the file; low < high
} vpd_sim_free;

typedef struct vpd_sim_fit_options {
    size_t struct_size;
    const char *data;       // recording: a data set or a rollout file; or NULL and `position`
    const char *episode;    // of a data set, by name or number; NULL: the first
    const double *position; // (frames,N,3) metres, of every particle at the scene's times, in the scene's axes; or NULL
    size_t frames;          // of position, at least 2, the first included
    const vpd_sim_free *free;   // (free_count) in place of the scene's section "fit: {free: ..}"
    size_t free_count;          // 0: the section's
    const char *const *compare; // (compare_count) "states", "colour", "depth", "mask"
    size_t compare_count;       // 0: the section's, or states, or colour where there are none
    const char *method;         // "auto", "lm", "lbfgs", "adam"; NULL: auto
    int iterations;             // at most, for each horizon; 0: 100 (adam 300)
    int starts;                 // the given one, and others drawn from within the bounds; 0: 1
    int horizon;                // frames compared at first, then twice as many, ..; 0: an eighth
    int threads;                // 0: as many as pay
} vpd_sim_fit_options;

typedef struct vpd_sim_fitted vpd_sim_fitted;

// A long call. VPD_BAD_INPUT names file, line and number: an unknown name (with the nearest), a number that the motion
// does not depend on, a recording of other particles or times. VPD_FAILED when the rollout at the start is not finite.
vpd_status vpd_sim_fit(const char *scene, const vpd_sim_fit_options *options, vpd_sim_fitted **out, vpd_error *err);
void vpd_sim_fitted_close(vpd_sim_fitted *fitted); // accepts NULL

// Texts live as long as the fit.
typedef struct vpd_sim_fitted_facts {
    size_t struct_size;
    size_t numbers;        // that were free
    size_t frames, steps;  // compared, the first included; taken
    double rms, first_rms; // root of the mean square of the residuals at the end and at the start: metres of states and
                           // depth, shares of full colour; of several kinds, by their usual size
    int converged;         // 0: ended by `iterations`
    int has_errors;        // 0: too many numbers (above 512; of pictures, above 64), or no memory for them
    const char *scene;     // YAML: the scene's file with the fitted numbers
    const char *warnings;  // what is to be known of the result, a sentence a line; "": nothing
} vpd_sim_fitted_facts;

vpd_status vpd_sim_fitted_get_facts(const vpd_sim_fitted *fitted, vpd_sim_fitted_facts *out, vpd_error *err);

typedef struct vpd_sim_number {
    size_t struct_size;
    const char *name;
    double start, value;
    double error;        // standard error; NAN: none
    const char *verdict; // "fitted", "at its bound", "not determined": then it is, or moves along with, its start
    const char *with;    // names of those that move along with one that is not determined, one a line; "": none
} vpd_sim_number;

// `index` from 0, in the order of the file.
vpd_status vpd_sim_fitted_get_number(const vpd_sim_fitted *fitted, size_t index, vpd_sim_number *out, vpd_error *err);

#ifdef __cplusplus
}
#endif

#endif
