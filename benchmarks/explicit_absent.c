#include "explicit.h"

bool explicit_available(void) {
    return false;
}

void *explicit_host_allocate(size_t bytes, bool pinned) {
    (void)bytes, (void)pinned;
    return 0;
}

void explicit_host_free(void *host, bool pinned) {
    (void)host, (void)pinned;
}

void *explicit_mapped(void *pinned) {
    (void)pinned;
    return 0;
}

void *explicit_device_allocate(size_t bytes) {
    (void)bytes;
    return 0;
}

void explicit_device_free(void *device) {
    (void)device;
}

bool explicit_copy(void *to, const void *from, size_t bytes, void *stream) {
    (void)to, (void)from, (void)bytes, (void)stream;
    return false;
}

bool explicit_wait(void *stream) {
    (void)stream;
    return false;
}
