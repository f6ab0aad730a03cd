// SPDX-License-Identifier: Apache-2.0
#include "bench/report_ops.h"

#include "base/json.h"
#include "bench/case_tables.h"
#include "bench/knn_bench.h"

#include <math.h>

enum { MAX_REPEAT = 64, NEIGHBOURS = 16, MOST_POINTS = 1 << 17 };

// Peak rates of the device, measured before the ops.
typedef struct Peaks {
    double flops, bytes; // per second
} Peaks;

static Status measure_peaks(Device *device, int repeat, Peaks *out, Error *err) {
    BenchPeak peak;
    BenchTime products[MAX_REPEAT], copies[MAX_REPEAT];
    double room[MAX_REPEAT];
    Status status = bench_peak_open(&peak, device, err);
    for (int i = 0; i < repeat && status == STATUS_OK; i++) {
        products[i] = bench_peak_products(&peak);
        copies[i] = bench_peak_copies(&peak);
        status = device_status(device, err);
    }
    if (status == STATUS_OK)
        *out = (Peaks){peak.flops / bench_median(products, repeat, 1, room).wall,
                       peak.bytes / bench_median(copies, repeat, 1, room).wall};
    bench_peak_close(&peak);
    return status;
}

// ---- ops

typedef struct OpTime {
    BenchTime forward, backward;
    double bytes;
} OpTime;

// The first two runs allocate memory and open libraries.
static Status time_case(Device *device, const OpCase *c, int repeat, OpTime *out, Error *err) {
    BenchTime forward[MAX_REPEAT], backward[MAX_REPEAT];
    double room[MAX_REPEAT];
    CaseRun run;
    Status status = case_run(device, c, -1, NULL, 0, true, &run, err);
    for (int i = -1; i < repeat && status == STATUS_OK; i++) {
        status = case_run_again(&run, c, err);
        if (i < 0) continue;
        forward[i] = (BenchTime){run.forward_seconds, 0};
        backward[i] = (BenchTime){run.backward_seconds, 0};
    }
    if (status == STATUS_OK)
        *out = (OpTime){bench_median(forward, repeat, 1, room), bench_median(backward, repeat, 1, room),
                        run.forward_bytes + run.backward_bytes};
    case_run_free(&run);
    return status;
}

// Share of the peak rate that limits the op: the larger of the two shares.
static double share_of_peak(const OpCase *c, const OpTime *time, const Peaks *peaks) {
    double seconds = time->forward.wall + time->backward.wall;
    return fmax(c->flops / seconds / peaks->flops, time->bytes / seconds / peaks->bytes);
}

static Status report_case(const OpCase *c, const OpTime *time, const Peaks *peaks, bool json, Error *err) {
    double ahead = time->forward.wall, back = time->backward.wall, share = share_of_peak(c, time, peaks);
    double gflops = 1e-9 * c->flops / (ahead + back), gbytes = 1e-9 * time->bytes / (ahead + back);
    if (json)
        return json_write_line(stdout,
                               json_pack("{s:s s:s s:f s:f s:o s:o s:o}", "bench", "op", "case", c->name, "forward_ms",
                                         1e3 * ahead, "backward_ms", 1e3 * back, "gflops",
                                         c->flops > 0 ? json_finite(gflops) : json_null(), "gbytes_per_second",
                                         json_finite(gbytes), "share", json_finite(share)),
                               err);
    printf("%-44s %10.3f %10.3f %10.1f %6.0f%%", c->name, 1e3 * ahead, 1e3 * back, gbytes, 100 * share);
    if (c->flops > 0) printf(" %10.0f", gflops);
    putchar('\n');
    fflush(stdout);
    return STATUS_OK;
}

static Status bench_tables(Device *device, const OpCases *const *tables, size_t count, const BenchOptions *options,
                           const Peaks *peaks, Error *err) {
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const OpCase *c = &tables[t]->cases[i];
            OpTime time;
            Status status = c->bench ? time_case(device, c, options->repeat, &time, err) : STATUS_OK;
            if (c->bench && status == STATUS_OK) status = report_case(c, &time, peaks, options->json, err);
            if (status != STATUS_OK) return status;
        }
    return STATUS_OK;
}

static Status report_peaks(const Peaks *peaks, bool json, Error *err) {
    if (json)
        return json_write_line(stdout,
                               json_pack("{s:s s:f s:f}", "bench", "peaks", "gflops", 1e-9 * peaks->flops,
                                         "gbytes_per_second", 1e-9 * peaks->bytes),
                               err);
    printf("\nops; peaks: products %.0f GFLOP/s, copies %.1f GB/s; share: fraction of the limiting peak, each input "
           "and result moved once\n%-44s %10s %10s %10s %7s %10s\n",
           1e-9 * peaks->flops, 1e-9 * peaks->bytes, "case", "fwd ms", "bwd ms", "GB/s", "share", "GFLOP/s");
    return STATUS_OK;
}

Status bench_ops(Device *device, const BenchOptions *options, Error *err) {
    Peaks peaks;
    Status status = measure_peaks(device, options->repeat, &peaks, err);
    if (status == STATUS_OK) status = report_peaks(&peaks, options->json, err);
    if (status == STATUS_OK) status = bench_tables(device, nn_case_tables, nn_case_table_count, options, &peaks, err);
    if (status == STATUS_OK) status = bench_tables(device, gnn_case_tables, gnn_case_table_count, options, &peaks, err);
    return status == STATUS_OK
               ? bench_tables(device, renderer_case_tables, renderer_case_table_count, options, &peaks, err)
               : status;
}

// ---- neighbours

Status bench_neighbours(Device *device, const BenchOptions *options, Error *err) {
    size_t to = options->to < MOST_POINTS ? (size_t)options->to : MOST_POINTS;
    double before = 0;
    if (!options->json)
        printf("\n%d nearest others of points on surfaces, index and search\n%-10s %10s %10s\n", NEIGHBOURS, "points",
               "ms", "ratio");
    for (size_t points = (size_t)options->from; points <= to; points *= 2) {
        BenchTime time;
        Status status = knn_bench(device, points, NEIGHBOURS, options->repeat, &time, err);
        if (status == STATUS_OK && options->json)
            status =
                json_write_line(stdout,
                                json_pack("{s:s s:I s:i s:f s:f}", "bench", "neighbours", "points", (json_int_t)points,
                                          "k", NEIGHBOURS, "ms", 1e3 * time.wall, "cpu_ms", 1e3 * time.cpu),
                                err);
        if (status != STATUS_OK) return status;
        if (!options->json) printf("%-10zu %10.3f", points, 1e3 * time.wall);
        if (!options->json && before > 0) printf(" %10.2f", time.wall / before);
        if (!options->json) putchar('\n');
        before = time.wall;
        fflush(stdout);
    }
    return STATUS_OK;
}
