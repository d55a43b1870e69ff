/* What the system knows: which pages the host has, and which machine, driver and device this is. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "cuda_call.h"

/* The answer's other bits are the system's own. */
ferry_status cuda_observe(const void *address, size_t n, unsigned char *present) {
    int result;
    do
        result = mincore((void *)(uintptr_t)address, n * FERRY_PAGE_BYTES, present);
    while (result != 0 && errno == EAGAIN);
    if (result != 0)
        return ferry_error(FERRY_BACKEND, "mincore: %zu pages at %p: %s", n, address, strerror(errno));
    for (size_t i = 0; i < n; i++)
        present[i] &= 1;
    return FERRY_OK;
}

static uint64_t hash(uint64_t value, const char *text) {
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return value;
}

/* The rest of the first line of a file that begins with `key`, without what separates the two; "" where there is none.
 */
static void read_line(const char *path, const char *key, char *text, int bytes) {
    char line[256];
    *text = '\0';
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (!*text && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *value = line + strlen(key);
            value += strspn(value, "\t :");
            snprintf(text, (size_t)bytes, "%.*s", (int)strcspn(value, "\n"), value);
        }
    fclose(file);
}

/* The system's own identifier is not to be told: it stands in the hash. */
static void describe_machine(char *text, size_t bytes) {
    struct utsname system = {0};
    char processor[128], id[128];
    uname(&system);
    read_line("/proc/cpuinfo", "model name", processor, sizeof processor);
    read_line("/etc/machine-id", "", id, sizeof id);
    uint64_t all = hash(hash(hash(UINT64_C(0xcbf29ce484222325), processor), system.release), id);
    snprintf(text, bytes, "%.16s %.40s, %.8s %.32s, machine %016" PRIx64, system.machine, processor, system.sysname,
             system.release, all);
}

static void describe_uuid(const cudaUUID_t *uuid, char text[33]) {
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(unsigned char)uuid->bytes[i]);
}

ferry_status cuda_link_identity(int device, char *text, size_t bytes) {
    struct cudaDeviceProp properties;
    char uuid[33], driver[24], machine[160];
    int version = 0;
    ferry_status status = cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (!status)
        status = cuda_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    if (status)
        return status;
    describe_uuid(&properties.uuid, uuid);
    read_line("/sys/module/nvidia/version", "", driver, sizeof driver);
    describe_machine(machine, sizeof machine);
    int n = snprintf(text, bytes, "%.40s %s at %x:%x:%x, driver %s for CUDA %d, %s", properties.name, uuid,
                     (unsigned)properties.pciDomainID, (unsigned)properties.pciBusID, (unsigned)properties.pciDeviceID,
                     driver, version, machine);
    return n >= 0 && (size_t)n < bytes
               ? FERRY_OK
               : ferry_error(FERRY_INVALID_ARGUMENT, "a link's identity does not fit into %zu bytes", bytes);
}
