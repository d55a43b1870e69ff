#include "device_source.h"

#include <string.h>

#include "device_text.h"

/* What a dtype is in an expression: the value's type, the type that wraps, what TYPED appends. */
typedef struct value_type {
    const char *name, *wraps, *suffix;
} value_type;

static const value_type value_types[FERRY_FLOAT64 + 1] = {
    [FERRY_BOOL] = {"uint8_t", "uint32_t", "b1"},     [FERRY_INT8] = {"int8_t", "uint32_t", "i8"},
    [FERRY_UINT8] = {"uint8_t", "uint32_t", "u8"},    [FERRY_INT16] = {"int16_t", "uint32_t", "i16"},
    [FERRY_UINT16] = {"uint16_t", "uint32_t", "u16"}, [FERRY_INT32] = {"int32_t", "uint32_t", "i32"},
    [FERRY_UINT32] = {"uint32_t", "uint32_t", "u32"}, [FERRY_INT64] = {"int64_t", "uint64_t", "i64"},
    [FERRY_UINT64] = {"uint64_t", "uint64_t", "u64"}, [FERRY_FLOAT16] = {"float", "uint32_t", "f32"},
    [FERRY_FLOAT32] = {"float", "uint32_t", "f32"},   [FERRY_FLOAT64] = {"double", "uint64_t", "f64"},
};

/* A copy moves bits: one kernel for each size. */
static ferry_dtype bits_of(ferry_dtype dtype) {
    switch (ferry_dtype_size(dtype)) {
    case 1:
        return FERRY_UINT8;
    case 2:
        return FERRY_UINT16;
    case 4:
        return FERRY_UINT32;
    case 8:
        return FERRY_UINT64;
    default:
        return FERRY_COMPLEX128;
    }
}

/* Kernels for 1 to 4 axes, then for 8 and for all. */
int device_rank_for(int ndim) {
    return ndim <= 4 ? ndim : ndim <= 8 ? 8 : DEVICE_RANK_MAX;
}

void device_form_make(device_form *form, const plan *p) {
    *form = (device_form){.op = p->op, .b_is_a = p->noperands < PLAN_OPERANDS, .checked = p->exceptions != NULL};
    bool same_bits = p->op == PLAN_COPY && p->dtype[0] == p->dtype[1];
    for (int k = 0; k < PLAN_OPERANDS; k++) {
        ferry_dtype dtype = p->dtype[k < p->noperands ? k : 1];
        form->dtype[k] = same_bits ? bits_of(dtype) : dtype;
    }
    form->aligned = plan_is_aligned(p);
    form->contiguous = form->aligned && plan_is_contiguous(p);
    if (form->contiguous) {
        for (int k = 1; k < p->noperands; k++)
            form->scalar[k] = plan_layout_of(p, k) == PLAN_SCALAR;
        return;
    }
    form->wide = p->size > INT32_MAX;
    form->rank = device_rank_for(p->ndim);
}

uint64_t device_form_key(const device_form *form) {
    uint64_t key = (uint64_t)form->op;
    for (int k = 0; k < PLAN_OPERANDS; k++)
        key = key << 4 | (uint64_t)form->dtype[k];
    key = key << 4 | (uint64_t)form->checked << 3 | (uint64_t)form->b_is_a << 2 | (uint64_t)form->scalar[1] << 1 |
          (uint64_t)form->scalar[2];
    key = key << 3 | (uint64_t)form->contiguous << 2 | (uint64_t)form->aligned << 1 | (uint64_t)form->wide;
    return key << 6 | (uint64_t)form->rank;
}

int device_form_pack(const device_form *form) {
    size_t largest = 1;
    for (int k = 0; k < (form->b_is_a ? 2 : 3); k++) {
        size_t bytes = ferry_dtype_size(form->dtype[k]);
        if (!form->scalar[k] && bytes > largest)
            largest = bytes;
    }
    return (int)(16 / largest);
}

void device_source_frame(text_buffer *source) {
    text_append(source, device_text_types, sizeof device_text_types);
    text_format(source, "#define FERRY_FP_DIVIDE %uu\n#define FERRY_FP_OVERFLOW %uu\n#define FERRY_FP_UNDERFLOW %uu\n",
                FERRY_FP_DIVIDE, FERRY_FP_OVERFLOW, FERRY_FP_UNDERFLOW);
    text_format(source, "#define FERRY_FP_INVALID %uu\n", FERRY_FP_INVALID);
    text_append(source, device_text_math, sizeof device_text_math);
    text_append(source, device_text_loops, sizeof device_text_loops);
}

static const char *truth(bool value) {
    return value ? "true" : "false";
}

/* TYPED's suffix: of int64 with uint64 it names both. */
static void write_typed(const op_loop *loop, text_buffer *source) {
    const char *first = value_types[loop->compute[0]].suffix, *second = value_types[loop->compute[1]].suffix;
    text_format(source, "#undef TYPED\n#define TYPED(f) f##_%s%s\n", first,
                loop->compute[0] == loop->compute[1] ? "" : second);
}

static ferry_status write_operation(const device_form *form, text_buffer *source) {
    op_loop loop;
    int nin = ferry_op_arity(form->op);
    ferry_status status = op_resolve(form->op, &form->dtype[1], nin, &loop);
    if (status != FERRY_OK)
        return status;
    const value_type *a = &value_types[loop.compute[0]], *b = &value_types[loop.compute[nin - 1]];
    write_typed(&loop, source);
    text_format(source,
                "    typedef %s T;\n"
                "    typedef %s W;\n"
                "    static __device__ __forceinline__ Out apply(A a_element, B b_element, unsigned &raised) {\n"
                "        const T a = convert<T>(value_of(a_element));\n"
                "        const %s b = convert<%s>(value_of(b_element));\n"
                "        const %s r = (%s)(%s);\n"
                "        const dtype_%s result = convert<dtype_%s>(r);\n"
                "        const Out out = cast<Out>(result);\n",
                a->name, a->wraps, b->name, b->name, value_types[loop.result].name, value_types[loop.result].name,
                loop.expression, ferry_dtype_name(loop.result), ferry_dtype_name(loop.result));
    if (form->checked)
        text_format(source, "        raised |= (%s) | narrowed(r, result) | narrowed(value_of(result), out);\n",
                    loop.raises != NULL ? loop.raises : "0");
    text_format(source, "        return out;\n    }\n");
    return FERRY_OK;
}

static void write_copy(text_buffer *source) {
    text_format(source, "    static __device__ __forceinline__ Out apply(A a, B, unsigned &) {\n"
                        "        return cast<Out>(a);\n"
                        "    }\n");
}

/* Where what a kernel raised goes. */
typedef struct report_words {
    const char *parameter, *report, *argument;
} report_words;

static report_words words_of(const device_form *form) {
    return form->checked ? (report_words){", uint32_t *exceptions", "report", ", exceptions"}
                         : (report_words){"", "(void)", ""};
}

static void write_contiguous(const device_form *form, const char *name, text_buffer *source) {
    const report_words words = words_of(form);
    text_format(source,
                "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                "%s(char *out, const char *a, const char *b, int64_t n, int64_t packs%s) {\n"
                "    %s(run_contiguous<operation_%s, %d, %s, %s, %s>(out, a, b, n, packs)%s);\n"
                "}\n",
                DEVICE_THREADS, name, words.parameter, words.report, name, device_form_pack(form),
                truth(form->scalar[1]), truth(form->scalar[2]), truth(form->b_is_a), words.argument);
}

static void write_strided(const device_form *form, const char *name, text_buffer *source) {
    const report_words words = words_of(form);
    text_format(source,
                "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                "%s(char *out, const char *a, const char *b, const %s_geometry<%d> g%s) {\n"
                "    %s(run_strided<operation_%s, %d, %s, %s>(out, a, b, g)%s);\n"
                "}\n",
                DEVICE_THREADS, name, form->wide ? "wide" : "narrow", form->rank, words.parameter, words.report, name,
                form->rank, truth(form->aligned), truth(form->b_is_a), words.argument);
}

ferry_status device_source_operation(const device_form *form, const char *name, text_buffer *source) {
    text_format(
        source,
        "\nstruct operation_%s {\n    typedef dtype_%s Out;\n    typedef dtype_%s A;\n    typedef dtype_%s B;\n", name,
        ferry_dtype_name(form->dtype[0]), ferry_dtype_name(form->dtype[1]), ferry_dtype_name(form->dtype[2]));
    if (form->op == PLAN_COPY) {
        write_copy(source);
    } else {
        ferry_status status = write_operation(form, source);
        if (status != FERRY_OK)
            return status;
    }
    text_format(source, "};\n");
    return text_status(source);
}

ferry_status device_source_kernel(const device_form *form, const char *name, text_buffer *source) {
    ferry_status status = device_source_operation(form, name, source);
    if (status != FERRY_OK)
        return status;
    (form->contiguous ? write_contiguous : write_strided)(form, name, source);
    return text_status(source);
}

ferry_status device_source_make(const device_form *form, text_buffer *source) {
    device_source_frame(source);
    return device_source_kernel(form, DEVICE_KERNEL_NAME, source);
}

/* Bits that hold every value under `extent`. */
static uint32_t bits_for(uint32_t extent) {
    uint32_t bits = 0;
    while (bits < 31 && UINT32_C(1) << bits < extent)
        bits++;
    return bits;
}

static uint32_t magic_for(uint32_t extent) {
    uint64_t power = UINT64_C(1) << bits_for(extent);
    return (uint32_t)(((power - extent) << 32) / extent + 1);
}

typedef struct writer {
    char *start, *at;
} writer;

static void put(writer *w, const void *value, size_t bytes) {
    memcpy(w->at, value, bytes);
    w->at += bytes;
}

static void put_extents(writer *w, const int64_t *extent, int rank, bool wide) {
    uint32_t narrow[3][DEVICE_RANK_MAX];
    for (int axis = 0; axis < rank && !wide; axis++) {
        narrow[0][axis] = (uint32_t)extent[axis];
        narrow[1][axis] = magic_for((uint32_t)extent[axis]);
        narrow[2][axis] = bits_for((uint32_t)extent[axis]);
    }
    if (wide)
        put(w, extent, (size_t)rank * sizeof *extent);
    for (int i = 0; i < 3 && !wide; i++)
        put(w, narrow[i], (size_t)rank * sizeof **narrow);
}

/* The plan's axes are the last of the kernel's; those before have one element. */
size_t device_geometry_of_axes(const plan *p, int rank, bool wide, void *buffer) {
    writer w = {buffer, buffer};
    size_t lead = (size_t)(rank - p->ndim), own = (size_t)p->ndim;
    put(&w, &p->size, sizeof p->size);
    for (int k = 0; k < PLAN_OPERANDS; k++) {
        int64_t stride[DEVICE_RANK_MAX] = {0};
        if (k < p->noperands)
            memcpy(stride + lead, p->stride[k], own * sizeof *stride);
        put(&w, stride, (lead + own) * sizeof *stride);
    }
    int64_t extent[DEVICE_RANK_MAX];
    for (size_t axis = 0; axis < lead; axis++)
        extent[axis] = 1;
    memcpy(extent + lead, p->extent, own * sizeof *extent);
    put_extents(&w, extent, rank, wide);
    return ((size_t)(w.at - w.start) + 7) / 8 * 8; /* the structure's alignment */
}

size_t device_geometry_make(const device_form *form, const plan *p, void *buffer) {
    return device_geometry_of_axes(p, form->rank, form->wide, buffer);
}
