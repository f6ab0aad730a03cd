// SPDX-License-Identifier: Apache-2.0
// `vpd export`: a checkpoint's weights, or particles and rollouts, as files that other programs read.
#include "app/commands.h"
#include "app/output.h"
#include "app/result.h"
#include "files/checkpoint.h"
#include "infer/export.h"

static const Flag flags[] = {
    {.name = "safetensors",
     .value = "FILE",
     .help = "of a checkpoint: weights, config and lengths as safetensors",
     .writes = "safetensors"},
    {.name = "checkpoint",
     .value = "FILE",
     .help = "of a checkpoint: a checkpoint for publication, with these weights only",
     .writes = "vpd-checkpoint"},
    {.name = "raw", .help = "of a checkpoint: the weights as the optimiser left them, not their moving average"},
    {.name = "half", .help = "of a checkpoint: in half precision (f16)"},
    {.name = "ply", .value = "FOLDER", .help = "of a rollout: one PLY file per step"},
    {.name = "npz", .value = "FILE", .help = "of a rollout: all arrays for numpy", .writes = "npz"},
    {.name = "gltf",
     .value = "FILE.glb",
     .help = "of a rollout: animated points, or surfaces of \"vpd sim run\" (binary glTF 2.0)",
     .writes = "glb"},
    {.name = "usda", .value = "FILE.usda", .help = "of a rollout: the same as USD text", .writes = "usda"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static const char *const of_checkpoint[] = {"safetensors", "checkpoint", "raw", "half", NULL};
static const char *const of_rollout[] = {"ply", "npz", "gltf", "usda", NULL};

static bool given(const CommandLine *line, const char *flag) {
    return command_has(line, flag) || command_text(line, flag, NULL);
}

static bool any_given(const CommandLine *line, const char *const *of_kind) {
    while (*of_kind && !given(line, *of_kind)) of_kind++;
    return *of_kind;
}

// Refuses flags that belong to the other kind of file.
static Status refuse(const CommandLine *line, const char *const *others, const char *kind, Error *err) {
    for (; *others; others++)
        if (given(line, *others))
            return error_set(err, STATUS_BAD_INPUT,
                             "--%s: %s is a %s, which has no such export; see \"vpd export --help\"", *others,
                             command_argument(line, 0), kind);
    return STATUS_OK;
}

// "a.npz, a.glb"
static void join_paths(const json_t *paths, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < json_array_size(paths) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 json_string_value(json_array_get(paths, i)));
}

static Status tell_rollout(const CommandLine *line, const RolloutFile *r, json_t *written, Error *err) {
    char paths[4096];
    join_paths(written, paths, sizeof paths);
    size_t drawn = rollout_drawn(&r->sets[0]), hidden = r->sets[0].N - drawn;
    char counts[80];
    json_t *object = json_pack("{s:O s:I s:I s:I}", "written", written, "particles", (json_int_t)drawn, "hidden_points",
                               (json_int_t)hidden, "steps", (json_int_t)r->steps);
    return result_tell(line, object, RESULT_NOTE, err, "%s: %s, %zu step%s written", paths,
                       rollout_count_text(drawn, hidden, counts), r->steps, r->steps == 1 ? "" : "s");
}

static Status run_export_rollout(const CommandLine *line, Error *err) {
    RolloutFile rollout = {0};
    json_t *written = json_array();
    Status status = refuse(line, of_checkpoint, "rollout", err);
    if (status == STATUS_OK) status = rollout_file_read(command_argument(line, 0), &rollout, err);
    for (ExportFormat format = 0; format < EXPORT_FORMATS && status == STATUS_OK; format++) {
        const char *out = command_text(line, export_format_name(format), NULL);
        if (!out) continue;
        json_array_append_new(written, json_string(out));
        status = export_rollout(&rollout, format, out, err);
    }
    if (status == STATUS_OK && json_array_size(written) == 0)
        status = error_set(err, STATUS_BAD_INPUT,
                           "export of a rollout needs --ply FOLDER, --npz FILE, --gltf FILE.glb or --usda FILE; \"vpd "
                           "render\" makes GIF, MP4 and PNG");
    if (status == STATUS_OK) status = tell_rollout(line, &rollout, written, err);
    json_decref(written);
    rollout_file_free(&rollout);
    return status;
}

static Status run_export_checkpoint(const CommandLine *line, Error *err) {
    CheckpointFound found;
    CheckpointMeta meta;
    const char *safetensors = command_text(line, "safetensors", NULL),
               *publication = command_text(line, "checkpoint", NULL);
    CheckpointWeights which = command_has(line, "raw") ? CHECKPOINT_RAW : CHECKPOINT_EMA;
    bool half = command_has(line, "half");
    Status status = checkpoint_find(command_argument(line, 0), &found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found.path, &meta, err);
    if (status == STATUS_BAD_INPUT && !any_given(line, of_checkpoint) && any_given(line, of_rollout))
        return run_export_rollout(line, err); // which says that a rollout is expected
    if (status == STATUS_OK) status = refuse(line, of_rollout, "checkpoint", err);
    if (status == STATUS_OK && !safetensors && !publication)
        status =
            error_set(err, STATUS_BAD_INPUT, "export of a checkpoint needs --safetensors FILE or --checkpoint FILE");
    if (status != STATUS_OK) return status;
    if (*found.note) log_warning(&line->log, "%s", found.note);
    if (safetensors) status = checkpoint_export_safetensors(found.path, which, half, safetensors, err);
    if (status == STATUS_OK && publication)
        status = checkpoint_export_publication(found.path, which, half, publication, err);
    if (status != STATUS_OK) return status;
    const char *weights = which == CHECKPOINT_RAW || !meta.has_ema ? "raw" : "averaged";
    json_t *written = json_array();
    if (safetensors) json_array_append_new(written, json_string(safetensors));
    if (publication) json_array_append_new(written, json_string(publication));
    json_t *object = json_pack("{s:o s:s s:s s:I s:b}", "written", written, "checkpoint", found.path, "weights",
                               weights, "step", (json_int_t)meta.step, "half", half);
    return result_tell(line, object, RESULT_NOTE, err, "%s: %s weights of step %ld written", found.path, weights,
                       meta.step);
}

static Status run_export(const CommandLine *line, Error *err) {
    bool rollout = false;
    Status status = rollout_file_detect(command_argument(line, 0), &rollout, err);
    if (status != STATUS_OK) return status;
    return rollout ? run_export_rollout(line, err) : run_export_checkpoint(line, err);
}

const Command command_export = {
    .name = "export",
    .summary = "write weights, particles or rollouts for other programs",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "FILE is a checkpoint, a run's folder (its best, else its latest checkpoint), or what \"vpd rollout\" "
               "or \"vpd sim run\" wrote.\n"
               "docs/rollouts.md says what each format holds.",
    .run = run_export,
};
