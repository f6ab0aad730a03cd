// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include "base/clock.h"

#include <string.h>
#include <sys/ioctl.h>

enum { LINE_SIZE = 512 };

static const double redraw_seconds = 0.2, first_plain_seconds = 5, last_plain_seconds = 60;
static const double rate_seconds = 20; // the rate is an average over about this long

static bool is_shown(const Progress *progress) { return progress->log && !progress->log->quiet; }

void progress_start(Progress *progress, const Log *log, const char *what, const char *unit, size_t done, size_t total) {
    double now = clock_now();
    *progress = (Progress){.log = log, .what = what, .unit = unit, .first = done, .done = done, .total = total};
    progress->started = progress->mark_time = progress->shown = now;
    progress->mark_done = done;
    progress->interval = log && log->terminal ? redraw_seconds : first_plain_seconds;
}

static double mean_rate(const Progress *progress, double now) {
    double seconds = now - progress->started;
    return seconds > 0 ? (double)(progress->done - progress->first) / seconds : 0;
}

// An exponential average, which follows a job whose steps become slower; at first it is the plain mean.
static void follow_rate(Progress *progress, double now) {
    double seconds = now - progress->mark_time;
    if (seconds <= 0) return;
    double recent = (double)(progress->done - progress->mark_done) / seconds;
    double share = seconds / rate_seconds < 1 ? seconds / rate_seconds : 1;
    bool young = now - progress->started < rate_seconds;
    progress->rate = young ? mean_rate(progress, now) : progress->rate + share * (recent - progress->rate);
    progress->mark_time = now;
    progress->mark_done = progress->done;
}

// Fast jobs in units per second, slow ones in seconds per unit.
static void format_rate(double rate, const char *unit, char *out, size_t size) {
    int length = (int)strlen(unit);
    if (length > 1 && unit[length - 1] == 's') length--;
    if (rate <= 0) snprintf(out, size, "? %s/s", unit);
    else if (rate >= 1) snprintf(out, size, "%.3g %s/s", rate, unit);
    else snprintf(out, size, "%.3g s/%.*s", 1 / rate, length, unit);
}

void progress_format(const Progress *progress, double now, const char *detail, char *out, size_t size) {
    char rate[64], time[64], count[80];
    double speed = progress->rate > 0 ? progress->rate : mean_rate(progress, now);
    bool finished = progress->total && progress->done >= progress->total;
    size_t left = finished ? 0 : progress->total - progress->done;
    format_rate(speed, progress->unit, rate, sizeof rate);
    if (finished || !progress->total) clock_format(now - progress->started, time, sizeof time);
    else clock_format(speed > 0 ? (double)left / speed : -1, time, sizeof time);
    if (progress->total) {
        double percent = 100.0 * (double)progress->done / (double)progress->total;
        snprintf(count, sizeof count, "%zu/%zu %3.0f%%", progress->done, progress->total, percent);
    } else {
        snprintf(count, sizeof count, "%zu %s", progress->done, progress->unit);
    }
    const char *word = progress->total && !finished ? " left" : "";
    snprintf(out, size, "%s  %s  %s  %s%s%s%s", progress->what, count, rate, time, word, detail && *detail ? "  " : "",
             detail ? detail : "");
}

// Redrawing needs the line to fit: a wrapped one would scroll.
static void clip_to_terminal(const Log *log, char *line) {
    struct winsize window;
    if (ioctl(fileno(log->out), TIOCGWINSZ, &window) || window.ws_col < 2) return;
    if (strlen(line) >= window.ws_col) line[window.ws_col - 1] = 0;
}

static void show(Progress *progress, double now, const char *detail, bool last) {
    char line[LINE_SIZE];
    const Log *log = progress->log;
    progress_format(progress, now, detail, line, sizeof line);
    log_clean(line);
    if (log->terminal) {
        clip_to_terminal(log, line);
        fprintf(log->out, "\r\033[K%s%s", line, last ? "\n" : "");
    } else {
        fprintf(log->out, "%s\n", line);
        progress->interval =
            progress->interval * 1.5 < last_plain_seconds ? progress->interval * 1.5 : last_plain_seconds;
    }
    fflush(log->out);
    progress->shown = now;
}

void progress_update(Progress *progress, size_t done, const char *detail) {
    progress->done = done > progress->first ? done : progress->first;
    if (!is_shown(progress)) return;
    if (!progress->log->terminal && progress->total && progress->done >= progress->total) return; // the last line comes
    double now = clock_now();
    if (now - progress->shown < progress->interval) return;
    follow_rate(progress, now);
    show(progress, now, detail, false);
}

void progress_end(Progress *progress, const char *detail) {
    if (!is_shown(progress)) return;
    double now = clock_now();
    progress->rate = mean_rate(progress, now);
    show(progress, now, detail, true);
}
