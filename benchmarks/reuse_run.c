/* One strategy in one cell of the suite `reuse`: its arrays, its epochs, and whether the results are right. */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "explicit.h"
#include "host_model.h"
#include "pool.h"
#include "reuse.h"

#define LOOKS 32 /* elements of a result that are compared after every epoch */

static bool managed(const struct reuse_run *run) {
    return run->strategy < REUSE_MANAGED;
}

/* A place in the program for each array of each run, so that a cell begins with no history of the cells before. */
static ferry_site site_of(const struct reuse_run *run, int array) {
    char label[128];
    snprintf(label, sizeof label, "reuse %s %zu %d %s %s %d %d", run->cell->kernel->name, run->cell->size_bytes,
             run->cell->passes, reuse_action_names[run->cell->action], reuse_strategy_names[run->strategy], array,
             run->setup->attempt);
    return ferry_site_label(label);
}

static ferry_status create_array(struct reuse_run *run, int which, int64_t count, ferry_array *out) {
    ferry_site before = ferry_site_set(site_of(run, which));
    ferry_status status = ferry_array_create(run->setup->heaps[run->strategy], FERRY_FLOAT64, 1, &count, out);
    ferry_site_set(before);
    return status;
}

static ferry_status open_managed(struct reuse_run *run) {
    ferry_status status = create_array(run, REUSE_ARRAYS, SUM_BLOCKS, &run->partial);
    for (int i = 0; i < run->cell->kernel->arrays && !status; i++) {
        status = create_array(run, i, (int64_t)run->cell->n, &run->arrays[i]);
        if (!status) {
            run->host[i] = run->arrays[i].view.data;
            run->device[i] = ferry_device_pointer(run->host[i]);
        }
    }
    if (!status)
        run->device_partial = ferry_device_pointer(run->partial.view.data);
    return status;
}

static void open_explicit(struct reuse_run *run) {
    int which = (int)run->strategy - REUSE_PAGEABLE;
    memcpy(run->host, run->setup->host[which], sizeof run->host);
    memcpy(run->device, run->setup->device[which], sizeof run->device);
    run->device_partial = run->setup->device_partial;
}

ferry_status reuse_run_open(struct reuse_run *run, struct reuse_setup *setup, const struct reuse_cell *cell,
                            enum reuse_strategy strategy) {
    *run = (struct reuse_run){.setup = setup, .cell = cell, .strategy = strategy};
    run->sparse = setup->modelled && cell->n * sizeof(double) >= POOL_LEAST_BYTES;
    for (int i = 0; i < cell->kernel->inputs; i++)
        run->content[i] = content_new(cell->n, run->sparse);
    if (managed(run))
        return open_managed(run);
    open_explicit(run);
    return FERRY_OK;
}

/* Blocks go home without their contents before they are recycled, so that a cell does not begin where the one before it
 * ended. */
void reuse_run_close(struct reuse_run *run) {
    for (int i = 0; i < REUSE_ARRAYS; i++) {
        if (run->arrays[i].owner)
            (void)ferry_host_acquire(&run->arrays[i].view, FERRY_WRITE);
        ferry_array_release(&run->arrays[i]);
    }
    ferry_array_release(&run->partial);
}

/* Exactly what the host touches, and how. */
static ferry_status acquire(const struct reuse_run *run, int array) {
    static const ferry_access accesses[REUSE_ACTIONS] = {
        [REUSE_OVERWRITE] = FERRY_WRITE,
        [REUSE_UPDATE] = FERRY_READWRITE,
        [REUSE_READ] = FERRY_READ,
        [REUSE_SAMPLE] = FERRY_READ,
    };
    enum reuse_action action = run->epochs ? run->cell->action : REUSE_OVERWRITE;
    ferry_slice slice = {FERRY_SLICE_NONE, FERRY_SLICE_NONE, 1};
    ferry_view part;
    size_t n = run->cell->n, begin, end;
    if (action == REUSE_UPDATE) {
        content_tenth(n, &begin, &end);
        slice = (ferry_slice){(int64_t)begin, (int64_t)end, 1};
    } else if (action == REUSE_SAMPLE) {
        begin = content_probe_index(n, 0);
        slice = (ferry_slice){(int64_t)begin, (int64_t)content_probe_index(n, CONTENT_PROBES - 1) + 1,
                              (int64_t)(content_probe_index(n, 1) - begin)};
    }
    ferry_status status = ferry_view_slice(&run->arrays[array].view, 1, &slice, &part);
    return status ? status : ferry_host_acquire(&part, accesses[action]);
}

/* The first epoch's: every input gets its contents. */
static ferry_status fill_inputs(struct reuse_run *run) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < run->cell->kernel->inputs && !status; i++) {
        status = managed(run) ? acquire(run, i) : FERRY_OK;
        if (!status)
            content_overwrite(&run->content[i], run->host[i]);
    }
    return status;
}

size_t reuse_touched_bytes(enum reuse_action action, size_t n) {
    size_t begin, end;
    content_tenth(n, &begin, &end);
    switch (action) {
    case REUSE_OVERWRITE:
    case REUSE_READ:
        return n * sizeof(double);
    case REUSE_UPDATE:
        return (end - begin) * sizeof(double);
    default:
        return 0;
    }
}

/* Of what the virtual clock has charged the host since `begin`: in the modelled machine several threads go over a large
 * array, and raise their faults side by side. */
static double charged_in_vain(const struct reuse_run *run, double begin) {
    double at_once = host_model_faults_at_once(reuse_touched_bytes(run->cell->action, run->cell->n));
    return run->sparse ? (clock_seconds() - begin) * (1 - 1 / at_once) : 0;
}

static double go_over_on_host(struct reuse_run *run, int array) {
    switch (run->cell->action) {
    case REUSE_OVERWRITE:
        content_overwrite(&run->content[0], run->host[0]);
        return (double)NAN;
    case REUSE_UPDATE:
        content_update(&run->content[0], run->host[0]);
        return (double)NAN;
    case REUSE_READ:
        return content_read(&run->content[0], run->host[array]);
    case REUSE_SAMPLE:
        return content_probe(&run->content[0], run->host[array]);
    default:
        return (double)NAN;
    }
}

/* The host's part. *read is what it read, added up, or NaN; *vain are seconds that do not count. */
static ferry_status act(struct reuse_run *run, double *read, double *vain) {
    enum reuse_action action = run->cell->action;
    int array = action == REUSE_READ || action == REUSE_SAMPLE ? run->cell->kernel->result : 0;
    *read = (double)NAN;
    *vain = 0;
    if (run->epochs == 0)
        return fill_inputs(run);
    ferry_status status = managed(run) && action != REUSE_NOTHING ? acquire(run, array) : FERRY_OK;
    if (status)
        return status;
    double begin = clock_seconds();
    *read = go_over_on_host(run, array);
    *vain = charged_in_vain(run, begin);
    return FERRY_OK;
}

static bool copy(const struct reuse_run *run, int array, bool to_device) {
    size_t bytes = run->cell->n * sizeof(double);
    void *stream = ferry_stream_native(NULL);
    return to_device ? explicit_copy(run->device[array], run->host[array], bytes, stream)
                     : explicit_copy(run->host[array], run->device[array], bytes, stream);
}

/* Copies as somebody makes them who copies whole arrays, but none for nothing: what the host changed goes in, */
static bool copy_in(const struct reuse_run *run) {
    bool changed = run->cell->action == REUSE_OVERWRITE || run->cell->action == REUSE_UPDATE, worked = true;
    for (int i = 0; i < run->cell->kernel->inputs && worked; i++)
        if (run->epochs == 0 || (i == 0 && changed))
            worked = copy(run, i, true);
    return worked;
}

/* and what the host is going to read and the device has written comes out. */
static bool copy_out(const struct reuse_run *run) {
    const struct reuse_kernel *kernel = run->cell->kernel;
    enum reuse_action action = run->cell->action;
    bool reads = action == REUSE_READ || action == REUSE_SAMPLE || (action == REUSE_UPDATE && kernel->result == 0);
    return !reads || !kernel->writes_result || copy(run, kernel->result, false);
}

static ferry_status go_over(const struct reuse_run *run) {
    const struct reuse_kernel *kernel = run->cell->kernel;
    ferry_status status = FERRY_OK;
    for (int pass = 0; pass < run->cell->passes && !status; pass++)
        status = managed(run) ? kernel->pass(run) : kernel->explicit_pass(run);
    return status;
}

static ferry_status passes(const struct reuse_run *run) {
    if (managed(run)) {
        ferry_status status = go_over(run);
        return status ? status : ferry_sync(NULL);
    }
    bool worked = copy_in(run);
    ferry_status status = worked ? go_over(run) : FERRY_OK;
    if (status)
        return status;
    worked = worked && copy_out(run) && explicit_wait(ferry_stream_native(NULL));
    return worked ? FERRY_OK : ferry_error(FERRY_BACKEND, "an explicit copy failed");
}

static bool near(double got, double want, double tolerance) {
    return fabs(got - want) <= tolerance * fabs(want); /* false for NaN */
}

static double expected_read(const struct reuse_run *run) {
    double sum = 0;
    if (run->cell->action == REUSE_READ)
        return run->cell->kernel->sum(run);
    for (size_t k = 0; k < CONTENT_PROBES; k++)
        sum += run->cell->kernel->value(run, content_probe_index(run->cell->n, k));
    return sum;
}

/* A look at the device's results from the device, which moves nothing. */
static ferry_status check_result(struct reuse_run *run) {
    const struct reuse_cell *cell = run->cell;
    double *out = run->setup->gathered;
    if (!cell->kernel->writes_result) {
        double sum = 0;
        ferry_status status = bench_gather(&run->setup->kernels, run->device_partial, out, 0, 1, SUM_BLOCKS);
        for (size_t i = 0; i < SUM_BLOCKS; i++)
            sum += out[i];
        run->wrong |= !status && !near(sum, content_sum(&run->content[0]), 1e-12);
        return status;
    }
    size_t step = cell->n / LOOKS, first = run->epochs % step;
    ferry_status status =
        bench_gather(&run->setup->kernels, run->device[cell->kernel->result], out, first, step, LOOKS);
    for (size_t k = 0; k < LOOKS && !status; k++)
        run->wrong |= !near(out[k], cell->kernel->value(run, first + k * step), 1e-12);
    return status;
}

static bool computed(const struct reuse_run *run) {
    return !run->sparse && !(run->setup->modelled && run->cell->kernel == &reuse_kernels[REUSE_PRODUCT]);
}

ferry_status reuse_run_epoch(struct reuse_run *run, double *seconds) {
    double read, vain, begin = clock_seconds();
    ferry_status status = act(run, &read, &vain);
    if (status)
        return status;
    double acted = clock_seconds() - vain;
    /* Results change with the passes: what was read has to be compared first. */
    if (!isnan(read) && computed(run))
        run->wrong |= !near(read, expected_read(run), 1e-9);
    double resumed = clock_seconds();
    status = passes(run);
    if (status)
        return status;
    *seconds = clock_seconds() - resumed + acted - begin;
    if (run->cell->kernel == &reuse_kernels[REUSE_IN_PLACE] && run->cell->passes % 2)
        content_negate(&run->content[0]);
    run->epochs++;
    return computed(run) ? check_result(run) : FERRY_OK;
}

void reuse_run_explain(const struct reuse_run *run, char *text, size_t bytes) {
    *text = '\0';
    for (int i = 0; i < run->cell->kernel->arrays && managed(run) && run->arrays[i].owner; i++) {
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%c ", i ? "; " : "", "xyz"[i]);
        used = strlen(text);
        if (bytes > used + 1 && ferry_explain(&run->arrays[i].view, text + used, bytes - used))
            text[used] = '\0';
    }
}
