// SPDX-License-Identifier: Apache-2.0
// `vpd rollout`: encodes the start of an episode and predicts how it goes on.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "base/file.h"
#include "files/data_record.h"
#include "infer/eval_request.h"
#include "infer/rollout.h"

#include <stdlib.h>

enum { STEPS_MAX = 100000 };

static const Flag flags[] = {
    {.name = "episode", .value = "E", .help = "name or number (default: the first test episode)"},
    {.name = "split",
     .value = "LIST",
     .help = "all episodes of train,val,test: --output is a folder, each file is named by its episode's number"},
    {.name = "start", .value = "F", .help = "present frame, the last one the model sees (default: the earliest)"},
    {.name = "steps",
     .value = "N",
     .help = "steps to predict (default: to the end of the video; 0: only the particles of the input)"},
    {.name = "output",
     .value = "FILE.h5",
     .help = "rollout file to write, with --split the folder",
     .letter = 'o',
     .writes = "vpd-rollout vpd-particles"},
    FLAG_INPUT_VIEWS,
    FLAG_DRIVEN,
    FLAG_ANALYTIC,
    FLAG_RAW,
    FLAG_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// Defaults: the earliest start, and steps to the end of the video.
static Status choose(const CommandLine *line, const Session *session, const Dataset *dataset, RolloutRequest *request,
                     Error *err) {
    HistoryRequest *history = &request->history;
    int stride = 1;
    long start, steps;
    const EpisodeInfo *info = dataset_episode(dataset, history->episode);
    Status status = history_stride(session->model, info, &stride, err);
    start = history_first_start(session->model, stride);
    if (status == STATUS_OK) status = command_int(line, "start", 0, 1000000000, &start, err);
    steps = start < info->F ? (info->F - 1 - start) / stride : 0;
    if (steps < 1) steps = 1;
    if (status == STATUS_OK) status = command_int(line, "steps", 0, STEPS_MAX, &steps, err);
    history->start = (int)start;
    request->steps = (int)steps;
    return status;
}

// What the flags say of the rollouts.
typedef struct Wishes {
    IntList views, driven;
    const char *analytic;
} Wishes;

static Status read_wishes(const CommandLine *line, Wishes *out, Error *err) {
    *out = (Wishes){0};
    Status status = command_int_list(line, "input-views", 0, 65535, &out->views, err);
    if (status == STATUS_OK) status = command_int_list(line, "driven", -65534, 65534, &out->driven, err);
    return status == STATUS_OK ? command_analytic(line, &out->analytic, err) : status;
}

static Status roll_out(const CommandLine *line, const Session *session, const Dataset *dataset, int episode,
                       const Wishes *wishes, RolloutFile *rollout, Error *err) {
    RolloutRequest request = {.history = {.episode = episode, .views = &wishes->views},
                              .driven = &wishes->driven,
                              .analytic = wishes->analytic,
                              .log = &line->log,
                              .warnings = &line->log};
    RolloutWorkspace workspace = {0};
    Status status = choose(line, session, dataset, &request, err);
    if (status != STATUS_OK) return status;
    rollout_workspace_init(&workspace, session->model);
    status = rollout_run(&workspace, dataset, &request, rollout, err);
    rollout_workspace_free(&workspace);
    if (status == STATUS_OK) session_sign(session, rollout);
    return status;
}

// From the frames of a data set.
static Status start_rollout(const CommandLine *line, const char *out, Session *session, RolloutFile *rollout,
                            Error *err) {
    Dataset *dataset = NULL;
    Wishes wishes;
    int episode = 0;
    Status status = read_wishes(line, &wishes, err);
    if (status == STATUS_OK) status = command_open_session(line, command_argument(line, 0), session, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, 1), &dataset, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = dataset_find_episode(dataset, command_text(line, "episode", NULL), &episode, err);
    if (status == STATUS_OK) history_warn(session->model, dataset, episode, &wishes.views, &line->log);
    if (status == STATUS_OK) status = roll_out(line, session, dataset, episode, &wishes, rollout, err);
    dataset_close(dataset);
    return status;
}

// From particles: --steps more from the last step of a rollout file.
static Status continue_rollout(const CommandLine *line, const char *out, Session *session, RolloutFile *rollout,
                               Error *err) {
    static const char *const of_data[] = {"episode", "start", "input-views", "driven", "analytic", "raw", NULL};
    const char *path = command_argument(line, 1);
    SessionOptions options = session_options(line, command_argument(line, 0), false);
    RolloutWorkspace workspace = {0};
    long steps = 0;
    char found[FILE_PATH_SIZE + 32];
    snprintf(found, sizeof found, "the particles of %s", path);
    Status status = command_refuse(line, of_data, "a data set", found, err);
    if (status != STATUS_OK) return status;
    if (!command_text(line, "steps", NULL))
        return error_set(err, STATUS_BAD_INPUT,
                         "--steps: give the number of steps by which the rollout %s is to be continued", path);
    status = command_int(line, "steps", 1, STEPS_MAX, &steps, err);
    if (status == STATUS_OK) status = rollout_file_read(path, rollout, err);
    if (status == STATUS_OK) status = session_open_for(session, &options, rollout, path, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status != STATUS_OK) return status;
    rollout_workspace_init(&workspace, session->model);
    status = rollout_simulate(&workspace, rollout, (size_t)steps, &line->log, err);
    rollout_workspace_free(&workspace);
    return status;
}

static Status tell(const CommandLine *line, const char *out, const RolloutFile *r, Error *err) {
    size_t drawn = rollout_drawn(&r->sets[0]), hidden = r->sets[0].N - drawn;
    char counts[80];
    json_t *object =
        json_pack("{s:[s] s:s s:i s:I s:I s:I s:o s:s}", "written", out, "episode", r->episode, "first_frame",
                  r->first_frame, "particles", (json_int_t)drawn, "hidden_points", (json_int_t)hidden, "steps",
                  (json_int_t)r->steps, "time_step", json_finite(r->time_step), "checkpoint", r->checkpoint);
    return result_tell(line, object, RESULT_STDOUT, err, "%s: episode %s from frame %d, %s, %zu step%s of %.4g s", out,
                       r->episode, r->first_frame, rollout_count_text(drawn, hidden, counts), r->steps,
                       r->steps == 1 ? "" : "s", r->time_step);
}

// ---- all episodes of a split, divided by the processes of a job

typedef struct SplitWork {
    const CommandLine *line;
    Session session;
    Dataset *dataset;
    EvalEpisodes episodes;
    Wishes wishes;
    const char *folder;
} SplitWork;

// What the processes must have in common, a line each.
static Status check_same(const SplitWork *work, Error *err) {
    if (!work->line->ranks) return STATUS_OK;
    char *text = NULL;
    size_t length = 0;
    DataRecord record;
    FILE *out = open_memstream(&text, &length);
    if (!out) return error_set(err, STATUS_FAILED, "out of memory for the options");
    data_record_make(work->dataset, &record);
    data_record_print_job(&record, "rollout --split", work->session.device->name, out);
    fprintf(out, "checkpoint: %s, step %ld%s\nepisodes: %d of %s\nstart: %s\nsteps: %s\ninput views:",
            work->session.meta.hash, work->session.meta.step, work->session.raw ? ", raw weights" : "",
            work->episodes.count, work->episodes.words, command_text(work->line, "start", "the earliest"),
            command_text(work->line, "steps", "all"));
    for (int i = 0; i < work->wishes.views.count; i++) fprintf(out, " %d", work->wishes.views.v[i]);
    fprintf(out, "\ndriven: %s\nanalytic: %s\noutput: %s\n", command_text(work->line, "driven", "none"),
            work->wishes.analytic ? work->wishes.analytic : "no", work->folder);
    bool good = fclose(out) == 0;
    Status status = good ? ranks_same_text(work->line->ranks, text, err)
                         : error_set(err, STATUS_FAILED, "out of memory for the options");
    free(text);
    return status;
}

// Episodes that end before the present frame are left out, as an evaluation does.
static Status leave_out_short(SplitWork *work, Error *err) {
    EvalEpisodes *episodes = &work->episodes;
    int kept = 0, start = 0, first_out = -1, count = episodes->count;
    for (int i = 0; i < count; i++) {
        RolloutRequest request = {.history = {.episode = episodes->list[i]}};
        Status status = choose(work->line, &work->session, work->dataset, &request, err);
        if (status != STATUS_OK) return status;
        if (request.history.start < dataset_episode(work->dataset, episodes->list[i])->F) {
            episodes->list[kept++] = episodes->list[i];
        } else if (first_out < 0) {
            first_out = episodes->list[i];
            start = request.history.start;
        }
    }
    episodes->count = kept;
    if (kept == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: all %d episodes of %s end before start frame %d",
                         dataset_info(work->dataset)->path, count, episodes->words, start);
    if (kept < count)
        log_warning(&work->line->log, "%d of %d episodes are left out: the first, %s, ends before start frame %d",
                    count - kept, count, dataset_episode(work->dataset, first_out)->name, start);
    return STATUS_OK;
}

static Status open_split(SplitWork *work, Error *err) {
    const CommandLine *line = work->line;
    Status status = read_wishes(line, &work->wishes, err);
    if (status == STATUS_OK && command_has(line, "episode"))
        status = error_set(err, STATUS_BAD_INPUT, "--episode and --split: expected one of them, found both");
    if (status == STATUS_OK) status = command_open_session(line, command_argument(line, 0), &work->session, err);
    if (status == STATUS_OK) status = ranks_first_begin(line->ranks, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, 1), &work->dataset, err);
    if (status == STATUS_OK) status = file_make_folders(work->folder, err);
    if (status == STATUS_OK) status = ranks_first_end(line->ranks, err);
    if (status == STATUS_OK)
        status = eval_episodes_choose(work->dataset, command_text(line, "split", NULL), NULL, 0, &work->episodes, err);
    if (status == STATUS_OK) status = leave_out_short(work, err);
    return status == STATUS_OK ? check_same(work, err) : status;
}

static Status write_episode(const SplitWork *work, int episode, Error *err) {
    char name[32], path[FILE_PATH_SIZE];
    RolloutFile rollout = {0};
    snprintf(name, sizeof name, "%06d.h5", episode);
    Status status = file_join(path, sizeof path, work->folder, name, err);
    if (status == STATUS_OK) status = output_check(work->line, path, "vpd-rollout vpd-particles", err);
    if (status == STATUS_OK)
        status = roll_out(work->line, &work->session, work->dataset, episode, &work->wishes, &rollout, err);
    if (status == STATUS_OK) status = rollout_file_write(&rollout, path, err);
    rollout_file_free(&rollout);
    return status;
}

static Status tell_split(const SplitWork *work, Error *err) {
    json_t *object = json_pack("{s:[s] s:i s:s}", "written", work->folder, "rollouts", work->episodes.count, "split",
                               work->episodes.words);
    return result_tell(work->line, object, RESULT_STDOUT, err, "%s: %d rollouts of %s", work->folder,
                       work->episodes.count, work->episodes.words);
}

static Status run_split(const CommandLine *line, Error *err) {
    SplitWork work = {.line = line};
    size_t first = 0, end = 0;
    Status status = command_required(line, "output", &work.folder, err);
    if (status == STATUS_OK) status = open_split(&work, err);
    if (status == STATUS_OK)
        history_warn(work.session.model, work.dataset, work.episodes.list[0], &work.wishes.views, &line->log);
    if (status == STATUS_OK) ranks_share(line->ranks, (size_t)work.episodes.count, &first, &end);
    for (size_t i = first; i < end && status == STATUS_OK; i++)
        status = write_episode(&work, work.episodes.list[i], err);
    if (status == STATUS_OK) status = ranks_barrier(line->ranks, err);
    if (status == STATUS_OK && ranks_rank(line->ranks) == 0) status = tell_split(&work, err);
    eval_episodes_free(&work.episodes);
    dataset_close(work.dataset);
    session_close(&work.session);
    return command_explain_swap(line, status, err);
}

static Status run_one(const CommandLine *line, Error *err) {
    Session session = {0};
    RolloutFile rollout = {0};
    bool particles = false;
    const char *out;
    Status status = command_required(line, "output", &out, err);
    if (status == STATUS_OK) status = rollout_file_detect(command_argument(line, 1), &particles, err);
    if (status == STATUS_OK)
        status = (particles ? continue_rollout : start_rollout)(line, out, &session, &rollout, err);
    if (status == STATUS_OK) status = rollout_file_write(&rollout, out, err);
    if (status == STATUS_OK) status = tell(line, out, &rollout, err);
    rollout_file_free(&rollout);
    session_close(&session);
    return command_explain_swap(line, status, err);
}

static Status run_rollout(const CommandLine *line, Error *err) {
    if (!line->ranks || command_has(line, "split"))
        return (command_has(line, "split") ? run_split : run_one)(line, err);
    return error_set(err, STATUS_BAD_INPUT,
                     "%d processes were started: expected --split, whose episodes they divide; start one process for "
                     "one rollout",
                     ranks_count(line->ranks));
}

const Command command_rollout = {
    .name = "rollout",
    .summary = "let a trained model predict how an episode goes on",
    .arguments = "CHECKPOINT DATA|ROLLOUT",
    .min_arguments = 2,
    .max_arguments = 2,
    .flags = flags,
    .spreads = true,
    .details = "CHECKPOINT is a file, or a run's folder (its best, else its latest checkpoint). The model sees the "
               "frames up to F\nand can predict beyond the end of the video. With a ROLLOUT or a particle file, "
               "--steps more are predicted from its last\nstep, with the same result as one longer rollout. "
               "\"vpd render FILE.h5\" draws what was\nwritten. \"mpirun -n 4 vpd rollout .. --split test -o FOLDER\" "
               "divides the "
               "episodes over processes (docs/cluster.md).",
    .run = run_rollout,
};
