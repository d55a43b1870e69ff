/* The malloc family less malloc and free. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "large.h"
#include "ordinary.h"
#include "shim.h"

/* Of a product that overflows: more than there can be. */
static size_t product(size_t count, size_t bytes) {
    size_t total;
    return __builtin_mul_overflow(count, bytes, &total) ? SIZE_MAX : total;
}

EXPORT void *calloc(size_t count, size_t bytes) {
    const size_t total = product(count, bytes);
    return shim_is_large(total) ? large_allocate(total, 0, true, CALLER()) : ferry_plain_calloc(count, bytes);
}

static void *reallocate(void *block, size_t bytes, void *caller) {
    if (block == NULL) {
        return shim_is_large(bytes) ? large_allocate(bytes, 0, false, caller) : ferry_plain_malloc(bytes);
    }
    return shim_is_large(bytes) || large_may_be(block) ? large_reallocate(block, bytes, caller)
                                                       : ferry_plain_realloc(block, bytes);
}

EXPORT void *realloc(void *block, size_t bytes) {
    return reallocate(block, bytes, CALLER());
}

EXPORT void *reallocarray(void *block, size_t count, size_t bytes) {
    return reallocate(block, product(count, bytes), CALLER());
}

static bool is_alignment(size_t alignment) {
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

/* jemalloc does not align what has no bytes. */
static void *aligned(size_t alignment, size_t bytes, void *caller) {
    return shim_is_large(bytes) ? large_allocate(bytes, alignment, false, caller)
                                : ferry_plain_memalign(alignment, bytes == 0 ? 1 : bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes) {
    const int saved = errno;
    if (!is_alignment(alignment) || alignment < sizeof(void *)) {
        return EINVAL;
    }
    void *block = aligned(alignment, bytes, CALLER());
    errno = saved;
    if (block == NULL) {
        return ENOMEM;
    }
    *out = block;
    return 0;
}

/* As in glibc, a bad alignment is an error and a size that is no multiple of it is not. */
EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    if (!is_alignment(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return aligned(alignment, bytes, CALLER());
}

/* As in glibc, an alignment that is no power of two is rounded up to one. */
EXPORT void *memalign(size_t alignment, size_t bytes) {
    size_t power = sizeof(void *);
    while (power < alignment && power <= SIZE_MAX / 4) {
        power *= 2;
    }
    if (power < alignment) {
        errno = EINVAL;
        return NULL;
    }
    return aligned(power, bytes, CALLER());
}

EXPORT void *valloc(size_t bytes) {
    return aligned((size_t)getpagesize(), bytes, CALLER());
}

EXPORT void *pvalloc(size_t bytes) {
    const size_t page_bytes = (size_t)getpagesize();
    if (bytes > SIZE_MAX - page_bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return aligned(page_bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes, CALLER());
}

EXPORT size_t malloc_usable_size(void *block) {
    return large_may_be(block) ? large_usable_bytes(block) : ferry_plain_malloc_usable_size(block);
}
