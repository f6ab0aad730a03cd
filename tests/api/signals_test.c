// SPDX-License-Identifier: Apache-2.0
// Signals that reach a process while libvpd computes: a handler of the host must not run on a thread that computes,
// masks are the caller's again afterwards, and a long call can be ended. VPD_SIGNALS (60): how many of each kind.
#include "tests/api/world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const int kinds[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM};
enum { KINDS = sizeof kinds / sizeof *kinds, THREADS = 2 };

static volatile sig_atomic_t handled[KINDS];
static const void *interrupted[1 << 16]; // where threads were when a handler ran
static atomic_size_t interruptions;

static const void *place_of(const ucontext_t *context) {
#if defined __x86_64__
    return (const void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (const void *)context->uc_mcontext.pc;
#else
#error "where does this processor keep its program counter?"
#endif
}

// Writes to a good part of its stack, as handlers of profilers do.
static void on_signal(int number, siginfo_t *info, void *context) {
    (void)info;
    volatile char stack[4096];
    for (size_t i = 0; i < sizeof stack; i += 64) stack[i] = (char)number;
    for (int i = 0; i < KINDS; i++)
        if (kinds[i] == number) handled[i]++;
    interrupted[atomic_fetch_add(&interruptions, 1) % (1 << 16)] = place_of(context);
}

// Handlers that ran while their thread was in oneDNN, or in code that it had generated: which belongs to no file.
static size_t count_in_onednn(void) {
    size_t count = 0, all = atomic_load(&interruptions);
    for (size_t i = 0; i < all && i < 1 << 16; i++) {
        Dl_info file;
        count += !dladdr(interrupted[i], &file) || strstr(file.dli_fname, "libdnnl");
    }
    return count;
}

static void handle_all(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < KINDS; i++) assert_int_equal(sigaction(kinds[i], &action, NULL), 0);
}

static void nap(long microseconds) {
    nanosleep(&(struct timespec){.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000}, NULL);
}

// A process that sends one signal after the other to this one for as long as it lives.
static pid_t start_sender(long microseconds) {
    pid_t host = getpid(), sender = fork();
    if (sender) return sender;
    for (int i = 0; getppid() == host; i = (i + 1) % KINDS) {
        kill(host, kinds[i]);
        nap(microseconds);
    }
    _exit(0);
}

static void end_sender(pid_t sender) {
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
}

// ---- short calls

// Good, or ended by one of the signals.
static bool went_on(vpd_status status, const vpd_error *err) {
    if (status != VPD_OK && (status != VPD_STOPPED || !strstr(err->text, "stopped by SIG"))) fail_msg("%s", err->text);
    return status == VPD_OK;
}

// One round of what a simulation loop calls.
static void use(vpd_model *model, const vpd_frames *frames) {
    vpd_error err = {0};
    vpd_scene *scene = NULL;
    static float colour[3 * 48 * 48];
    if (!went_on(vpd_scene_encode(model, frames, &scene, &err), &err)) return;
    vpd_view view = world_view(scene, 0);
    vpd_picture picture = {.struct_size = sizeof picture, .colour = colour};
    view.H = view.W = 48;
    if (went_on(vpd_scene_step(scene, 2, &err), &err)) went_on(vpd_scene_render(scene, 1, &view, &picture, &err), &err);
    vpd_scene_free(scene);
}

static bool all_handled(int wanted) {
    bool all = true;
    for (int i = 0; i < KINDS; i++) all = all && handled[i] >= wanted;
    return all;
}

// No thread of the caller's has a signal blocked that it had not.
static void check_masks(void) {
    int blocked = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : blocked)
    {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        for (int number = 1; number <= SIGRTMAX; number++) blocked += sigismember(&mask, number) == 1;
    }
    assert_int_equal(blocked, 0);
}

// OpenMP's threads are there before the library is, as those of another library in the process may be.
static void handlers_do_not_disturb(void **state) {
    (void)state;
    static WorldFrames world;
    int wanted = getenv("VPD_SIGNALS") ? atoi(getenv("VPD_SIGNALS")) : 60, rounds = 0;
    omp_set_num_threads(THREADS);
    check_masks();
    vpd_model *model = world_open_model("model.h5", THREADS);
    world_read_frames(&world);
    vpd_frames frames = world_frames(&world);
    handle_all();
    pid_t sender = start_sender(500);
    for (time_t end = time(NULL) + 1000; !all_handled(wanted) && time(NULL) < end; rounds++) use(model, &frames);
    end_sender(sender);
    for (int i = 0; i < KINDS; i++) {
        printf("%s: %d handled\n", strsignal(kinds[i]), (int)handled[i]);
        assert_true(handled[i] >= wanted);
    }
    printf("in %d rounds of encode, step and render\n", rounds);
    assert_int_equal(count_in_onednn(), 0);
    check_masks();
    vpd_model_close(model);
}

// A signal without a handler ends the process in the middle of a call, as it always did.
static void unhandled_signals_act(void **state) {
    (void)state;
    int result;
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model);
    pid_t host = fork();
    if (host == 0) {
        signal(SIGTERM, SIG_DFL);
        pid_t parent = getpid();
        if (fork() == 0) {
            nap(100000);
            kill(parent, SIGTERM);
            _exit(0);
        }
        vpd_scene_step(scene, 1 << 20, &err); // hours
        _exit(1);
    }
    assert_int_equal(waitpid(host, &result, 0), host);
    assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGTERM);
    vpd_scene_free(scene);
    vpd_model_close(model);
}

// ---- long calls

static const char *const tiny[] = {"model.C=8",
                                   "model.D=6",
                                   "encoder.N=300",
                                   "encoder.widths=[4,6]",
                                   "gnn.M=16",
                                   "gnn.L=1",
                                   "renderer.widths=[8,8]",
                                   "train.rollout=[1]",
                                   "train.rollout_from=[0]",
                                   "train.rays=8",
                                   "train.steps=40",
                                   "train.motion_steps=0",
                                   "train.eval_every=0",
                                   "train.picture_every=0",
                                   "train.checkpoint_every=1000000"};

static int count_checkpoints(const char *folder) {
    char path[256];
    int count = 0;
    snprintf(path, sizeof path, "%s/checkpoints", folder);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) count += strncmp(entry->d_name, "step_", 5) == 0;
    closedir(entries);
    return count;
}

static int told;

// After the third step a signal is sent, which waits because the call holds it.
static int send_after_three(void *number, const char *json) {
    (void)json;
    if (++told == 3) kill(getpid(), *(int *)number);
    return 0;
}

static void waiting_signals_end_training(void **state) {
    (void)state;
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    handle_all();
    omp_set_num_threads(1); // no thread of ours takes the signal
    for (int i = 0; i < 3; i++) {
        vpd_error err = {0};
        char folder[128], name[32];
        int number = ends[i], before = handled[i];
        snprintf(name, sizeof name, "signal_%d", i);
        snprintf(folder, sizeof folder, "%s", world_place(name));
        vpd_train_options options = {.struct_size = sizeof options,
                                     .set = tiny,
                                     .set_count = sizeof tiny / sizeof *tiny,
                                     .data = world_place("data.h5"),
                                     .out = folder,
                                     .device = "cpu",
                                     .threads = 1,
                                     .line = send_after_three,
                                     .context = &number};
        told = 0;
        assert_vpd_error(vpd_train(&options, NULL, &err), VPD_STOPPED, err, "stopped by SIG");
        assert_int_equal(handled[i], before + 1);       // the host's handler has run now
        assert_int_equal(count_checkpoints(folder), 2); // of the start and of the stop
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_signals_end_training),
                                       cmocka_unit_test(unhandled_signals_act),
                                       cmocka_unit_test(handlers_do_not_disturb)};
    return cmocka_run_group_tests(tests, world_make, world_remove);
}
