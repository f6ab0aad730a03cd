// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/plot.h"
#include "base/version.h"
#include "lab/experiment_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const Experiment experiments[] = {
    {"mass",
     "A body of one of four shapes is thrown by a known force within the first frame, and flies for 2 s (60 "
     "frames, one camera of 128x128 pixels). Its density is 2 to 12 kg/m3, and the search starts at another one.",
     20, experiment_mass},
    {"contact",
     "A body is thrown along the ground by a known force, bounces and slides for 2 s (60 frames, one camera of "
     "128x128 pixels, every second frame compared in pixels). Density 2 to 12 kg/m3, k_e, k_d and k_f 1 to 500, "
     "mu 0.2 to 1, all five unknown; searches start anywhere in these ranges.",
     20, experiment_contact},
    {"fem",
     "Beams that hang from one end (16 free particles, 20 tetrahedra) and balls that bounce (13 particles, 20 "
     "tetrahedra) are pushed by a known force and watched for 1 s (30 frames; two cameras of 64x64 pixels, every "
     "third frame compared in pixels). The mass of each particle is unknown by a factor of 0.7 to 1.4, mu and "
     "lambda are 1000 to 4000 Pa; the search starts at equal masses and 2000 Pa.",
     100, experiment_fem},
    {"landscape",
     "A soft ball of 1 kg (mu = lambda = 1000 Pa, radius 1 m) is pushed to the side by a known force for one frame, "
     "and flies for 2 s. The loss, half the sum of the squared differences of all pixels and a mean over the compared "
     "frames (as in the paper's code), against the mass that the simulation assumes, 0.1 to 5 kg. In the paper it has "
     "one minimum, and the loss over the first and last frame is the steepest. The paper does not say how hard its "
     "bodies are pushed. After 0.6 N the lightest ball is 0.4 m from its start at the end, and still covers most of "
     "the true one's place, as a loss of pixels needs; after 2.25 N it is 1.5 m away and hardly does, so that the loss "
     "over the last frame is flat there.",
     1, experiment_landscape},
    {"policy",
     "A soft box of 1 kg on the ground is to be pushed so that it slides to a place 0.5 to 1.5 m away, in any "
     "direction, within 1.5 s. Its friction mu is 0.2 to 0.6. A policy of three linear layers with 64 hidden units is "
     "given place and friction, and chooses the velocity at the start. It learns from the gradient of rollouts, each "
     "of them one op on the tape (`sim/on_tape.h`), in f32: 400 updates of Adam with 32 new places and frictions each. "
     "Figures are of places and frictions that it has not seen (the instances). A rigid point would need the velocity "
     "sqrt(2 mu g d) for the distance d.",
     1000, experiment_policy},
    {0}};

Status experiment_run(const Experiment *experiment, const ExperimentOptions *options, ExperimentResult *out,
                      Error *err) {
    ExperimentOptions own = *options;
    const double start = clock_now();
    if (!own.instances) own.instances = experiment->instances;
    *out = (ExperimentResult){.instances = own.instances};
    Status status = experiment->run(&own, out, err);
    out->seconds = clock_now() - start;
    return status;
}

void experiment_free(ExperimentResult *result) {
    for (size_t r = 0; r < result->rows; r++) {
        free(result->row[r].error);
        free(result->row[r].bar);
    }
    *result = (ExperimentResult){0};
}

// ---- the page

void experiment_print(const Experiment *experiment, const ExperimentResult *result, const char *plot, FILE *out) {
    fprintf(out, "## %s\n\n%s\n", experiment->name, experiment->about);
    if (result->rows)
        fprintf(out, "\n| number | from | paper | mean error | median | largest | standard error |"
                     "\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t r = 0; r < result->rows; r++) {
        const ExperimentRow *row = result->row + r;
        const ExperimentFigures error = experiment_figures(row->error, row->instances);
        fprintf(out, "| %s | %s | %.3g | %.2g +- %.1g | %.2g | %.2g |", row->what, row->from, row->paper, error.mean,
                error.spread, error.median, error.worst);
        if (row->bar) fprintf(out, " %.2g |\n", experiment_figures(row->bar, row->instances).median);
        else fprintf(out, " |\n");
    }
    if (*result->text) fprintf(out, "\n%s\n", result->text);
    if (plot) fprintf(out, "\n![The loss against mass](%s)\n", plot);
    fprintf(out, "\nBy `vpd sim experiment %s --instances %zu`, vpd %s, in %.0f s.\n", experiment->name,
            result->instances, version_commit(), result->seconds);
}

static const char heading[] =
    "# Experiments with the simulator\n\n"
    "`vpd sim experiment NAME -o docs/simulator_experiments.md` runs an experiment and writes its section of "
    "this page. Scenes are recorded with random numbers, and the numbers are found again from the recording: "
    "from the positions of all particles (states), or from pictures alone (pixels). Searches are [fits](fits.md) "
    "by Levenberg-Marquardt over a growing number of frames. Simulation and pictures are in f64, and these "
    "recordings have no noise. \"Pixels of 8 bits\" are the same pictures rounded, as files hold them, with the "
    "search going on from beside its end; for these there is a standard error.\n\n"
    "Errors are relative, the means of absolute values over all scenes, with the standard error of the mean. The "
    "paper's figures are those of gradSim (Jatavallabhula, Macklin et al., ICLR 2021). Our bodies are solids of "
    "tetrahedra with 8 to 64 particles where the paper throws rigid bodies; the ranges of the numbers are the "
    "paper's. Times depend on the machine and on what else it does.\n";

typedef struct Page {
    const Experiment *experiment;
    const ExperimentResult *result;
    const char *plot, *before, *after; // texts around the section
    size_t before_length;
} Page;

static bool write_page(FILE *file, void *context) {
    const Page *page = context;
    fprintf(file, "%.*s", (int)page->before_length, page->before);
    experiment_print(page->experiment, page->result, page->plot, file);
    fprintf(file, "%s%s", *page->after ? "\n" : "", page->after);
    return !ferror(file);
}

static bool write_plot(FILE *file, void *context) {
    const ExperimentResult *result = context;
    PlotSeries series[EXPERIMENT_CURVES_MAX];
    for (size_t c = 0; c < result->curves; c++)
        series[c] = (PlotSeries){.name = result->curve[c].name,
                                 .x = result->x,
                                 .y = result->curve[c].y,
                                 .count = (int)result->points,
                                 .colour = -1};
    const Plot plot = {.title = "Loss against mass; the truth is 1 kg",
                       .x_label = "mass, kg",
                       .y_label = "loss",
                       .log_x = true,
                       .y_from_zero = true,
                       .series = series,
                       .series_count = (int)result->curves};
    plot_write_svg(&plot, true, file);
    return !ferror(file);
}

// Where the section begins in the page, and where the next one does.
static void find_section(const char *text, const char *name, const char **begin, const char **end) {
    char title[80];
    snprintf(title, sizeof title, "\n## %s\n", name);
    const char *at = strstr(text, title);
    *begin = *end = text + strlen(text);
    if (!at) return;
    *begin = at + 1;
    const char *next = strstr(*begin, "\n## ");
    if (next) *end = next + 1;
}

static Status read_page(const char *path, char **text, Error *err) {
    size_t length;
    if (file_exists(path)) return file_read_all(path, 1 << 20, text, &length, err);
    *text = strdup(heading);
    return *text ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: out of memory", path);
}

Status experiment_write_page(const Experiment *experiment, const ExperimentResult *result, const char *path,
                             Error *err) {
    char plot[FILE_PATH_SIZE] = "", beside[128], *text = NULL;
    const char *begin, *end, *slash = strrchr(path, '/');
    Status status = read_page(path, &text, err);
    if (status != STATUS_OK) return status;
    snprintf(beside, sizeof beside, "images/simulator_%s.svg", experiment->name);
    if (result->points) {
        snprintf(plot, sizeof plot, "%.*simages", slash ? (int)(slash - path + 1) : 0, path);
        status = file_make_folders(plot, err);
        snprintf(plot, sizeof plot, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, beside);
        if (status == STATUS_OK) status = file_write_stream(plot, write_plot, (void *)result, err);
    }
    find_section(text, experiment->name, &begin, &end);
    const bool blank = begin > text + 1 && begin[-2] != '\n'; // a new section at the end
    char *before = malloc((size_t)(begin - text) + 2);
    if (status == STATUS_OK && !before) status = error_set(err, STATUS_FAILED, "%s: out of memory", path);
    if (status == STATUS_OK) {
        sprintf(before, "%.*s%s", (int)(begin - text), text, blank ? "\n" : "");
        Page page = {experiment, result, result->points ? beside : NULL, before, end, strlen(before)};
        status = file_write_stream(path, write_page, &page, err);
    }
    free(before);
    free(text);
    return status;
}
