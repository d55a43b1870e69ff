/* In the place of CUDA's driver and runtime: what allocates, and what is told of a program's blocks. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *fake_allocate(size_t bytes);
EXPORT void *fake_resize(void *block, size_t bytes);
EXPORT void *fake_zeros(size_t bytes);
EXPORT int cudaHostRegister(void *block, size_t bytes, unsigned flags);
EXPORT int cudaHostUnregister(void *block);
EXPORT int cudaHostGetDevicePointer(void **out, void *block, unsigned flags);
EXPORT int cuMemHostRegister_v2(void *block, size_t bytes, unsigned flags);
EXPORT int cuMemHostUnregister(void *block);
EXPORT int cuMemHostGetDevicePointer_v2(void **out, void *block, unsigned flags);

/* The last call's, for the program to look at. */
EXPORT void *fake_block;
EXPORT size_t fake_bytes;
EXPORT unsigned fake_flags;
EXPORT int fake_calls;

/* Stored first: a call in the last place is a jump, and would return to the program. */
void *fake_allocate(size_t bytes) {
    void *volatile block = malloc(bytes);
    return block;
}

void *fake_resize(void *block, size_t bytes) {
    void *volatile moved = realloc(block, bytes);
    return moved;
}

void *fake_zeros(size_t bytes) {
    void *volatile block = calloc(1, bytes);
    return block;
}

static int note(void *block, size_t bytes, unsigned flags) {
    fake_block = block;
    fake_bytes = bytes;
    fake_flags = flags;
    fake_calls++;
    return 700 + fake_calls;
}

int cudaHostRegister(void *block, size_t bytes, unsigned flags) {
    return note(block, bytes, flags);
}

int cudaHostUnregister(void *block) {
    return note(block, 0, 0);
}

int cudaHostGetDevicePointer(void **out, void *block, unsigned flags) {
    *out = fake_block;
    return note(block, 1, flags);
}

int cuMemHostRegister_v2(void *block, size_t bytes, unsigned flags) {
    return note(block, bytes, flags);
}

int cuMemHostUnregister(void *block) {
    return note(block, 0, 0);
}

int cuMemHostGetDevicePointer_v2(void **out, void *block, unsigned flags) {
    *out = fake_block;
    return note(block, 1, flags);
}
