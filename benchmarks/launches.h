/* Launches of a kernel that does nothing, on operands that are in place: what each way of launching costs by itself. */
#ifndef FERRY_BENCHMARKS_LAUNCHES_H
#define FERRY_BENCHMARKS_LAUNCHES_H

#include "ferry/ferry.h"
#include "report.h"

#define LAUNCHES_OPERANDS 16
#define LAUNCHES_BYTES ((size_t)1 << 20) /* of an operand */
#define LAUNCHES_BATCH 200               /* that are timed as one: few enough for the device's queue never to be full */

struct launches {
    ferry_kernel *kernel; /* takes `count` pointers */
    bool has_bare;        /* CUDA's own launch of the same */
    void *stream;         /* the library's own, on which bare launches go as well */
    size_t count;
    ferry_array arrays[LAUNCHES_OPERANDS];
    ferry_operand operands[LAUNCHES_OPERANDS]; /* read, written, read, … */
    void *args[LAUNCHES_OPERANDS];             /* as cudaLaunchKernel takes them */
    size_t sizes[LAUNCHES_OPERANDS];
};

/* Arrays of the heap (NULL: the default one), brought to the device, and a kernel that takes so many. Bare launches
 * are of the kernel of the last call that asked for them. Close it in any case. */
ferry_status launches_open(struct launches *launches, size_t count, ferry_heap *heap, bool bare);
void launches_close(struct launches *launches);

/* One launch, of which the library is told the first `operands` operands; all are passed. */
typedef ferry_status (*launch_function)(struct launches *launches, size_t operands);

/* What everything is held against: CUDA's own launch; without CUDA, the next. */
ferry_status launches_bare(struct launches *launches, size_t operands);
/* ferry_kernel_enqueue, which moves nothing and notes nothing. */
ferry_status launches_enqueue(struct launches *launches, size_t operands);
/* The bare launch between ferry_acquire and ferry_complete. */
ferry_status launches_acquired(struct launches *launches, size_t operands);
/* ferry_launch, which is told of all. */
ferry_status launches_launch(struct launches *launches, size_t operands);

/* Seconds for one of `batch` launches that are timed as one, by this machine's clock. */
ferry_status launches_time(struct launches *launches, launch_function launch, size_t operands, size_t batch,
                           struct samples *samples);

#endif
