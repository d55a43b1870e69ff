#include "kernel.h"

#include <stdlib.h>

#include "tests/test.h"
#include "views.h"

struct values {
    uint64_t *each;
    size_t n;
};

static void *memory(size_t bytes) {
    void *block = malloc(bytes == 0 ? 1 : bytes);
    REQUIRE(block != NULL);
    return block;
}

uint64_t kernel_mix(uint64_t value, uint64_t input) {
    value = (value ^ input) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

/* Lets an input, repeated or cut to the output's length, flow into the output's values. */
static void fold_input(const struct call *call, const struct values *out, const struct values *in) {
    size_t at = 0;
    for (size_t i = 0; i < out->n && in->n > 0; i++) {
        out->each[i] = call->masks ? out->each[i] & in->each[at] : kernel_mix(out->each[i], in->each[at]);
        at = at + 1 == in->n ? 0 : at + 1;
    }
}

void kernel_widen_masks(uint64_t *values, size_t n, size_t item) {
    const uint64_t all = item == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * item)) - 1;
    for (size_t i = 0; i < n; i++) {
        values[i] = values[i] == all ? UINT64_MAX : 0;
    }
}

static void read_inputs(const struct call *call, char *const *data, struct values *inputs) {
    for (int k = 0; k < call->n; k++) {
        inputs[k] = (struct values){NULL, (size_t)ferry_view_size(&call->views[k])};
        if ((call->access[k] & FERRY_READ) != 0) {
            inputs[k].each = memory(inputs[k].n * sizeof(uint64_t));
            view_gather(&call->views[k], data[k], inputs[k].each);
            if (call->masks) {
                kernel_widen_masks(inputs[k].each, inputs[k].n, ferry_dtype_size(call->views[k].dtype));
            }
        }
    }
}

static void write_output(const struct call *call, char *const *data, const struct values *inputs, int k) {
    struct values out = {NULL, (size_t)ferry_view_size(&call->views[k])};
    out.each = memory(out.n * sizeof(uint64_t));
    for (size_t i = 0; i < out.n; i++) {
        out.each[i] = call->masks ? UINT64_MAX : call->salt + (uint64_t)k * 77 + i;
    }
    for (int j = 0; j < call->n; j++) {
        /* Another operand that is read and written is an input too, with what it held before. */
        if ((call->access[j] & FERRY_READ) != 0) {
            fold_input(call, &out, &inputs[j]);
        }
    }
    view_scatter(&call->views[k], data[k], out.each);
    free(out.each);
}

void kernel_perform(const struct call *call, char *const *data) {
    struct values inputs[OPERANDS];
    read_inputs(call, data, inputs);
    for (int k = 0; k < call->n; k++) {
        if ((call->access[k] & FERRY_WRITE) != 0) {
            write_output(call, data, inputs, k);
        }
    }
    for (int k = 0; k < call->n; k++) {
        free(inputs[k].each);
    }
}

static void host_kernel(const ferry_grid *grid, void *const *args) {
    const struct call *call = args[0];
    char *data[OPERANDS];
    (void)grid;
    for (int k = 0; k < call->n; k++) {
        data[k] = *(char **)args[1 + k];
    }
    kernel_perform(call, data);
}

enum { THREADS = 512 };

/*
 * The same for a device, by one block: all outputs are computed into a place of the stream's own, then written one
 * after the other.
 */
#define SCRATCH_VALUES 1200000
_Static_assert(sizeof(ferry_view) == 536 && sizeof(struct call) == 56 + 4 * 536, "the device's source agrees");
static const char device_source[] =
    "typedef unsigned long long word;\n"
    "struct view { void *data; int dtype, ndim; bool readonly; long long shape[32], strides[32]; };\n"
    "struct call { int n, stream; bool masks; word salt; int access[4], items[4]; view views[4]; };\n"
    "__device__ word scratch[STREAMS][SCRATCH_VALUES];\n"
    "__device__ word size_of(const view &v) {\n"
    "    word n = 1;\n"
    "    for (int i = 0; i < v.ndim; i++)\n"
    "        n *= v.shape[i];\n"
    "    return n;\n"
    "}\n"
    "__device__ char *element(const view &v, char *data, word i) {\n"
    "    for (int k = v.ndim - 1; k >= 0; k--) {\n"
    "        data += (long long)(i % v.shape[k]) * v.strides[k];\n"
    "        i /= v.shape[k];\n"
    "    }\n"
    "    return data;\n"
    "}\n"
    "__device__ word load(const char *at, int item) {\n"
    "    return item == 8 ? *(const word *)at : item == 4 ? *(const unsigned *)at : *(const unsigned char *)at;\n"
    "}\n"
    "__device__ void store(char *at, int item, word value) {\n"
    "    if (item == 8)\n"
    "        *(word *)at = value;\n"
    "    else if (item == 4)\n"
    "        *(unsigned *)at = (unsigned)value;\n"
    "    else\n"
    "        *(unsigned char *)at = (unsigned char)value;\n"
    "}\n"
    "__device__ word mix(word value, word input) {\n"
    "    value = (value ^ input) * 0x9e3779b97f4a7c15ull;\n"
    "    return value ^ value >> 29;\n"
    "}\n"
    "extern \"C\" __global__ void property(const __grid_constant__ call c, char *a, char *b, char *d, char *e) {\n"
    "    char *const data[4] = {a, b, d, e};\n"
    "    word *out = scratch[c.stream];\n"
    "    for (int k = 0; k < c.n; k++) {\n"
    "        const word n = c.access[k] & 2 ? size_of(c.views[k]) : 0;\n"
    "        for (word i = threadIdx.x; i < n; i += blockDim.x) {\n"
    "            word value = c.salt + k * 77 + i;\n"
    "            for (int j = 0; j < c.n; j++) {\n"
    "                const word m = c.access[j] & 1 ? size_of(c.views[j]) : 0;\n"
    "                if (m > 0)\n"
    "                    value = mix(value, load(element(c.views[j], data[j], i % m), c.items[j]));\n"
    "            }\n"
    "            out[i] = value;\n"
    "        }\n"
    "        out += n;\n"
    "    }\n"
    "    out = scratch[c.stream];\n"
    "    for (int k = 0; k < c.n; k++) {\n"
    "        const word n = c.access[k] & 2 ? size_of(c.views[k]) : 0;\n"
    "        __syncthreads();\n"
    "        for (word i = threadIdx.x; i < n; i += blockDim.x)\n"
    "            store(element(c.views[k], data[k], i), c.items[k], out[i]);\n"
    "        out += n;\n"
    "    }\n"
    "}\n";

static ferry_kernel *compile(struct world *world) {
    char source[sizeof device_source + 100];
    ferry_kernel *kernel = NULL;
    snprintf(source, sizeof source, "#define STREAMS %d\n#define SCRATCH_VALUES %d\n%s", STREAMS, SCRATCH_VALUES,
             device_source);
    const ferry_status status = ferry_kernel_compile(source, "property", &kernel);
    if (status == FERRY_UNSUPPORTED) {
        skip(world, "%s", ferry_error_detail());
    }
    expect_ok(world, status, "ferry_kernel_compile");
    return kernel;
}

ferry_kernel *kernel_make(struct world *world) {
    ferry_kernel *kernel = NULL;
    if (world->program->rules.cuda) {
        return compile(world);
    }
    expect_ok(world, ferry_kernel_load(NULL, 0, "property", host_kernel, &kernel), "ferry_kernel_load");
    return kernel;
}

ferry_grid kernel_grid(const struct world *world) {
    return (ferry_grid){.threads = {world->program->rules.cuda ? THREADS : 1}};
}
