/* The system divides a process's memory into no more than vm.max_map_count mappings: what mprotect tracking does when
 * it says no. */
#include "tests/backend/sim_case.h"

enum { MOST = 70000 };

static size_t limit(void) {
    size_t count = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%zu", &count) != 1)
        count = SIZE_MAX;
    if (file)
        fclose(file);
    return count;
}

/* Every second page of `pages`, from the first one on. */
static ferry_status move_every_second(uint32_t *x, size_t pages, backend_stream *stream) {
    static backend_move moves[MOST];
    for (size_t i = 0; i < pages; i++)
        moves[i] = (backend_move){x + 2 * i * PAGE_COUNT, PAGE, 0, BACKEND_PREFETCH};
    return machine->move(moves, pages, stream);
}

static size_t places_on_device(const uint32_t *x, size_t pages) {
    size_t count = 0;
    for (size_t i = 0; i < pages; i++)
        count += place_of(x + 2 * i * PAGE_COUNT) == 0;
    return count;
}

/* A move that cannot be guarded fails and leaves everything as it was; a touch that cannot be told from others opens
 * its region. */
static void too_many_mappings_cost_no_result(void) {
    size_t bytes = (size_t)2 * MOST / (BLOCK / PAGE) * BLOCK + BLOCK, most = limit() / 2;
    uint32_t *x = machine_reserve(bytes, true), *y = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(y, BLOCK / 4, 0);
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_STATUS(move_every_second(x, most + 10, stream), FERRY_BACKEND);
    CHECK(strstr(ferry_error_detail(), "vm.max_map_count") != NULL);
    CHECK_UINT(places_on_device(x, most + 10), 0);

    size_t pages = most - 500;
    CHECK_OK(move_every_second(x, pages, stream));
    while (machine_move(x + 2 * pages * PAGE_COUNT, PAGE, 0, BACKEND_PREFETCH, stream) == FERRY_OK)
        pages++;
    CHECK_UINT(places_on_device(x, pages + 1), pages);
    counted();
    CHECK_UINT(y[100 * PAGE_COUNT], 100 * PAGE_COUNT);
    CHECK_UINT(counted().cpu_faults, 1);
    CHECK_INT(mismatch(y, BLOCK / 4, 0), -1);
    CHECK_OK(machine_move(x, 2 * pages * PAGE, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(y[100 * PAGE_COUNT], 100 * PAGE_COUNT);
    CHECK_UINT(counted().cpu_faults, 1);
    CHECK_INT(place_of(y), 0);
}

int main(void) {
    if (limit() / 2 + 10 > MOST)
        SKIP("vm.max_map_count is out of reach");
    CHECK_INT(sim_child(too_many_mappings_cost_no_result, &test_failures, "FERRY_SIM_TOUCH=mprotect"), 0);
    return test_finish();
}
