// SPDX-License-Identifier: Apache-2.0
// `vpd eval`: compares a model's predictions, or another system's pictures, with the video.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "infer/eval_frames.h"
#include "infer/eval_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 100000 };

static const Flag flags[] = {
    {.name = "split", .value = "LIST", .help = "splits to evaluate: train, val, test (default: val,test)"},
    {.name = "episode", .value = "E", .help = "evaluate these episodes instead, by name or number", .repeated = true},
    {.name = "starts", .value = "LIST", .help = "present frames (default: the earliest, and one halfway)"},
    {.name = "steps",
     .value = "N",
     .help = "steps to predict; 0: reconstruction only (default: 12, or as many as there are)"},
    {.name = "output",
     .value = "FILE.json",
     .help = "write every figure, with its count and spread, as JSON",
     .letter = 'o',
     .writes = "eval"},
    {.name = "json", .help = "print the same on stdout, instead of the table"},
    {.name = "plot", .value = "FILE.svg", .help = "write plots over the steps", .writes = "svg"},
    {.name = "all", .help = "print every row: SSIM, depth, pixels at rims, each view, slopes of the motion"},
    {.name = "all-steps", .help = "print a column for every step"},
    {.name = "pictures",
     .value = "FOLDER",
     .help = "write the predicted pictures, and sheets of them beside the truth"},
    {.name = "motion",
     .help = "measure only the motion of the particles, and print all of it: fast, since nothing is drawn"},
    {.name = "seen", .help = "measure only pixels that an input view saw at step 0 (still scenes)"},
    {.name = "frames", .value = "FOLDER", .help = "evaluate the pictures in this folder instead of a model"},
    {.name = "stride", .value = "N", .help = "with --frames: frames per step (default 1)"},
    FLAG_INPUT_VIEWS,
    FLAG_DRIVEN,
    FLAG_ANALYTIC,
    FLAG_RAW,
    FLAG_DEVICE,
    FLAG_FORCE,
    {0},
};

// ---- which episodes

static Status choose_episodes(const CommandLine *line, const Dataset *dataset, EvalEpisodes *out, Error *err) {
    int count = 0;
    const char **names = calloc((size_t)line->given_count + 1, sizeof *names);
    if (!names) return error_set(err, STATUS_FAILED, "out of memory for a list of episodes");
    while ((names[count] = command_repeated(line, "episode", count))) count++;
    Status status = eval_episodes_choose(dataset, command_text(line, "split", NULL), names, count, out, err);
    free(names);
    return status;
}

// ---- results

typedef Status ReportWriter(const Report *report, FILE *out, Error *err);

typedef struct Result {
    const Report *report;
    ReportWriter *write;
} Result;

static Status write_result(const char *temporary, void *context, Error *err) {
    const Result *result = context;
    FILE *out = fopen(temporary, "w");
    if (!out) return file_error(err, temporary, "write", errno);
    Status status = result->write(result->report, out, err);
    errno = 0;
    if (fclose(out) && status == STATUS_OK) status = file_error(err, temporary, "write", errno);
    return status;
}

static Status give_results(const CommandLine *line, const Report *report, Error *err) {
    const char *output = command_text(line, "output", NULL), *plot = command_text(line, "plot", NULL);
    ReportTable table = {.all_rows = command_has(line, "all") || command_has(line, "motion"),
                         .all_steps = command_has(line, "all-steps")};
    Result as_json = {report, report_write_json}, as_plot = {report, report_write_svg};
    Status status = STATUS_OK;
    if (command_has(line, "json")) status = report_write_json(report, stdout, err);
    else report_print(report, table, stdout);
    if (status == STATUS_OK && output) status = file_write_atomic(output, write_result, &as_json, err);
    if (status == STATUS_OK && plot) status = file_write_atomic(plot, write_result, &as_plot, err);
    return status;
}

static Status check_outputs(const CommandLine *line, Error *err) {
    const char *output = command_text(line, "output", NULL), *plot = command_text(line, "plot", NULL);
    const char *pictures = command_text(line, "pictures", NULL);
    Status status = output ? command_check_writable(output, err) : STATUS_OK;
    if (status == STATUS_OK && plot) status = command_check_writable(plot, err);
    if (status == STATUS_OK && pictures) status = file_make_folders(pictures, err);
    return status;
}

// ---- a model

// Flags about pictures mean nothing with --motion.
static Status check_motion_flags(const CommandLine *line, Error *err) {
    static const char *const of_pictures[] = {"pictures", "plot", "seen"};
    for (size_t i = 0; i < sizeof of_pictures / sizeof *of_pictures; i++)
        if (command_has(line, "motion") && command_has(line, of_pictures[i]))
            return error_set(err, STATUS_BAD_INPUT, "--%s cannot be combined with --motion", of_pictures[i]);
    return STATUS_OK;
}

static Status eval_model(const CommandLine *line, const Dataset *dataset, const EvalEpisodes *episodes, IntList starts,
                         long steps, Report *report, Error *err) {
    Session session = {0};
    EvalRequest request = {.episodes = episodes,
                           .starts = starts,
                           .steps = (int)steps,
                           .seen_only = command_has(line, "seen"),
                           .motion_only = command_has(line, "motion"),
                           .pictures = command_text(line, "pictures", NULL),
                           .log = &line->log,
                           .ranks = line->ranks};
    if (command_has(line, "stride"))
        return error_set(err, STATUS_BAD_INPUT, "--stride needs --frames; a model has its own stride");
    Status status = command_int_list(line, "input-views", 0, 65535, &request.views, err);
    if (status == STATUS_OK) status = command_int_list(line, "driven", -65534, 65534, &request.driven, err);
    if (status == STATUS_OK) status = command_analytic(line, &request.analytic, err);
    if (status == STATUS_OK) status = command_open_session(line, command_argument(line, 0), &session, err);
    if (status == STATUS_OK) status = eval_request_run(&session, dataset, &request, report, err);
    session_close(&session);
    return status;
}

// ---- pictures of another system

static Status eval_folder(const CommandLine *line, const Dataset *dataset, const EvalEpisodes *episodes, IntList starts,
                          long steps, Report *report, Error *err) {
    EvalFramesOptions options = {.folder = command_text(line, "frames", NULL),
                                 .last_input = starts.count ? starts.v[0] : 1,
                                 .steps = steps > 0 ? (int)steps : 0,
                                 .stride = 1};
    if (starts.count > 1)
        return error_set(err, STATUS_BAD_INPUT, "--starts: expected one frame with --frames, found %d", starts.count);
    static const char *const of_models[] = {"episode", "seen",     "pictures", "motion", "input-views",
                                            "driven",  "analytic", "raw",      "device"};
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
        if (command_has(line, of_models[i]))
            return error_set(err, STATUS_BAD_INPUT, "--%s cannot be combined with --frames", of_models[i]);
    memcpy(options.splits, episodes->split, sizeof options.splits);
    Status status = command_small_int(line, "stride", 1, 100000, &options.stride, err);
    if (status == STATUS_OK) status = ranks_same_text(line->ranks, "command: eval --frames\n", err);
    return status == STATUS_OK ? eval_frames(dataset, &options, report, err) : status;
}

// ---- the command

static Status run_eval(const CommandLine *line, Error *err) {
    bool frames = command_has(line, "frames"), speaks = ranks_rank(line->ranks) == 0;
    Dataset *dataset = NULL;
    Report report = {0};
    EvalEpisodes episodes = {0};
    IntList starts = {0};
    long steps = -1;
    if (frames && line->argument_count == 2 && command_has(line, "json")) return command_unexpected(line, 1, err);
    if (line->argument_count != (frames ? 1 : 2))
        return error_set(err, STATUS_BAD_INPUT, "expected vpd eval %s, found %d argument%s",
                         frames ? "--frames FOLDER DATA" : "CHECKPOINT DATA", line->argument_count,
                         line->argument_count == 1 ? "" : "s");
    Status status = command_int_list(line, "starts", 0, 1000000000, &starts, err);
    if (status == STATUS_OK) status = command_int(line, "steps", 0, STEPS_MAX, &steps, err);
    if (status == STATUS_OK) status = ranks_first_begin(line->ranks, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, frames ? 0 : 1), &dataset, err);
    if (status == STATUS_OK) status = ranks_first_end(line->ranks, err);
    if (status == STATUS_OK) status = choose_episodes(line, dataset, &episodes, err);
    if (status == STATUS_OK) status = check_motion_flags(line, err);
    if (status == STATUS_OK && speaks) status = check_outputs(line, err);
    if (status == STATUS_OK)
        status = (frames ? eval_folder : eval_model)(line, dataset, &episodes, starts, steps, &report, err);
    if (status == STATUS_OK && speaks) status = give_results(line, &report, err);
    report_free(&report);
    eval_episodes_free(&episodes);
    dataset_close(dataset);
    return command_explain_swap(line, status, err);
}

const Command command_eval = {
    .name = "eval",
    .summary = "compare a model's predictions with the video",
    .arguments = "CHECKPOINT DATA",
    .min_arguments = 1,
    .max_arguments = 2,
    .flags = flags,
    .spreads = true,
    .details = "PSNR, SSIM and depth error per step, on all pixels and on moving ones, for input and held-out views, "
               "with two baselines:\nthe last frame copied, and particles that do not move. The motion error needs "
               "state/object_position in the data.\n\"vpd eval --frames FOLDER DATA --starts F\" evaluates "
               "FOLDER/EPISODE/view_V/frame_FFFF.png of any other system, predicted\nfrom the frames up to F.",
    .run = run_eval,
};
