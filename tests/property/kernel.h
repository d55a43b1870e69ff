/* What programs launch: every output computed from every input, on the host and on a device. */
#ifndef FERRY_TESTS_PROPERTY_KERNEL_H
#define FERRY_TESTS_PROPERTY_KERNEL_H

#include "world.h"

/* What the kernel is told beside its operands' addresses. The device's source repeats it. */
struct call {
    int n;
    int stream;
    bool masks; /* the operands are masks: what depends on something undefined is undefined */
    uint64_t salt;
    ferry_access access[OPERANDS];
    int items[OPERANDS];        /* their bytes */
    ferry_view views[OPERANDS]; /* their data pointers count for nothing */
};

ferry_kernel *kernel_make(struct world *world);

/* Of the launch. */
ferry_grid kernel_grid(const struct world *world);

/* All inputs are read before an output is written, whatever overlaps; data[i] is where operand i is. */
void kernel_perform(const struct call *call, char *const *data);

/* One value and another that flows into it. */
uint64_t kernel_mix(uint64_t value, uint64_t input);

/* A mask's values where every byte of an element is defined, widened; an undefined byte makes the whole undefined. */
void kernel_widen_masks(uint64_t *values, size_t n, size_t item);

#endif
