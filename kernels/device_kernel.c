#include "device_kernel.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "compile.h"
#include "kernel_table.h"

#define DEVICES_REMEMBERED 64

ferry_status device_architecture(int device, int *out) {
    static atomic_int remembered[DEVICES_REMEMBERED];
    bool remembers = device >= 0 && device < DEVICES_REMEMBERED;
    int known = remembers ? atomic_load_explicit(&remembered[device], memory_order_relaxed) : 0;
    if (known == 0) {
        ferry_device_info info;
        ferry_status status = ferry_device_get(device, &info);
        if (status != FERRY_OK)
            return status;
        known = info.compute_major * 10 + info.compute_minor;
        if (remembers)
            atomic_store_explicit(&remembered[device], known, memory_order_relaxed);
    }
    *out = known;
    return FERRY_OK;
}

typedef struct order {
    const device_family *family;
    const void *form;
    int architecture;
} order;

static ferry_status build(const text_buffer *source, const char *name, int architecture, ferry_kernel **out) {
    code_image image = {NULL, 0};
    const nvrtc_request request = {.source = source->data, .name = name, .architecture = architecture};
    ferry_status status = compile_source(&request, &image, NULL);
    if (status == FERRY_OK)
        status = ferry_kernel_load(image.data, image.bytes, name, NULL, out);
    free(image.data);
    return status;
}

uint64_t device_key(device_key_kind kind, uint64_t form, int architecture) {
    return (uint64_t)kind << 60 | form << 12 | (uint64_t)architecture;
}

static ferry_status make_kernel(const void *context, ferry_kernel **out) {
    const order *o = context;
    text_buffer source = {0};
    ferry_status status = o->family->write(o->form, &source);
    if (status == FERRY_OK)
        status = build(&source, o->family->name, o->architecture, out);
    free(source.data);
    return status;
}

ferry_status device_kernel_get(const device_family *family, const void *form, uint64_t form_key,
                               const ferry_stream *stream, ferry_kernel **out) {
    order o = {.family = family, .form = form};
    ferry_status status = device_architecture(stream != NULL ? ferry_stream_device(stream) : 0, &o.architecture);
    if (status != FERRY_OK)
        return status;
    return kernel_table_get(device_key(family->kind, form_key, o.architecture), make_kernel, &o, out);
}
