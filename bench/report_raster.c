// SPDX-License-Identifier: Apache-2.0
#include "bench/report_raster.h"

#include "base/json.h"
#include "bench/raster_bench.h"

#include <stdio.h>

static Status report(const RasterBench *b, bool json, Error *err) {
    double forward = 1e3 * b->forward.wall, backward = 1e3 * b->backward.wall;
    int faces = 2 * b->across * b->around;
    if (json)
        return json_write_line(stdout,
                               json_pack("{s:s s:s s:s s:s s:i s:i s:f s:f s:I}", "bench", "raster", "method",
                                         b->method, "precision", b->precision, "isa", b->isa, "faces", faces, "side",
                                         b->side, "forward_ms", forward, "backward_ms", backward, "bytes",
                                         (json_int_t)b->peak_bytes),
                               err);
    printf("%-9s %4s %7d %4dx%-4d %9.2f %9.2f %9.2f %8.1f\n", b->method, b->precision, faces, b->side, b->side, forward,
           backward, forward + backward, (double)b->peak_bytes / (1 << 20));
    return STATUS_OK;
}

Status bench_raster(Device *device, const BenchOptions *options, Error *err) {
    Status status = STATUS_OK;
    if (!options->json)
        printf("\nrasters: a torus with one light, on the CPU\n%-9s %4s %7s %9s %9s %9s %9s %8s\n", "method", "",
               "faces", "pixels", "fwd ms", "bwd ms", "both", "MiB");
    for (int i = 0; i < RASTER_BENCHES && status == STATUS_OK; i++) {
        RasterBench b;
        status = raster_bench(device, i, options->repeat, &b, err);
        if (status == STATUS_OK) status = report(&b, options->json, err);
    }
    return status;
}
