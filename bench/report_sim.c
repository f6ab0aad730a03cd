// SPDX-License-Identifier: Apache-2.0
#include "bench/report_sim.h"

#include "base/json.h"
#include "bench/sim_bench.h"

#include <stdio.h>

static Status report(const SimBench *b, bool json, Error *err) {
    const double steps = (double)b->steps, forward = steps / b->forward.wall, both = steps / b->both.wall;
    const char *precision = b->precision == SIM_F64 ? "f64" : "f32";
    if (json)
        return json_write_line(stdout,
                               json_pack("{s:s s:s s:s s:s s:i s:I s:I s:I s:I s:I s:f s:f s:I}", "bench", "sim",
                                         "scene", b->name, "precision", precision, "isa", b->isa, "threads", b->threads,
                                         "scenes", (json_int_t)b->scenes, "particles", (json_int_t)b->particles,
                                         "springs", (json_int_t)b->springs, "tets", (json_int_t)b->tets, "hinges",
                                         (json_int_t)b->hinges, "steps_per_second", forward, "with_gradient", both,
                                         "bytes", (json_int_t)b->peak_bytes),
                               err);
    printf("%-22s %4s %7d %7zu %8zu %8zu %8zu %10.0f %10.0f %8.1f\n", b->name, precision, b->threads, b->scenes,
           b->springs, b->tets, b->hinges, forward, both, (double)b->peak_bytes / (1 << 20));
    return STATUS_OK;
}

Status bench_sim(Device *device, const BenchOptions *options, Error *err) {
    Status status = STATUS_OK;
    if (!options->json)
        printf("\nsimulator: steps a second, forward alone and with the gradient\n"
               "%-22s %4s %7s %7s %8s %8s %8s %10s %10s %8s\n",
               "scene", "", "threads", "scenes", "springs", "tets", "hinges", "forward", "gradient", "MiB");
    for (int i = 0; i < SIM_BENCHES && status == STATUS_OK; i++) {
        SimBench b;
        if (!sim_bench_is_of(device, i)) continue;
        status = sim_bench(device, i, options->repeat, &b, err);
        if (status == STATUS_OK) status = report(&b, options->json, err);
    }
    return status;
}
