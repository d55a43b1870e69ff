/* The rows of the simulator's table: their arithmetic, and what they say against what was measured. */
#include "alloc/sim_link.h"
#include "tests/backend/sim_case.h"

#define GIB ((uint64_t)1 << 30)

static void rows_add_up(void) {
    const struct sim_link *link = sim_link_find("h200-pcie5");
    REQUIRE(link != NULL);
    CHECK(sim_link_default(true) == link);
    struct sim_work up = {.to_device = GIB}, down = {.to_host = GIB}, none = {0};
    CHECK_UINT(sim_link_move_cost(link, &up).ns, 21474836 + 22000);    /* 1073741824 / 50 */
    CHECK_UINT(sim_link_move_cost(link, &down).ns, 105268806 + 40000); /* 1073741824 / 10.2 */
    CHECK_UINT(sim_link_move_cost(link, &none).ns, 0);
    struct sim_work lost = {.discarded_to_device = GIB / 2, .settled = GIB}, fresh = {.filled_device = GIB};
    CHECK_UINT(sim_link_move_cost(link, &lost).ns, 3500000 + 1205000);
    CHECK_UINT(sim_link_move_cost(link, &fresh).ns, 5100000);
    struct sim_work made = {.filled_host = GIB / 4};
    CHECK_UINT(sim_link_move_cost(link, &made).ns, 45000000); /* as measured */
    CHECK_UINT(sim_link_kernel_cost(link, &made).ns, 45000000);

    struct sim_work both = {.remote_read = GIB, .remote_write = GIB}, read = {.remote_read = GIB};
    /* 4325376 / 51 for the first wave, then 84 GB/s but for the last 1.2 µs of stores */
    CHECK_UINT(sim_link_kernel_cost(link, &both).ns, 84811 + 25513032 + 1400);
    CHECK_UINT(sim_link_kernel_cost(link, &read).ns, 21053761 + 1400); /* 1073741824 / 51 */
    struct sim_work local = {.local = 2 * GIB}, faults = {.gpu_faults = 512, .faulted_to_device = GIB};
    CHECK_UINT(sim_link_kernel_cost(link, &local).ns, 523776); /* 2147483648 / 4100: the measured 0.52 to 0.53 ms */
    /* 130 + 130 + 512 × 60 µs, 1073741824 / 14: the measured 110 ms */
    CHECK_UINT(sim_link_kernel_cost(link, &faults).ns, 30980000 + 76695845);
    struct sim_work few = {.gpu_faults = 2, .faulted_to_device = 28000},
                    more = {.gpu_faults = 1, .faulted_to_device = 42000};
    CHECK_UINT(sim_link_kernel_cost(link, &few).ns, 80000 + 2000);
    CHECK_UINT(sim_link_kernel_cost(link, &more).ns, 190000 + 3000);
    /* Of which some keep their contents, and behind those others do not; the first is over before the second begins. */
    struct sim_work mixed = {.to_device = GIB, .discarded_to_device = GIB, .ranges = 2},
                    short_mixed = {.to_device = 50000, .discarded_to_device = 4096, .ranges = 2};
    CHECK_UINT(sim_link_move_cost(link, &mixed).ns, 21474836 + 7000000 + 22000 + 30000 + 80000);
    CHECK_UINT(sim_link_move_cost(link, &short_mixed).ns, 1000 + 27 + 22000 + 30000);
    struct sim_cost cost = sim_link_kernel_cost(link, &both);
    CHECK_UINT(cost.to_device_ns, 25597843);
    CHECK_UINT(cost.to_host_ns, 25597843);
    cost = sim_link_kernel_cost(link, &read);
    CHECK_UINT(cost.to_device_ns, 21053761);
    CHECK_UINT(cost.to_host_ns, 0);
    cost = sim_link_move_cost(link, &down);
    CHECK_UINT(cost.to_device_ns, 0);
    CHECK_UINT(cost.to_host_ns, 105268806);
    CHECK_UINT(sim_link_cpu_fault_ns(link, 65536), 8000 + 7282);
    /* Six for each block, and the bytes: between the fewest and the most that one thread took for 1 GiB. */
    double home =
        1e-6 * (512.0 * 6 * (double)sim_link_cpu_fault_ns(link, 0) + (double)sim_link_cpu_fault_ns(link, GIB));
    CHECK_THAT(home > 126 && home < 254, "%g ms", home);
}

/* The measurements that the row was made from, in ms for 1 GiB. */
static void kernels_from_afar_cost_what_was_measured(void) {
    const struct sim_link *link = sim_link_find("h200-pcie5");
    struct sim_work both = {.remote_read = GIB, .remote_write = GIB}, read = {.remote_read = GIB},
                    write = {.remote_write = GIB}, small = {.remote_read = 4096, .remote_write = 4096};
    CHECK_CLOSE((double)sim_link_kernel_cost(link, &both).ns / 1e6, 25.5, 0.01);
    CHECK_CLOSE((double)sim_link_kernel_cost(link, &read).ns / 1e6, 20.9, 0.01);
    CHECK_CLOSE((double)sim_link_kernel_cost(link, &write).ns / 1e6, 20.4, 0.01);
    CHECK_CLOSE((double)sim_link_kernel_cost(link, &small).ns / 1e3 + link->launch_us + link->kernel_us + link->seen_us,
                12.5, 0.01);
}

#define CHAIN (13 * BLOCK) /* bytes of each array */

static uint32_t *x, *y, *t1, *t2;

static void kernel(uint32_t *first, uint32_t *second, uint32_t *out, backend_stream *stream) {
    backend_touch touches[3];
    size_t n = 0;
    touches[n++] = (backend_touch){first, CHAIN, first == out ? FERRY_READWRITE : FERRY_READ};
    if (second && second != first)
        touches[n++] = (backend_touch){second, CHAIN, FERRY_READ};
    if (first != out)
        touches[n++] = (backend_touch){out, CHAIN, FERRY_WRITE};
    CHECK_OK(machine->touch(touches, n, stream));
}

/* sqrt(x * x + sin x) - log(x + 1), in ms for 80 MB of each array. Scaled up like the rest, remote_us is as long as a
 * launch. */
static double chain(backend_stream *stream) {
    elapsed();
    kernel(x, x, t1, stream);
    kernel(x, NULL, t2, stream);
    kernel(t1, t2, t1, stream);
    kernel(t1, NULL, t1, stream);
    kernel(x, NULL, t2, stream);
    kernel(t2, NULL, t2, stream);
    kernel(t1, t2, y, stream);
    CHECK_OK(machine->stream_sync(stream));
    return (double)elapsed() / 1e6 * 80e6 / (double)CHAIN;
}

static double fused(backend_stream *stream) {
    elapsed();
    kernel(x, NULL, y, stream);
    CHECK_OK(machine->stream_sync(stream));
    return (double)elapsed() / 1e6 * 80e6 / (double)CHAIN;
}

/* Kernels of which some operands are here and some are not: the five measurements of that chain. */
static void a_chain_costs_what_was_measured(void) {
    backend_stream *stream = machine_stream(0);
    x = machine_reserve(4 * CHAIN, true);
    t1 = x + CHAIN / 4, t2 = t1 + CHAIN / 4, y = t2 + CHAIN / 4;
    CHECK_OK(machine_move(x, 4 * CHAIN, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_CLOSE(chain(stream), 16.3, 0.05);
    CHECK_CLOSE(fused(stream), 2.0, 0.05);
    CHECK_OK(machine_move(t1, 2 * CHAIN, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_CLOSE(chain(stream), 6.4, 0.05);
    CHECK_OK(machine_move(x, CHAIN, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_CLOSE(chain(stream), 1.9, 0.08); /* with sines and logarithms, of which the clock knows nothing */
    CHECK_CLOSE(fused(stream), 1.5, 0.05);
}

/* What the link and the driver take for a byte, if the driver's part is the same by every link. */
static double moved_at(double measured, double copy) {
    return 1 / (1 / measured - 1 / 55.0 + 1 / copy);
}

static void check_derived(const char *name, double to_device, double to_host) {
    const struct sim_link *measured = sim_link_find("h200-pcie5"), *link = sim_link_find(name);
    REQUIRE(link != NULL);
    CHECK_CLOSE(link->prefetch_to_device, moved_at(measured->prefetch_to_device, to_device), 0.005);
    CHECK_CLOSE(link->fault_to_device, moved_at(measured->fault_to_device, to_device), 0.005);
    CHECK_CLOSE(link->fault_to_host, moved_at(measured->fault_to_host, to_host), 0.005);
    CHECK_CLOSE(link->gpu_fault_us, measured->gpu_fault_us, 0);
}

/* The rows that were not measured against the rule in the comment above them. */
static void derived_rows_follow_their_rule(void) {
    const struct sim_link *slow = sim_link_find("slow");
    check_derived("a100-pcie4", 25, 25);
    check_derived("gh200", 375, 297);
    check_derived("slow", 3.2, 3.2);
    CHECK_CLOSE(sim_link_find("a100-pcie4")->prefetch_to_host, moved_at(10.2, 25), 0.005);
    CHECK_CLOSE(slow->prefetch_to_host, moved_at(10.2, 3.2), 0.005);
    CHECK_CLOSE(sim_link_find("gh200")->prefetch_to_host, 1 / ((1 / 10.2 - 1 / 55.0) / 16 + 1 / 297.0), 0.005);
    CHECK_CLOSE(slow->remote_read, 3.2 * 51 / 55, 0.005);
    CHECK_CLOSE(slow->remote_write, 3.2 * 53 / 55, 0.005);
    CHECK_CLOSE(slow->remote_both, 3.2 * 84 / 55, 0.005);
}

/* Nobody's two directions are faster than the two of them, or than the memory behind. */
static void rows_make_sense(const struct sim_link *link) {
    CHECK_THAT(link->remote_both <= link->remote_read + link->remote_write, "%s", link->name);
    CHECK_THAT(link->remote_both >= link->remote_read, "%s", link->name);
    CHECK_THAT(link->remote_read < link->device_memory && link->prefetch_to_device < link->device_memory, "%s",
               link->name);
    CHECK_THAT(link->fault_to_device <= link->prefetch_to_device, "%s", link->name);
}

static void all_rows_make_sense(void) {
    const char *const names[] = {"h200-pcie5", "a100-pcie4", "gh200", "slow", "no-concurrent"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        REQUIRE(sim_link_find(names[i]) != NULL);
        rows_make_sense(sim_link_find(names[i]));
    }
    CHECK_STRING(sim_link_default(false)->name, "no-concurrent");
    CHECK(sim_link_find("h100") == NULL);
}

/* The clock's time for one operation on `bytes` at `address`, from the call until the stream is done. */
static double move_ns(uint32_t *address, size_t bytes, ferry_place to, backend_move_kind kind, backend_stream *stream) {
    elapsed();
    CHECK_OK(machine_move(address, bytes, to, kind, stream));
    CHECK_OK(machine->stream_sync(stream));
    return (double)elapsed();
}

static double touch_ns(uint32_t *address, size_t bytes, ferry_access access, backend_stream *stream) {
    elapsed();
    touch(address, bytes, access, stream);
    CHECK_OK(machine->stream_sync(stream));
    return (double)elapsed();
}

/* What a predictor would say against what the clock charges, to 5 %. */
static const double near = 0.05;

static void kernels_agree(uint32_t *touched, uint32_t *fresh, size_t bytes, const ferry_link_costs *c,
                          backend_stream *stream) {
    const double n = (double)bytes;
    double loads = n * c->remote_read_ns_per_byte, stores = n * c->remote_write_ns_per_byte - 1200; /* posted */
    double read = c->remote_ns + loads, write = c->remote_ns + (stores > 0 ? stores : 0);
    CHECK_CLOSE(touch_ns(touched, bytes, FERRY_READ, stream), read, near);
    double both = touch_ns(touched, bytes, FERRY_READWRITE, stream);
    CHECK_THAT(both + 1 >= read && both <= read + write, "%g, of %g and %g", both, read, write);
    if (bytes >= 8 * BLOCK) /* the first wave, which loads before it stores, is a small part */
        CHECK_CLOSE(both, c->remote_ns + n * c->remote_both_ns_per_byte, 0.1);
    CHECK_CLOSE(touch_ns(touched, bytes, FERRY_WRITE, stream), write, near);
    CHECK_CLOSE(touch_ns(fresh, bytes, FERRY_WRITE, stream), write + n * c->fill_host_ns_per_byte, near);
    CHECK_OK(machine_move(touched, bytes, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    if (bytes > PAGE) /* the clock counts whole nanoseconds: one, for a page */
        CHECK_CLOSE(touch_ns(touched, bytes, FERRY_READ, stream), n * c->device_ns_per_byte, near);
}

/* The cost of a call that moves is part of to_device_ns and to_host_ns; what is placed on the device without its
 * contents, or made, pays the call alone. */
static void moves_agree(uint32_t *a, uint32_t *b, size_t bytes, const ferry_link_costs *c, backend_stream *stream) {
    const double n = (double)bytes, call = 3700;
    CHECK_CLOSE(move_ns(a, bytes, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream), call + n * c->fill_host_ns_per_byte,
                near);
    CHECK_CLOSE(move_ns(b, bytes, 0, BACKEND_PREFETCH, stream), call + n * c->fill_device_ns_per_byte, near);
    CHECK_CLOSE(move_ns(a, bytes, 0, BACKEND_PREFETCH, stream), c->to_device_ns + n * c->to_device_ns_per_byte, near);
    CHECK_CLOSE(move_ns(a, bytes, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream),
                c->to_host_ns + n * c->to_host_ns_per_byte, near);
    CHECK_CLOSE(move_ns(a, bytes, 0, BACKEND_DISCARD_PREFETCH, stream), call + n * c->discard_to_device_ns_per_byte,
                near);
    CHECK_CLOSE(move_ns(a, bytes, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream),
                c->to_host_ns + n * c->discard_to_host_ns_per_byte, near);
}

static void costs_agree_with_the_clock(size_t bytes, const ferry_link_costs *c) {
    size_t region = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    uint32_t *parts = machine_reserve(3 * region, true), *a = parts, *b = a + region / 4, *fresh = b + region / 4;
    backend_stream *stream = machine_stream(0);
    moves_agree(a, b, bytes, c, stream);
    kernels_agree(a, fresh, bytes, c, stream);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(parts, 3 * region));
}

static void costs_agree_with_the_clock_at_all_sizes(void) {
    ferry_link_costs costs;
    REQUIRE_OK(machine->link_measure(0, &costs));
#define POSITIVE(name, text) CHECK_THAT(costs.name > 0, #name " is %g", costs.name);
    FERRY_LINK_LIST(POSITIVE)
#undef POSITIVE
    for (size_t bytes = PAGE; bytes <= 32 * BLOCK; bytes *= 8)
        costs_agree_with_the_clock(bytes, &costs);
}

/* A table is read as fast as a file, and never out of date: its costs have no name to be cached under. */
static void links_have_costs_but_no_identity(void) {
    const ferry_link_costs want = sim_link_costs(sim_link_find("h200-pcie5"));
    ferry_link_costs first, second, costs = {.remote_ns = 7};
    CHECK_OK(machine->link_measure(0, &first));
    CHECK_OK(machine->link_measure(1, &second));
    CHECK_MEMORY(&first, &want, sizeof want);
    CHECK_MEMORY(&second, &want, sizeof want);
    CHECK_STATUS(machine->link_measure(2, &costs), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->link_measure(-1, &costs), FERRY_INVALID_ARGUMENT);
    CHECK(costs.remote_ns == 7);
    CHECK(machine->link_identity == NULL);
}

static void without_hints_there_is_nothing_to_measure(void) {
    ferry_link_costs costs = {.remote_ns = 7};
    CHECK_STATUS(machine->link_measure(0, &costs), FERRY_UNSUPPORTED);
    CHECK(costs.remote_ns == 7);
}

int main(void) {
    RUN(rows_add_up);
    RUN(kernels_from_afar_cost_what_was_measured);
    RUN(derived_rows_follow_their_rule);
    RUN(all_rows_make_sense);
    STORY(a_chain_costs_what_was_measured, "");
    STORY(costs_agree_with_the_clock_at_all_sizes, "");
    STORY(costs_agree_with_the_clock_at_all_sizes, "FERRY_SIM_LINK=a100-pcie4");
    STORY(costs_agree_with_the_clock_at_all_sizes, "FERRY_SIM_LINK=gh200");
    STORY(costs_agree_with_the_clock_at_all_sizes, "FERRY_SIM_LINK=slow");
    STORY(links_have_costs_but_no_identity, "FERRY_SIM_DEVICES=2");
    STORY(without_hints_there_is_nothing_to_measure, "FERRY_SIM_CONCURRENT=0");
    return test_finish();
}
