/* Where pages are, and what it costs to bring them elsewhere. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/backend/sim_case.h"

static void a_page_goes_there_and_back(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    CHECK_INT(place_of(x), FERRY_PLACE_NOWHERE);
    x[0] = 1;
    CHECK_INT(place_of(x), FERRY_PLACE_HOST);
    CHECK_INT(place_of(x + PAGE_COUNT), FERRY_PLACE_NOWHERE);
    CHECK_INT(place_of(&stream), FERRY_PLACE_HOST);

    CHECK_OK(machine_move(x, 2 * PAGE, 0, BACKEND_PREFETCH, stream));
    CHECK_INT(place_of(x), 0);
    CHECK_INT(place_of(x + PAGE_COUNT), 0);
    CHECK_INT(place_of(x + 2 * PAGE_COUNT), FERRY_PLACE_NOWHERE);
    backend_measure got = counted();
    CHECK_UINT(got.bytes_to_device, PAGE); /* the second page was never touched: nothing to carry */
    CHECK_UINT(got.prefetched_bytes_to_device, PAGE);

    CHECK_OK(machine_move(x, 2 * PAGE, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(counted().bytes_to_device, 0);
    CHECK_OK(machine_move(x, 4 * PAGE, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    got = counted();
    CHECK_UINT(got.bytes_to_host, 2 * PAGE);
    CHECK_UINT(got.prefetched_bytes_to_host, 2 * PAGE);
    CHECK_UINT(x[0], 1);
    CHECK_UINT(x[PAGE_COUNT], 0);
    CHECK_UINT(counted().cpu_faults, 0);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
}

/* A touch brings the aligned group of 16 pages, no more, and counts as one fault. */
static void a_host_touch_brings_a_group_home(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 5);
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    counted();
    CHECK_UINT(x[20 * PAGE_COUNT + 3], 5 + 20 * PAGE_COUNT + 3);
    backend_measure got = counted();
    CHECK_UINT(got.cpu_faults, 1);
    CHECK_UINT(got.bytes_to_host, 16 * PAGE);
    CHECK_UINT(got.prefetched_bytes_to_host, 0);
    CHECK_INT(place_of(x + 15 * PAGE_COUNT), 0);
    CHECK_INT(place_of(x + 16 * PAGE_COUNT), FERRY_PLACE_HOST);
    CHECK_INT(place_of(x + 31 * PAGE_COUNT), FERRY_PLACE_HOST);
    CHECK_INT(place_of(x + 32 * PAGE_COUNT), 0);
    x[31 * PAGE_COUNT] = 1;
    CHECK_UINT(counted().cpu_faults, 0);

    CHECK_OK(machine_move(x + 33 * PAGE_COUNT, PAGE, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    counted();
    x[32 * PAGE_COUNT] = 2;
    CHECK_UINT(counted().bytes_to_host, 15 * PAGE);
    CHECK_INT(mismatch(x + 40 * PAGE_COUNT, PAGE_COUNT, 5 + 40 * PAGE_COUNT), -1);
}

/* Pages that a device made itself, of zeros, are as real as any. */
static void fresh_device_pages_come_home(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(x[PAGE_COUNT], 0);
    CHECK_UINT(counted().bytes_to_host, 16 * PAGE);
    ferry_device_info info;
    CHECK_OK(machine->device_get(0, &info));
    CHECK_UINT(info.total_bytes - info.free_bytes, BLOCK - 16 * PAGE);
    CHECK_OK(machine->release(x, BLOCK));
    CHECK_OK(machine->device_get(0, &info));
    CHECK_UINT(info.total_bytes, info.free_bytes);
}

static void discards_cross_nothing(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_DISCARD_PREFETCH, stream));
    CHECK_INT(place_of(x), 0);
    CHECK_UINT(device_view(x)[9], 9); /* the contents go in stream order, not before */
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(device_view(x)[9], 0xdbdbdbdb);
    CHECK_OK(machine_move(x, PAGE, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_INT(place_of(x), FERRY_PLACE_HOST);
    x[0] = 1;
    backend_measure got = counted();
    CHECK_UINT(got.bytes_to_device + got.bytes_to_host + got.cpu_faults, 0);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
}

static void host_homed_pages_are_used_from_afar(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, 4 * PAGE_COUNT, 0);
    CHECK_OK(machine_move(x, PAGE, 0, BACKEND_PREFETCH, stream));
    counted();
    touch(x + PAGE_COUNT - 2, 8 + PAGE + 4, FERRY_READ, stream); /* 8 bytes of the device's page, then 4096, then 4 */
    backend_measure got = counted();
    CHECK_UINT(got.remote_bytes_to_device, PAGE + 4);
    CHECK_UINT(got.remote_bytes_to_host, 0);
    touch(x, 2 * PAGE, FERRY_READWRITE, stream);
    got = counted();
    CHECK_UINT(got.remote_bytes_to_device, PAGE);
    CHECK_UINT(got.remote_bytes_to_host, PAGE);
    touch(x + 8 * PAGE_COUNT, 100, FERRY_WRITE, stream);
    got = counted();
    CHECK_UINT(got.remote_bytes_to_host, 100);
    CHECK_UINT(got.remote_bytes_to_device, 0);
    CHECK_INT(place_of(x + 8 * PAGE_COUNT), FERRY_PLACE_HOST);
    CHECK_UINT(got.gpu_faults + got.bytes_to_device, 0);
}

static void other_pages_follow_the_faults(void) {
    uint32_t *x = machine_reserve(3 * BLOCK, false);
    backend_stream *stream = machine_stream(0);
    size_t edge = (BLOCK - 4 * PAGE) / 4;
    fill(x + edge, 6 * PAGE_COUNT, 0); /* four pages of the first block, two of the second */
    touch(x + edge + 1, 5 * PAGE, FERRY_READ, stream);
    backend_measure got = counted();
    CHECK_UINT(got.gpu_faults, 2);
    CHECK_UINT(got.bytes_to_device, 6 * PAGE);
    CHECK_UINT(got.prefetched_bytes_to_device + got.remote_bytes_to_device, 0);
    touch(x + edge, 6 * PAGE, FERRY_READWRITE, stream);
    CHECK_UINT(counted().gpu_faults, 0);
    touch(x + 2 * BLOCK / 4, PAGE, FERRY_WRITE, stream);
    got = counted();
    CHECK_UINT(got.gpu_faults, 1); /* a page that is nowhere is made where it is wanted */
    CHECK_UINT(got.bytes_to_device, 0);
    CHECK_INT(place_of(x + 2 * BLOCK / 4), 0);
}

/* Asking moves nothing; the answer is the truth about every page, and the host's own first touches are part of it. */
static void the_host_page_table_can_be_asked(void) {
    enum { ASKED = 40 };
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    unsigned char present[ASKED + 1] = {[ASKED] = 7};
    x[PAGE_COUNT] = 1;
    uint32_t value = *(volatile uint32_t *)&x[3 * PAGE_COUNT]; /* a load is a touch as well */
    CHECK_UINT(value, 0);
    CHECK_OK(machine->observe(x, ASKED, present));
    for (int i = 0; i < ASKED; i++)
        CHECK_INT(present[i], i == 1 || i == 3);

    CHECK_OK(machine_move(x, 32 * PAGE, 0, BACKEND_PREFETCH, stream));
    touch(x + 33 * PAGE_COUNT, 2 * PAGE, FERRY_WRITE, stream); /* from afar */
    CHECK_OK(machine->stream_sync(stream));
    x[17 * PAGE_COUNT] = 2; /* brings its group home */
    counted();
    CHECK_OK(machine->observe(x, ASKED, present));
    for (int i = 0; i < ASKED; i++)
        CHECK_INT(present[i], (i >= 16 && i < 32) || i == 33 || i == 34);
    CHECK_INT(present[ASKED], 7);
    backend_measure got = counted();
    CHECK_UINT(got.cpu_faults + got.bytes_to_host + got.bytes_to_device, 0);
    CHECK_INT(place_of(x), 0);
    CHECK_INT(place_of(x + 32 * PAGE_COUNT), FERRY_PLACE_NOWHERE);
}

static void devices_exchange_pages(void) {
    uint32_t *x = machine_reserve(BLOCK, true), *y = machine_reserve(BLOCK, false);
    backend_stream *first = machine_stream(0), *last = machine_stream(2);
    x[0] = y[0] = 3;
    CHECK_INT(machine->device_count(), 3);
    CHECK_OK(machine_move(x, PAGE, 0, BACKEND_PREFETCH, first));
    touch(y, PAGE, FERRY_READ, first);
    counted();
    CHECK_OK(machine_move(x, PAGE, 2, BACKEND_PREFETCH, last));
    CHECK_INT(place_of(x), 2);
    CHECK_UINT(counted().bytes_between_devices, PAGE);
    touch(x, 64, FERRY_READ, first);
    backend_measure got = counted();
    CHECK_UINT(got.bytes_between_devices, 64); /* mapped, so it stays where it is */
    CHECK_UINT(got.remote_bytes_to_device, 0);
    CHECK_INT(place_of(x), 2);
    touch(y, 64, FERRY_READ, last);
    got = counted();
    CHECK_UINT(got.bytes_between_devices, PAGE);
    CHECK_UINT(got.gpu_faults, 1);
    CHECK_INT(place_of(y), 2);
    CHECK_UINT(x[0] + y[0], 6);
    CHECK_UINT(counted().cpu_faults, 2);
}

/* Room for four blocks. The fifth sends the least recently moved one home; what is asked for again stays. */
static void a_full_device_sends_blocks_home(void) {
    uint32_t *x = machine_reserve(8 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    size_t n = BLOCK / 4;
    fill(x, 8 * n, 0);
    for (size_t b = 0; b < 4; b++)
        CHECK_OK(machine_move(x + b * n, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(counted().bytes_to_host, 0);
    CHECK_OK(machine_move(x, PAGE, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(x, PAGE, 0, BACKEND_PREFETCH, stream));
    counted();
    CHECK_OK(machine_move(x + 4 * n, BLOCK, 0, BACKEND_PREFETCH, stream));
    backend_measure got = counted();
    CHECK_UINT(got.bytes_to_host, BLOCK);
    CHECK_UINT(got.prefetched_bytes_to_host, 0);
    CHECK_INT(place_of(x), 0);
    CHECK_INT(place_of(x + n), FERRY_PLACE_HOST);
    CHECK_UINT(x[n], n);
    CHECK_UINT(counted().cpu_faults, 0);

    CHECK_OK(machine_move(x, 8 * BLOCK, 0, BACKEND_PREFETCH, stream)); /* more than there is room for */
    ferry_device_info info;
    CHECK_OK(machine->device_get(0, &info));
    CHECK_UINT(info.free_bytes, 0);
    CHECK_INT(mismatch(x, 8 * n, 0), -1);
}

/* Room for two blocks. The block that is being completed stays although it is the oldest. */
static void a_block_does_not_push_itself_out(void) {
    uint32_t *x = machine_reserve(3 * BLOCK, true), *y = x + BLOCK / 4, *z = y + BLOCK / 4;
    backend_stream *stream = machine_stream(0);
    fill(x, 3 * BLOCK / 4, 0);
    CHECK_OK(machine_move(x, BLOCK / 2, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(z, BLOCK / 2, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(counted().bytes_to_host, 0);
    CHECK_OK(machine_move(x + BLOCK / 8, BLOCK / 2, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(counted().bytes_to_host, BLOCK);
    CHECK_INT(place_of(x), 0);
    CHECK_INT(place_of(x + BLOCK / 4 - 1), 0);
    CHECK_INT(place_of(y), FERRY_PLACE_HOST);
    CHECK_INT(place_of(z), 0);
}

/* Kernels' faults need room as well. */
static void faults_evict_too(void) {
    uint32_t *x = machine_reserve(3 * BLOCK, false);
    backend_stream *stream = machine_stream(0);
    fill(x, 3 * BLOCK / 4, 0);
    touch(x, 3 * BLOCK, FERRY_READ, stream);
    backend_measure got = counted();
    CHECK_UINT(got.gpu_faults, 3);
    CHECK_UINT(got.bytes_to_device, 3 * BLOCK);
    CHECK_UINT(got.bytes_to_host, BLOCK);
    CHECK_INT(place_of(x), FERRY_PLACE_HOST);
    CHECK_UINT(x[5], 5);
    CHECK_UINT(counted().cpu_faults, 0);
}

/* Under userfaultfd the kernel's own touches are served; under mprotect it says EFAULT and nothing changes. */
static void system_calls_touch_too(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, stream));
    int zeros = open("/dev/zero", O_RDONLY);
    ssize_t got = read(zeros, x, PAGE);
    bool served = strcmp(backend_sim_touch_tracking(), "userfaultfd") == 0;
    CHECK_INT(got, served ? (ssize_t)PAGE : -1);
    CHECK_INT(place_of(x), served ? FERRY_PLACE_HOST : 0);
    CHECK_OK(machine_move(x, BLOCK, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_INT(read(zeros, x, BLOCK), (ssize_t)BLOCK);
    close(zeros);
}

static uint32_t *inherited;

static void read_inherited(void) {
    volatile uint32_t value = *inherited;
    (void)value;
}

static bool dies(void (*function)(void)) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        function();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* As on the driver: managed memory is not a child's; the parent notices nothing. */
static void a_forked_child_has_no_managed_memory(void) {
    inherited = machine_reserve(BLOCK, true);
    *inherited = 4;
    CHECK(dies(read_inherited));
    CHECK_UINT(*inherited, 4);
}

int main(void) {
    STORY(a_page_goes_there_and_back, "");
    STORY(a_host_touch_brings_a_group_home, "");
    STORY(fresh_device_pages_come_home, "");
    STORY(discards_cross_nothing, "FERRY_SIM_POISON=1");
    STORY(host_homed_pages_are_used_from_afar, "");
    STORY(other_pages_follow_the_faults, "");
    STORY(the_host_page_table_can_be_asked, "");
    STORY(devices_exchange_pages, "FERRY_SIM_DEVICES=3");
    STORY(a_full_device_sends_blocks_home, "FERRY_SIM_MEMORY=8M");
    STORY(a_block_does_not_push_itself_out, "FERRY_SIM_MEMORY=4M");
    STORY(faults_evict_too, "FERRY_SIM_MEMORY=4M");
    STORY(system_calls_touch_too, "");
    STORY(a_forked_child_has_no_managed_memory, "");
    return test_finish();
}
