#include <stdio.h>

#include "pinned.h"

bool pinned_available(void) {
    return false;
}

void pinned_cuda_version(char *text, size_t bytes) {
    snprintf(text, bytes, "none");
}

bool pinned_open(size_t bytes) {
    (void)bytes;
    return false;
}

void pinned_close(void) {}

bool pinned_copy(bool to_device) {
    (void)to_device;
    return false;
}

bool pinned_kernel_open(const char *ptx, const char *name) {
    (void)ptx, (void)name;
    return false;
}

bool pinned_launch(size_t count, bool wait) {
    (void)count, (void)wait;
    return false;
}

bool pinned_enqueue(void *stream, void **args) {
    (void)stream, (void)args;
    return false;
}
