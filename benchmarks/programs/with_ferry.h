/* The ferry versions: kernels from the shared source, and how their launches are written. */
#ifndef PROGRAMS_WITH_FERRY_H
#define PROGRAMS_WITH_FERRY_H

#include "ferry/ferry.h"
#include "program.h"

/* Ends the program when a call has failed. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != FERRY_OK)                                                                                        \
            fail("%s:%d: %s", __FILE__, __LINE__, ferry_error_detail());                                               \
    } while (0)

/* A kernel of the program's .cuh, which is included after this header. */
#define OPEN(kernel) kernel_open(#kernel, kernel##_on_host)
ferry_kernel *kernel_open(const char *name, ferry_host_kernel host);

/* Arguments: arrays that a kernel goes over once, and variables of the parameter's type. */
#define IN(array) ((ferry_arg){.operand = {.view = &(array).view, .access = FERRY_READ, .passes = 1}})
#define OUT(array) ((ferry_arg){.operand = {.view = &(array).view, .access = FERRY_WRITE, .passes = 1}})
#define INOUT(array) ((ferry_arg){.operand = {.view = &(array).view, .access = FERRY_READWRITE, .passes = 1}})
#define VALUE(variable) ((ferry_arg){.value = &(variable), .bytes = sizeof(variable)})
#define LAUNCH(kernel, count, stream, ...)                                                                             \
    CHECK(ferry_launch(kernel, (ferry_grid){.blocks = {(uint32_t)(count)}, .threads = {THREADS}},                      \
                       (const ferry_arg[]){__VA_ARGS__}, sizeof((ferry_arg[]){__VA_ARGS__}) / sizeof(ferry_arg),       \
                       stream))

/*
 * New arrays of one dimension. `array_new`: the library finds out where it belongs. `array_on_device`: the host fills
 * it and kernels use it all the time, so that it goes to the device when it is first used, and stays.
 * `array_of_kernels`: only kernels use it, so that its pages are made there, as cudaMalloc's are. `array_touched`:
 * zeros, the host has written to its pages, as to those of cudaMallocHost. `array_at_home`: the same, for what kernels
 * write and the host then reads: they store it across the bus.
 */
ferry_array array_new(ferry_dtype dtype, int64_t n);
ferry_array array_on_device(ferry_dtype dtype, int64_t n);
ferry_array array_of_kernels(ferry_dtype dtype, int64_t n);
ferry_array array_touched(ferry_dtype dtype, int64_t n);
ferry_array array_at_home(ferry_dtype dtype, int64_t n);
/* The first n elements of an array, borrowed: not to be released. */
ferry_array array_first(const ferry_array *array, int64_t n);

#endif
