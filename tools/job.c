#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/movement.h"
#include "ferry/npy.h"
#include "order.h"
#include "tool.h"

typedef struct result_type {
    ferry_dtype dtype;
    int ndim;
    int64_t shape[FERRY_MAX_DIMS];
} result_type;

/* "x.npy", or "x.npy, z.npy": the subject of errors that lie in how the inputs fit. */
static void subject_text(const job *j, char *text, size_t bytes) {
    snprintf(text, bytes, "%s%s%s", j->input_paths[0], j->ninputs > 1 ? ", " : "",
             j->ninputs > 1 ? j->input_paths[1] : "");
}

static int fail_inputs(const job *j) {
    char subject[1024];
    subject_text(j, subject, sizeof subject);
    return fail_library(subject);
}

static int resolve(const job *j, const ferry_view *const *views, result_type *out) {
    const ferry_dtype dtypes[] = {views[0]->dtype, views[j->ninputs - 1]->dtype};
    if (ferry_op_dtypes(j->op, dtypes, j->ninputs, NULL, &out->dtype) != FERRY_OK ||
        ferry_broadcast_shapes(views, j->ninputs, &out->ndim, out->shape) != FERRY_OK)
        return fail_inputs(j);
    return EXIT_DONE;
}

static bool is_regular(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds out from the headers alone whether the operation can work, before gigabytes are read. A pipe is read once,
 * later. */
static int check_inputs(const job *j) {
    ferry_view headers[2];
    const ferry_view *views[] = {&headers[0], &headers[1]};
    result_type result;
    for (int i = 0; i < j->ninputs; i++) {
        ferry_npy_info info;
        if (!is_regular(j->input_paths[i]))
            return EXIT_DONE;
        if (ferry_npy_info_read(j->input_paths[i], &info) != FERRY_OK ||
            ferry_view_make(NULL, info.dtype, info.ndim, info.shape, &headers[i]) != FERRY_OK)
            return fail_library(j->input_paths[i]);
    }
    return resolve(j, views, &result);
}

static int check_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash + 1 - path) : 1;
    if ((size_t)snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".") >= sizeof folder)
        return fail("%s: cannot be written: %s", path, strerror(ENAMETOOLONG));
    if (access(folder, W_OK | X_OK) != 0)
        return fail("%s: cannot be written: %s", path, strerror(errno));
    return EXIT_DONE;
}

/* What can be known of the output before the work is done; the writing itself has the last word. */
static int check_output(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return check_folder(path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return fail("%s: cannot be written: %s", path, strerror(EISDIR));
    return EXIT_DONE;
}

static uint64_t modelled_now(void) {
    ferry_stats stats;
    return ferry_stats_get(&stats) == FERRY_OK ? stats.modelled_ns : 0;
}

static void begin_step(job *j, const char *verb, const char *path) {
    progress_step(&j->progress, verb, path);
    j->step_start_modelled_ns = j->measure ? modelled_now() : 0;
    j->step_start_ns = now_ns();
}

static void end_step(const job *j, step s, report *r) {
    r->step_ns[s] = now_ns() - j->step_start_ns;
    r->modelled_ns[s] = j->measure ? modelled_now() - j->step_start_modelled_ns : 0;
}

static int read_inputs(job *j, report *r) {
    for (int i = 0; i < j->ninputs; i++) {
        begin_step(j, "reading", j->input_paths[i]);
        uint64_t before_ns = r->step_ns[STEP_READ], before_modelled_ns = r->modelled_ns[STEP_READ];
        if (ferry_npy_load_progress(NULL, j->input_paths[i], progress_update, &j->progress, &j->inputs[i]) != FERRY_OK)
            return fail_library(j->input_paths[i]);
        end_step(j, STEP_READ, r);
        r->step_ns[STEP_READ] += before_ns;
        r->modelled_ns[STEP_READ] += before_modelled_ns;
        report_file_set(&r->inputs[i], j->input_paths[i], &j->inputs[i].view);
    }
    return EXIT_DONE;
}

static int compute(job *j, report *r) {
    const ferry_view *views[] = {&j->inputs[0].view, &j->inputs[1].view};
    result_type result;
    int status = resolve(j, views, &result);
    if (status != EXIT_DONE)
        return status;
    begin_step(j, ferry_op_name(j->op), j->input_paths[0]);
    if (create_like(views, j->ninputs, result.dtype, result.ndim, result.shape, &j->output) != FERRY_OK)
        return fail_library(j->output_path);
    if (ferry_apply(j->op, views, j->ninputs, &j->output.view, NULL) != FERRY_OK || ferry_sync(NULL) != FERRY_OK)
        return fail_inputs(j);
    end_step(j, STEP_COMPUTE, r);
    report_file_set(&r->output, j->output_path, &j->output.view);
    return EXIT_DONE;
}

static int bring_home(job *j, report *r) {
    begin_step(j, "bringing home", j->output_path);
    if (ferry_host_acquire(&j->output.view, FERRY_READ) != FERRY_OK)
        return fail_library(j->output_path);
    end_step(j, STEP_HOME, r);
    return EXIT_DONE;
}

static int write_output(job *j, report *r) {
    begin_step(j, "writing", j->output_path);
    if (ferry_npy_save_progress(j->output_path, &j->output.view, progress_update, &j->progress) != FERRY_OK)
        return fail_library(j->output_path);
    end_step(j, STEP_WRITE, r);
    return EXIT_DONE;
}

/*
 * Measurement is welcome, not needed: without it the report says why. It starts when the inputs are in memory, whose
 * first touch CUPTI would count among the host's faults.
 */
static int start_trace(job *j, report *r) {
    if (!j->measure)
        return EXIT_DONE;
    j->traced = ferry_trace_start() == FERRY_OK;
    if (!j->traced)
        snprintf(r->unmeasured, sizeof r->unmeasured, "%s", ferry_error_detail());
    return EXIT_DONE;
}

static int describe(const job *j, report *r) {
    r->op = j->op;
    r->ninputs = j->ninputs;
    r->backend = ferry_backend_name();
    r->modelled = strcmp(r->backend, "sim") == 0;
    r->policy = ferry_policy_name(ferry_heap_policy(ferry_heap_default()));
    if (ferry_device_get(0, &r->device) != FERRY_OK || ferry_stats_get(&r->stats) != FERRY_OK)
        return fail_library(NULL);
    return EXIT_DONE;
}

static int work(job *j, report *r) {
    static int (*const steps[])(job *, report *) = {read_inputs, start_trace, compute, bring_home, write_output};
    uint64_t start_ns = now_ns();
    int status = EXIT_DONE;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EXIT_DONE; i++)
        status = steps[i](j, r);
    r->wall_ns = now_ns() - start_ns;
    return status;
}

int job_run(job *j, report *out) {
    *out = (report){.ninputs = 0};
    progress_init(&j->progress);
    int status = check_inputs(j);
    if (status == EXIT_DONE)
        status = check_output(j->output_path);
    if (status != EXIT_DONE)
        return status;
    status = work(j, out);
    progress_clear(&j->progress);
    if (status == EXIT_DONE)
        status = describe(j, out);
    if (j->traced)
        ferry_trace_stop();
    for (int i = 0; i < j->ninputs; i++)
        ferry_array_release(&j->inputs[i]);
    ferry_array_release(&j->output);
    return status;
}
