#include "tests/backend/sim_case.h"

#include <sys/wait.h>
#include <unistd.h>

static void set_environment(const char *environment) {
    char text[256];
    snprintf(text, sizeof text, "%s", environment);
    char *rest = text, *pair;
    while ((pair = strtok_r(rest, " ", &rest))) {
        char *equals = strchr(pair, '=');
        *equals = '\0';
        setenv(pair, equals + 1, 1);
    }
}

int sim_child(void (*function)(void), atomic_long *failures, const char *environment) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        set_environment(environment);
        machine_open("sim");
        function();
        _exit(atomic_load(failures) ? 1 : 0);
    }
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

bool sim_story(void (*function)(void), atomic_long *failures, const char *environment) {
    static const char *const trackings[] = {"userfaultfd", "mprotect"};
    bool passed = true;
    for (size_t i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text, "FERRY_SIM_TOUCH=%s %s", trackings[i], environment);
        int status = sim_child(function, failures, text);
        if (i == 0 && WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
            continue;
        if (status)
            fprintf(stderr, "  with \"%s\": wait status %d\n", text, status);
        passed = passed && status == 0;
    }
    return passed;
}

ferry_place place_of(const void *address) {
    return backend_sim_page_place(address);
}

uint32_t *device_view(uint32_t *address) {
    return machine->device_pointer(address);
}

void touch(void *address, size_t bytes, ferry_access access, backend_stream *stream) {
    backend_touch touches = {address, bytes, access};
    REQUIRE_OK(machine->touch(&touches, 1, stream));
}

backend_measure counted(void) {
    static backend_measure before;
    backend_measure now = backend_sim_totals(), since = now;
    since.bytes_to_device -= before.bytes_to_device;
    since.bytes_to_host -= before.bytes_to_host;
    since.prefetched_bytes_to_device -= before.prefetched_bytes_to_device;
    since.prefetched_bytes_to_host -= before.prefetched_bytes_to_host;
    since.bytes_between_devices -= before.bytes_between_devices;
    since.gpu_faults -= before.gpu_faults;
    since.cpu_faults -= before.cpu_faults;
    since.remote_bytes_to_device -= before.remote_bytes_to_device;
    since.remote_bytes_to_host -= before.remote_bytes_to_host;
    before = now;
    return since;
}

uint64_t elapsed(void) {
    static uint64_t before;
    uint64_t now = machine->now_ns(), since = now - before;
    before = now;
    return since;
}
