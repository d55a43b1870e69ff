/* What a job did: for people, and as JSON. */
#ifndef FERRY_TOOLS_REPORT_H
#define FERRY_TOOLS_REPORT_H

#include "ferry/apply.h"
#include "ferry/stats.h"

/* X(CONSTANT, "name", "what it does"), in order. */
#define STEP_LIST(X)                                                                                                   \
    X(READ, "read", "from the file into managed memory")                                                               \
    X(COMPUTE, "compute", "to the device, and the kernel")                                                             \
    X(HOME, "home", "the result to the host")                                                                          \
    X(WRITE, "write", "from managed memory to the file")

typedef enum step {
#define STEP_ENUM(constant, name, text) STEP_##constant,
    STEP_LIST(STEP_ENUM)
#undef STEP_ENUM
        STEP_COUNT
} step;

typedef struct report_file {
    const char *path;
    ferry_dtype dtype;
    int ndim;
    int64_t shape[FERRY_MAX_DIMS];
    size_t bytes;
} report_file;

typedef struct report {
    ferry_op op;
    int ninputs;
    report_file inputs[2], output;
    const char *backend, *policy;
    ferry_device_info device;
    bool modelled;                    /* times of compute and home are the simulator's */
    uint64_t wall_ns;                 /* from the first read to the file's closing */
    uint64_t step_ns[STEP_COUNT];     /* by the wall's clock */
    uint64_t modelled_ns[STEP_COUNT]; /* by the simulator's */
    ferry_stats stats;
    char unmeasured[256]; /* why nothing was measured; "" when it was */
} report;

void report_file_set(report_file *file, const char *path, const ferry_view *view);
size_t report_input_bytes(const report *r);

/* On standard output. */
void report_print(const report *r);
void report_print_json(const report *r);

#endif
