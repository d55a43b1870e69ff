/*
 * A reduction as passes over memory, and the order in which every pass combines elements.
 *
 * The elements that make one result are numbered as they lie in memory: the reduced axes by falling stride. They are
 * cut into chunks of REDUCE_CHUNK. Lane j of a chunk combines its elements j, j + REDUCE_LANES, j + 2 REDUCE_LANES, …
 * one after the other. Then neighbouring lanes are combined, level by level: at step 1, 2, 4, … lane j, a multiple of
 * twice the step, takes in lane j + step where there is one. Lane 0 then holds the chunk's value. The chunks' values
 * are reduced in the same way by the next pass, until one is left. So the order depends on the number of elements
 * alone; any aligned run of lanes of a length that is a power of two is a subtree, which is how threads share the work.
 */
#ifndef FERRY_KERNELS_REDUCE_PLAN_H
#define FERRY_KERNELS_REDUCE_PLAN_H

#include "plan.h"
#include "reductions.h"

#define REDUCE_LANES 1024
#define REDUCE_ROUNDS 8
#define REDUCE_CHUNK (REDUCE_LANES * REDUCE_ROUNDS)
#define REDUCE_PASSES_MAX 5 /* REDUCE_CHUNK to this power is more than INT64_MAX */

/*
 * One pass: target[o, c] = the value of chunk c of source[o, ...]. Of the two plans the axes and data count: operand 0
 * is the target, operand 1 the source. A plain value: it is what the simulator's kernel gets.
 */
typedef struct reduce_pass {
    ferry_op op;
    ferry_dtype accumulator;
    plan kept;    /* the results */
    plan reduced; /* the elements that make one; the target's strides are 0 */
    int64_t chunks;
} reduce_pass;

/* The first pass, from `in` to where `out` is. Neither is empty, and their shapes fit. Bits of axes that are not there
 * do not count. */
void reduce_plan_first(reduce_pass *p, const reduction_types *types, const ferry_view *in, uint32_t axes,
                       const ferry_view *out);

/*
 * Where p has more than one chunk: turns its target to `values`, C-contiguous, chunks last, p->kept.size * p->chunks of
 * the accumulator's type, and makes the pass that goes on from there to p's old target.
 */
void reduce_plan_split(reduce_pass *p, void *values, reduce_pass *next);

#endif
