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

void *explicit_event_create(void) {
    return 0;
}

void explicit_event_destroy(void *event) {
    (void)event;
}

bool explicit_event_record(void *event, void *stream) {
    (void)event, (void)stream;
    return false;
}

bool explicit_event_wait(void *event) {
    (void)event;
    return false;
}

void *explicit_managed_allocate(size_t bytes, bool read_mostly) {
    (void)bytes, (void)read_mostly;
    return 0;
}

void explicit_managed_free(void *managed) {
    (void)managed;
}

bool explicit_prefetch(void *managed, size_t bytes, bool to_device, void *stream) {
    (void)managed, (void)bytes, (void)to_device, (void)stream;
    return false;
}
