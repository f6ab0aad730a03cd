// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a GPU: each fault at opening has a sentence of its own; a GPU that is lost, or memory that
// ends, in the middle of a training step ends the run with one, and the checkpoint of before goes on.
#include "tests/infer_world.h"

#include "files/checkpoint.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "train/trainer.h"

enum { INSUFFICIENT_DRIVER = 35, NO_DEVICE = 100, NO_KERNEL_IMAGE = 209 }; // cudaError_t
static const CudaOnCpuMachine usual = {.driver = 13000, .gpus = 1};

static void must_not_open(CudaOnCpuMachine machine, const char *words) {
    Device *device = NULL;
    Error err = {0};
    cuda_on_cpu_machine(machine);
    assert_status_error(cuda_on_cpu_open(&device, &err), STATUS_FAILED, err, words);
    cuda_on_cpu_machine(usual);
    assert_null(device);
}

static void each_fault_at_opening_has_a_sentence(void **state) {
    (void)state;
    must_not_open((CudaOnCpuMachine){.driver = 0, .count_error = INSUFFICIENT_DRIVER}, "no NVIDIA driver is installed");
    must_not_open((CudaOnCpuMachine){.driver = 11020, .gpus = 1, .count_error = INSUFFICIENT_DRIVER},
                  "too old: it supports CUDA 11.2, this build needs 13.0");
    must_not_open((CudaOnCpuMachine){.driver = 12000, .gpus = 1}, "driver is too old: it supports CUDA 12.0");
    must_not_open((CudaOnCpuMachine){.driver = 13000, .count_error = NO_DEVICE}, "finds no GPU");
    must_not_open((CudaOnCpuMachine){.driver = 13000}, "finds no GPU");
    must_not_open((CudaOnCpuMachine){.driver = 13000, .gpus = 1, .count_error = 999}, "looking for GPUs");
    must_not_open((CudaOnCpuMachine){.driver = 13000, .gpus = 1, .probe_error = NO_KERNEL_IMAGE},
                  "has compute capability 9.0, which this build has no code for");
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(cuda_on_cpu_open(&device, &err), err); // and nothing of all that stays
    device_close(device);
}

// ---- in the middle of a run

typedef struct Run {
    const World *world;
    const char *folder;
    bool graphs;  // train.cuda_graph
    size_t limit; // of the GPU's memory once the training has looked at what there is; 0: none
    DeviceReplay replay;
} Run;

// Another program takes memory of the GPU, after the training has found enough of it.
static Status take_memory(void *owner, const Vpd *model, const TrainData *data, Error *err) {
    const Run *run = owner;
    (void)model, (void)data, (void)err;
    if (run->limit) cuda_on_cpu_limit(run->limit);
    return STATUS_OK;
}

static Status train_run_to(Run *run, long steps, bool resume, Error *err) {
    char data[256], out[256], length[32], graph[32];
    snprintf(data, sizeof data, "data.path=%s", run->world->data);
    snprintf(out, sizeof out, "train.out=%s", run->folder);
    snprintf(graph, sizeof graph, "train.cuda_graph=%s", run->graphs ? "true" : "false");
    snprintf(length, sizeof length, "train.steps=%ld", steps);
    const char *const pairs[] = {data,
                                 out,
                                 length,
                                 graph,
                                 "encoder.N=48",
                                 "gnn.graph=hierarchical",
                                 "train.rollout=[1]",
                                 "train.rollout_from=[0]",
                                 "train.rays=4",
                                 "train.checkpoint_every=1",
                                 "train.picture_every=0",
                                 "train.eval_every=0",
                                 NULL};
    Config config;
    Device *device = NULL;
    world_config(&config, pairs);
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    Log log = log_open(nowhere, true);
    TrainOptions options = {.resume = resume, .log = &log, .hooks = {.owner = run, .check = take_memory}};
    Status status = cuda_on_cpu_open(&device, err);
    if (status == STATUS_OK) status = train_run(&config, device, &options, &(TrainSummary){0}, err);
    if (device) run->replay = device->replay;
    device_close(device);
    fclose(nowhere);
    return status;
}

static Status train(const World *world, const char *folder, long steps, bool resume, Error *err) {
    Run run = {.world = world, .folder = folder};
    return train_run_to(&run, steps, resume, err);
}

enum { FOLDER_SIZE = 128 };

// A world, and the folder that a run in it gets.
static void open_world(World *world, char folder[FOLDER_SIZE]) {
    world_open(world, WORLD_PLAIN);
    snprintf(folder, FOLDER_SIZE, "%s/run", world->folder);
}

static long newest_step(const char *folder) {
    char checkpoints[256];
    CheckpointFound found;
    CheckpointMeta meta;
    Error err = {0};
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", folder);
    assert_status_ok(checkpoint_find_latest(checkpoints, &found, &err), err);
    assert_status_ok(checkpoint_read_meta(found.path, &meta, &err), err);
    return meta.step;
}

static void a_lost_gpu_loses_a_step(void **state) {
    (void)state;
    World world;
    Error err = {0};
    char folder[FOLDER_SIZE];
    open_world(&world, folder);
    assert_status_ok(train(&world, folder, 1, false, &err), err);
    long before = cuda_on_cpu_launches();
    assert_status_ok(train(&world, folder, 2, true, &err), err);
    long of_a_step = cuda_on_cpu_launches() - before;
    assert_true(of_a_step > 50);
    static const double places[] = {0.1, 0.9}; // of the third step
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        cuda_on_cpu_lose((long)(places[i] * (double)of_a_step));
        assert_status_error(train(&world, folder, 3, true, &err), STATUS_FAILED, err, "unspecified launch failure");
        assert_non_null(strstr(err.text, "CUDA: "));
        cuda_on_cpu_lose(-1);
        assert_int_equal(newest_step(folder), 2);
    }
    assert_status_ok(train(&world, folder, 3, true, &err), err);
    assert_int_equal(newest_step(folder), 3);
    world_close(&world);
}

static void a_gpu_lost_in_a_graph_loses_a_step(void **state) {
    (void)state;
    enum { STEPS = 8, LAST = STEPS - 1 };
    World world;
    Error err = {0};
    char folder[128];
    world_open(&world, WORLD_PLAIN);
    snprintf(folder, sizeof folder, "%s/whole", world.folder);
    Run whole = {.world = &world, .folder = folder, .graphs = true}, lost = whole;
    long before = cuda_on_cpu_launches();
    assert_status_ok(train_run_to(&whole, STEPS, false, &err), err);
    long launches = cuda_on_cpu_launches() - before;
    assert_true(whole.replay.launched > 20);
    char other[128];
    snprintf(other, sizeof other, "%s/lost", world.folder);
    lost.folder = other;
    cuda_on_cpu_lose(launches - 20);
    assert_status_error(train_run_to(&lost, STEPS, false, &err), STATUS_FAILED, err, "unspecified launch failure");
    assert_true(lost.replay.launched > 20);
    cuda_on_cpu_lose(-1);
    assert_int_equal(newest_step(other), LAST);
    world_close(&world);
}

// The number behind `words`, in bytes.
static double bytes_behind(const char *text, const char *words) {
    const char *found = strstr(text, words);
    char unit[8] = "";
    double number = 0;
    assert_non_null(found);
    assert_int_equal(sscanf(found + strlen(words), " %lf %7[a-zA-Z]", &number, unit), 2);
    return number * (!strcmp(unit, "MiB") ? 1 << 20 : !strcmp(unit, "bytes") ? 1 : -1);
}

// It names what each part holds, which comes to what was handed out, and options that help.
static void assert_sentence_is_whole(const char *text, size_t limit) {
    static const char *const uses[] = {"parameters", "optimiser",   "inputs",
                                       "encoder",    "dynamics",    "renderer",
                                       "gradients",  "temporaries", "reserved but unused"};
    double sum = 0, left = bytes_behind(text, " has "), slack = 0.06 * (1 << 20); // one decimal
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char words[32];
        snprintf(words, sizeof words, "%s ", uses[i]);
        const char *held = strstr(text, "; held: "), *smaller = strstr(text, "; smaller: ");
        assert_true(held && smaller);
        const char *found = strstr(held, words);
        if (found && found < smaller) sum += bytes_behind(held, words);
        slack += 0.06 * (1 << 20);
    }
    assert_true(fabs(sum + left - (double)limit) < slack);
    assert_non_null(strstr(text, "; smaller: "));
    assert_non_null(strstr(text, "train."));
    assert_null(strchr(text, '\n'));
}

static void memory_that_ends_ends_the_run(void **state) {
    (void)state;
    World world;
    Error err = {0};
    char folder[FOLDER_SIZE];
    open_world(&world, folder);
    assert_status_ok(train(&world, folder, 1, false, &err), err);
    enum { PARTS = 4, KIB = 1024 };
    static const char *const parts[PARTS] = {"(encoder)", "(dynamics)", "(renderer)", "(gradients)"};
    size_t ended_in[PARTS] = {0}, limit = 640 * KIB;
    for (;; limit += limit / (strstr(err.text, "MiB more") ? 4 : 12)) { // until a large piece fits
        Run run = {.world = &world, .folder = folder, .limit = limit};
        Status came = train_run_to(&run, 2, true, &err);
        cuda_on_cpu_limit(SIZE_MAX);
        if (came == STATUS_OK) break;
        assert_int_equal(came, STATUS_FAILED);
        assert_non_null(strstr(err.text, "out of memory"));
        assert_int_equal(newest_step(folder), 1);
        for (size_t i = 0; i < PARTS; i++)
            if (strstr(err.text, parts[i])) ended_in[i]++;
        if (strstr(err.text, "(gradients)")) assert_sentence_is_whole(err.text, limit);
    }
    for (size_t i = 0; i < PARTS; i++) assert_true(ended_in[i] > 0);
    world_close(&world);
}

static void too_little_memory_is_refused_before_the_run(void **state) {
    (void)state;
    World world;
    Error err = {0};
    char folder[FOLDER_SIZE];
    open_world(&world, folder);
    long before = cuda_on_cpu_launches();
    cuda_on_cpu_limit(640 << 10);
    assert_status_error(train(&world, folder, 1, false, &err), STATUS_BAD_INPUT, err, "this training needs about");
    cuda_on_cpu_limit(SIZE_MAX);
    assert_non_null(strstr(err.text, "the device ("));
    assert_int_equal(cuda_on_cpu_launches(), before);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_at_opening_has_a_sentence), cmocka_unit_test(a_lost_gpu_loses_a_step),
        cmocka_unit_test(a_gpu_lost_in_a_graph_loses_a_step), cmocka_unit_test(memory_that_ends_ends_the_run),
        cmocka_unit_test(too_little_memory_is_refused_before_the_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
