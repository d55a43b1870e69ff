#include "ferry/pays.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ferry/site.h"
#include "pays_file.h"
#include "pays_measure.h"

#define DEVICES_REMEMBERED 16

/* What is asked. */
typedef struct question {
    ferry_op op;
    op_loop types;
    int nin, device;
    ferry_pays_loop loop;
    void *context;
    char identity[512]; /* of device and machine */
} question;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while something is measured */
static _Atomic size_t answers[DEVICES_REMEMBERED][FERRY_OP_COUNT][FERRY_FLOAT64 + 1]; /* 0: not known yet */

static _Atomic size_t *answer_of(ferry_op op, ferry_dtype dtype, int device) {
    return device >= 0 && device < DEVICES_REMEMBERED ? &answers[device][op][dtype] : NULL;
}

static ferry_status host_line(const question *q, pays_line *out) {
    char name[64];
    snprintf(name, sizeof name, "%s %s", ferry_op_name(q->op), ferry_dtype_name(q->types.compute[0]));
    if (pays_file_load(q->identity, name, out, sizeof *out))
        return FERRY_OK;
    const ferry_status status = pays_measure_host(&q->types, q->nin, q->loop, q->context, out);
    if (status == FERRY_OK)
        pays_file_store(q->identity, name, out, sizeof *out);
    return status;
}

static ferry_status launch_ns(const question *q, double *out) {
    if (pays_file_load(q->identity, "launch", out, sizeof *out))
        return FERRY_OK;
    const ferry_status status = pays_measure_launch(q->device, out);
    if (status == FERRY_OK)
        pays_file_store(q->identity, "launch", out, sizeof *out);
    return status;
}

static ferry_status device_line(const question *q, pays_line *out) {
    ferry_link_costs costs;
    ferry_status status = ferry_link_get(q->device, &costs);
    if (status == FERRY_OK)
        status = launch_ns(q, &out->fixed_ns);
    if (status == FERRY_OK)
        out->element_ns = pays_crossing_ns(&costs, (size_t)q->nin * ferry_dtype_size(q->types.compute[0]),
                                           ferry_dtype_size(q->types.result));
    return status;
}

/* Lock held. */
static ferry_status answer(question *q, size_t *elements) {
    pays_line host, device;
    ferry_status status = ferry_link_identity(q->device, q->identity, sizeof q->identity);
    if (status == FERRY_OK)
        status = device_line(q, &device);
    if (status == FERRY_OK)
        status = host_line(q, &host);
    if (status == FERRY_OK)
        *elements = pays_from(host, device);
    return status;
}

/* Blocks of the measurement are not the program's: its site learns nothing from them. */
static ferry_status find(question *q, ferry_dtype dtype, size_t *elements) {
    _Atomic size_t *remembered = answer_of(q->op, dtype, q->device);
    pthread_mutex_lock(&lock);
    const ferry_site site = ferry_site_set(ferry_site_label("ferry_op_pays"));
    size_t found = remembered != NULL ? atomic_load(remembered) : 0;
    const ferry_status status = found == 0 ? answer(q, &found) : FERRY_OK;
    if (status == FERRY_OK && remembered != NULL)
        atomic_store_explicit(remembered, found, memory_order_relaxed);
    ferry_site_set(site);
    pthread_mutex_unlock(&lock);
    if (status == FERRY_OK)
        *elements = found;
    return status;
}

static ferry_status check(question *q, ferry_dtype dtype) {
    ferry_device_info info;
    const ferry_dtype in[] = {dtype, dtype};
    ferry_status status = op_check(q->op, q->nin);
    if (status == FERRY_OK && (unsigned)dtype >= FERRY_DTYPE_COUNT)
        status = ferry_error(FERRY_INVALID_ARGUMENT, "%d is no data type", (int)dtype);
    if (status == FERRY_OK && q->loop == NULL)
        status = ferry_error(FERRY_INVALID_ARGUMENT, "the host's loop is missing (NULL)");
    if (status == FERRY_OK)
        status = op_resolve(q->op, in, q->nin, &q->types);
    if (status == FERRY_OK && q->types.compute[0] != dtype)
        status = ferry_error(FERRY_DTYPE, "%s of %s computes in %s", ferry_op_name(q->op), ferry_dtype_name(dtype),
                             ferry_dtype_name(q->types.compute[0]));
    return status == FERRY_OK ? ferry_device_get(q->device, &info) : status;
}

static bool is_known(ferry_op op, ferry_dtype dtype, int device, size_t *elements) {
    if ((unsigned)op >= FERRY_OP_COUNT || (unsigned)dtype > FERRY_FLOAT64)
        return false;
    const _Atomic size_t *remembered = answer_of(op, dtype, device);
    const size_t found = remembered != NULL ? atomic_load_explicit(remembered, memory_order_relaxed) : 0;
    if (found != 0)
        *elements = found;
    return found != 0;
}

ferry_status ferry_op_pays(ferry_op op, ferry_dtype dtype, int device, ferry_pays_loop loop, void *context,
                           size_t *elements) {
    if (is_known(op, dtype, device, elements))
        return FERRY_OK;
    question q = {.op = op, .nin = ferry_op_arity(op), .device = device, .loop = loop, .context = context};
    const ferry_status status = check(&q, dtype);
    if (status != FERRY_OK)
        return status;
    if (strcmp(ferry_backend_name(), "sim") == 0) {
        *elements = SIZE_MAX;
        return FERRY_OK;
    }
    return find(&q, dtype, elements);
}
