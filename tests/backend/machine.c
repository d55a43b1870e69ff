#include "tests/backend/machine.h"

const backend *machine;

static backend_kernel *add;

/* add(to, from, value, n): one thread per element. */
static const char add_text[] =
    ".version 6.4\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry add(.param .u64 to, .param .u64 from, .param .u32 value, .param .u64 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %d<8>;\n"
    "    mov.u32 %r0, %ctaid.x;\n"
    "    mov.u32 %r1, %ntid.x;\n"
    "    mov.u32 %r2, %tid.x;\n"
    "    mul.wide.u32 %d0, %r0, %r1;\n"
    "    cvt.u64.u32 %d1, %r2;\n"
    "    add.u64 %d0, %d0, %d1;\n"
    "    ld.param.u64 %d2, [n];\n"
    "    setp.ge.u64 %p, %d0, %d2;\n"
    "    @%p ret;\n"
    "    ld.param.u64 %d3, [to];\n"
    "    ld.param.u64 %d4, [from];\n"
    "    ld.param.u32 %r3, [value];\n"
    "    shl.b64 %d5, %d0, 2;\n"
    "    add.u64 %d6, %d3, %d5;\n"
    "    add.u64 %d7, %d4, %d5;\n"
    "    ld.global.u32 %r4, [%d7];\n"
    "    add.u32 %r5, %r4, %r3;\n"
    "    st.global.u32 [%d6], %r5;\n"
    "    ret;\n"
    "}\n";

static void *device_address(void *const *argument) {
    void *address;
    memcpy(&address, *argument, sizeof address);
    return machine->device_pointer ? machine->device_pointer(address) : address;
}

static void add_on_host(const ferry_grid *grid, void *const *args) {
    (void)grid;
    uint32_t *to = device_address(&args[0]), value;
    const uint32_t *from = device_address(&args[1]);
    uint64_t n;
    memcpy(&value, args[2], sizeof value);
    memcpy(&n, args[3], sizeof n);
    for (uint64_t i = 0; i < n; i++)
        to[i] = from[i] + value;
}

static const backend *backend_named(const char *name) {
    if (strcmp(name, "faulty") == 0)
        return backend_faulty(&backend_sim);
#ifdef FERRY_WITH_CUDA
    if (strcmp(name, "cuda") == 0)
        return &backend_cuda;
#endif
    return strcmp(name, "sim") == 0 ? &backend_sim : NULL;
}

void machine_open(const char *name) {
    machine = backend_named(name);
    if (!machine)
        SKIP("this build has no backend %s", name);
    if (machine->open() != FERRY_OK)
        SKIP("%s does not open: %s", name, ferry_error_detail());
    REQUIRE_OK(machine->kernel_load(add_text, sizeof add_text, "add", add_on_host, &add));
}

bool machine_concurrent(void) {
    bool concurrent = true;
    for (int d = 0; d < machine->device_count(); d++) {
        ferry_device_info info;
        REQUIRE_OK(machine->device_get(d, &info));
        concurrent = concurrent && info.concurrent_managed_access;
    }
    return concurrent;
}

uint32_t *machine_reserve(size_t bytes, bool host_homed) {
    void *base = NULL;
    REQUIRE_OK(machine->reserve(bytes, host_homed, &base));
    return base;
}

backend_stream *machine_stream(int device) {
    backend_stream *stream = NULL;
    REQUIRE_OK(machine->stream_create(device, &stream));
    return stream;
}

backend_event *machine_event(int device) {
    backend_event *event = NULL;
    REQUIRE_OK(machine->event_create(device, &event));
    return event;
}

void machine_add(uint32_t *to, uint32_t *from, uint32_t value, size_t n, backend_stream *stream) {
    uint64_t count = n;
    void *args[] = {&to, &from, &value, &count};
    size_t sizes[] = {sizeof to, sizeof from, sizeof value, sizeof count};
    ferry_grid grid = {.blocks = {(uint32_t)((n + 255) / 256), 1, 1}, .threads = {256, 1, 1}};
    backend_touch touches[] = {{from, n * 4, to == from ? FERRY_READWRITE : FERRY_READ}, {to, n * 4, FERRY_WRITE}};
    REQUIRE_OK(machine->kernel_launch(add, &grid, args, sizes, 4, stream));
    if (machine->touch)
        REQUIRE_OK(machine->touch(touches, to == from ? 1 : 2, stream));
}

ferry_status machine_move(void *address, size_t bytes, ferry_place to, backend_move_kind kind, backend_stream *stream) {
    backend_move move = {address, bytes, to, kind};
    return machine->move(&move, 1, stream);
}

void fill(uint32_t *x, size_t n, uint32_t first) {
    for (size_t i = 0; i < n; i++)
        x[i] = first + (uint32_t)i;
}

int64_t mismatch(const uint32_t *x, size_t n, uint32_t first) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != first + (uint32_t)i)
            return (int64_t)i;
    return -1;
}
