/* The environment's part, and getting along with the process's other signal handlers. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc/sim_link.h"
#include "tests/backend/sim_case.h"

/* Opens under "NAME=value" and expects a refusal that mentions `words`. */
static void refused(const char *name, const char *value, const char *words) {
    setenv(name, value, 1);
    CHECK_STATUS(backend_sim.open(), FERRY_INVALID_ARGUMENT);
    CHECK_THAT(strstr(ferry_error_detail(), words) != NULL, "\"%s\" does not mention \"%s\"", ferry_error_detail(),
               words);
    CHECK_INT(backend_sim.device_count(), 0);
    unsetenv(name);
}

static void nonsense_is_refused_with_a_reason(void) {
    refused("FERRY_SIM_LINK", "abacus", "h200-pcie5, a100-pcie4, gh200, slow, no-concurrent");
    refused("FERRY_SIM_DEVICES", "0", "FERRY_SIM_DEVICES");
    refused("FERRY_SIM_DEVICES", "65", "64");
    refused("FERRY_SIM_DEVICES", "two", "two");
    refused("FERRY_SIM_CONCURRENT", "yes", "yes");
    refused("FERRY_SIM_POISON", "2", "FERRY_SIM_POISON");
    refused("FERRY_SIM_MEMORY", "1M", "FERRY_SIM_MEMORY");
    refused("FERRY_SIM_MEMORY", "much", "FERRY_SIM_MEMORY: 'much'");
    refused("FERRY_SIM_TOUCH", "ptrace", "mprotect");
}

static void settings_are_followed(void) {
    ferry_device_info info;
    CHECK_INT(machine->device_count(), 64);
    REQUIRE_OK(machine->device_get(63, &info));
    CHECK_UINT(info.total_bytes, (size_t)3 << 30);
    CHECK(!info.concurrent_managed_access);
    CHECK_STRING(info.name, "simulated H200 (PCIe 5)");
    CHECK_STRING(machine->name, "sim");
}

static void the_default_is_an_h200(void) {
    ferry_device_info info;
    CHECK_INT(machine->device_count(), 1);
    REQUIRE_OK(machine->device_get(0, &info));
    CHECK_UINT(info.total_bytes, (size_t)16 << 30);
    CHECK(info.concurrent_managed_access && !info.host_page_tables);
    CHECK(strcmp(backend_sim_touch_tracking(), "off") != 0);
    backend_stream *stream = machine_stream(0), *wrapped = NULL;
    CHECK_STATUS(machine->stream_wrap(0, NULL, &wrapped), FERRY_UNSUPPORTED);
    CHECK(machine->stream_native(stream) == NULL);
}

static void named(const char *name, bool concurrent, bool host_page_tables) {
    const ferry_link_costs want = sim_link_costs(sim_link_find(getenv("FERRY_SIM_LINK")));
    ferry_device_info info;
    ferry_link_costs costs;
    REQUIRE_OK(machine->device_get(0, &info));
    CHECK_STRING(info.name, name);
    CHECK_INT(info.concurrent_managed_access, concurrent);
    CHECK_INT(info.host_page_tables, host_page_tables);
    if (CHECK_STATUS(machine->link_measure(0, &costs), concurrent ? FERRY_OK : FERRY_UNSUPPORTED) && concurrent)
        CHECK_MEMORY(&costs, &want, sizeof want);
}

static void the_a100_is_known(void) {
    named("simulated A100 (PCIe 4)", true, false);
}

static void the_gh200_is_known(void) {
    named("simulated GH200 (NVLink-C2C)", true, true);
}

static void the_slow_one_is_known(void) {
    named("simulated T4 (PCIe 3 x4)", true, false);
}

static void the_one_without_concurrent_access_is_known(void) {
    named("simulated device without concurrent managed access", false, false);
}

static void untracked_touches_leave_pages_alone(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    x[0] = 6;
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(x[0], 6);
    CHECK_INT(place_of(x), 0);
    CHECK_UINT(counted().bytes_to_device, PAGE);
    CHECK_UINT(counted().cpu_faults, 0);
    unsigned char present[2] = {7, 7};
    x[BLOCK / 8] = 1;
    CHECK_OK(machine->observe(x, 1, &present[0])); /* touched since, but who noticed? */
    CHECK_OK(machine->observe(x + BLOCK / 4 - PAGE_COUNT, 1, &present[1]));
    CHECK_INT(present[0], 0);
    CHECK_INT(present[1], 0);
    uint32_t *fresh = machine_reserve(BLOCK, true);
    fresh[PAGE_COUNT] = 1;
    CHECK_OK(machine->observe(fresh, 2, present));
    CHECK_INT(present[0], 0);
    CHECK_INT(present[1], 1); /* first touches are found in the memory itself */
}

/* Moves and touches that make no sense change nothing. */
static void bad_calls_are_refused(void) {
    uint32_t *x = machine_reserve(2 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    void *unset = NULL;
    fill(x, PAGE_COUNT, 0);
    CHECK_STATUS(machine_move(x, PAGE + 1, 0, BACKEND_PREFETCH, stream), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine_move(x + 1, PAGE, 0, BACKEND_PREFETCH, stream), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine_move(x, 3 * BLOCK, 0, BACKEND_PREFETCH, stream), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine_move(x, PAGE, 1, BACKEND_PREFETCH, stream), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine_move(x, PAGE, FERRY_PLACE_NOWHERE, BACKEND_PREFETCH, stream), FERRY_INVALID_ARGUMENT);
    backend_move moves[] = {{x, PAGE, 0, BACKEND_PREFETCH}, {x + PAGE_COUNT, PAGE, FERRY_PLACE_HOST, BACKEND_PREFETCH}};
    CHECK_STATUS(machine->move(moves, 2, stream), FERRY_INVALID_ARGUMENT);
    backend_touch outside = {&outside, sizeof outside, FERRY_READ};
    CHECK_STATUS(machine->touch(&outside, 1, stream), FERRY_INVALID_ARGUMENT);
    unsigned char present[4] = {7};
    CHECK_STATUS(machine->observe(&outside, 1, present), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->observe(x + 1, 1, present), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->observe(x + 2 * BLOCK / 4 - PAGE_COUNT, 2, present), FERRY_INVALID_ARGUMENT);
    CHECK_INT(present[0], 7);
    CHECK_STATUS(machine->reserve(BLOCK + PAGE, true, &unset), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->release(x, BLOCK), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->release(&outside, BLOCK), FERRY_INVALID_ARGUMENT);
    CHECK_INT(place_of(x), FERRY_PLACE_HOST);
    CHECK_UINT(counted().bytes_to_device, 0);
    CHECK_UINT(backend_sim_pending(), 0);
    CHECK_OK(machine->move(moves, 0, stream));
    CHECK(machine->device_pointer(&outside) == &outside);
}

static void regions_come_and_go(void) {
    for (int i = 0; i < 3000; i++) {
        uint32_t *x = machine_reserve(BLOCK, true);
        x[0] = 1;
        CHECK_INT(place_of(x + PAGE_COUNT), FERRY_PLACE_NOWHERE);
        CHECK_OK(machine->release(x, BLOCK));
    }
}

static sigjmp_buf escape;
static volatile sig_atomic_t caught;

static void catch_fault(int number) {
    caught = number;
    siglongjmp(escape, 1);
}

static char *forbidden_page(void) {
    char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    return page;
}

/* The program's handler was there first: what is not ours still reaches it, with its mask, any number of times. */
static void earlier_handlers_are_called(void) {
    struct sigaction action = {.sa_handler = catch_fault};
    sigaction(SIGSEGV, &action, NULL);
    setenv("FERRY_SIM_TOUCH", "mprotect", 1);
    machine_open("sim");
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    x[0] = 1;
    volatile char *forbidden = forbidden_page();
    for (int i = 0; i < 3; i++) {
        caught = 0;
        if (sigsetjmp(escape, 1) == 0)
            forbidden[0] = 1;
        CHECK_INT(caught, SIGSEGV);
        CHECK_OK(machine_move(x, PAGE, 0, BACKEND_PREFETCH, stream));
        CHECK_UINT(x[0], 1);
        CHECK_INT(place_of(x), FERRY_PLACE_HOST);
    }
}

static volatile sig_atomic_t blocked;

static void note_blocked(int number) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    blocked = sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGUSR2) && sigismember(&mask, number);
}

/* The second fault finds the handler gone. */
static void earlier_handler_serves_once(void) {
    struct sigaction action = {.sa_handler = note_blocked, .sa_flags = (int)SA_RESETHAND};
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, NULL);
    setenv("FERRY_SIM_TOUCH", "mprotect", 1);
    machine_open("sim");
    raise(SIGSEGV);
    if (!CHECK_INT(blocked, 1))
        _exit(1);
    *(volatile char *)forbidden_page() = 1;
}

static void ignored_signals_stay_ignored(void) {
    signal(SIGSEGV, SIG_IGN);
    setenv("FERRY_SIM_TOUCH", "mprotect", 1);
    machine_open("sim");
    raise(SIGSEGV);
}

static void touch_forbidden(void) {
    signal(SIGSEGV, SIG_DFL);
    setenv("FERRY_SIM_TOUCH", "mprotect", 1);
    machine_open("sim");
    *(volatile char *)forbidden_page() = 1;
}

static void be_sent_a_signal(void) {
    signal(SIGSEGV, SIG_DFL);
    setenv("FERRY_SIM_TOUCH", "mprotect", 1);
    machine_open("sim");
    raise(SIGSEGV);
}

/* In a child, without opening the machine for it. */
static int alone(void (*function)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        function();
        _exit(atomic_load(&test_failures) ? 1 : 0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

int main(void) {
    CHECK_INT(alone(nonsense_is_refused_with_a_reason), 0);
    CHECK_INT(alone(earlier_handlers_are_called), 0);
    CHECK_INT(WTERMSIG(alone(earlier_handler_serves_once)), SIGSEGV);
    CHECK_INT(alone(ignored_signals_stay_ignored), 0);
    CHECK_INT(WTERMSIG(alone(touch_forbidden)), SIGSEGV);
    CHECK_INT(WTERMSIG(alone(be_sent_a_signal)), SIGSEGV);
    CHECK_INT(sim_child(the_default_is_an_h200, &test_failures, ""), 0);
    CHECK_INT(sim_child(the_a100_is_known, &test_failures, "FERRY_SIM_LINK=a100-pcie4"), 0);
    CHECK_INT(sim_child(the_gh200_is_known, &test_failures, "FERRY_SIM_LINK=gh200"), 0);
    CHECK_INT(sim_child(the_slow_one_is_known, &test_failures, "FERRY_SIM_LINK=slow"), 0);
    CHECK_INT(sim_child(the_one_without_concurrent_access_is_known, &test_failures, "FERRY_SIM_LINK=no-concurrent"), 0);
    CHECK_INT(sim_child(untracked_touches_leave_pages_alone, &test_failures, "FERRY_SIM_TOUCH=off"), 0);
    STORY(settings_are_followed,
          "FERRY_SIM_DEVICES=64 FERRY_SIM_MEMORY=3G FERRY_SIM_CONCURRENT=0 FERRY_SIM_LINK=h200-pcie5");
    STORY(bad_calls_are_refused, "");
    STORY(regions_come_and_go, "");
    return test_finish();
}
