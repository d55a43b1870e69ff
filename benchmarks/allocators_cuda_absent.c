#include "allocators.h"

static const char *absent(void) {
    return "this build has no CUDA";
}

const struct allocator cuda_allocators[CUDA_ALLOCATORS] = {
    {.name = "cudaMalloc", .kind = BLOCKS_ON_DEVICE, .slow = true, .open = absent},
    {.name = "cudaMallocManaged", .kind = BLOCKS_MANAGED, .slow = true, .open = absent},
    {.name = "device pool", .kind = BLOCKS_ON_DEVICE, .open = absent},
    {.name = "managed pool", .kind = BLOCKS_MANAGED, .open = absent},
};
