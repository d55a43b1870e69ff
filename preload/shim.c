/* The library's beginning, and the guard. */
#include "shim.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callers.h"
#include "device.h"
#include "fast.h"
#include "ferry/memory.h"
#include "fork.h"
#include "record.h"

#define DEFAULT_THRESHOLD_BYTES ((size_t)1 << 20)

size_t shim_threshold_bytes = SIZE_MAX;
static __thread bool inside;
static __thread int cancellation; /* what it was before the thread came inside */

bool shim_enter(void) {
    if (inside) {
        return false;
    }
    inside = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    return true;
}

void shim_leave(void) {
    const int before = cancellation;
    inside = false;
    pthread_setcancelstate(before, NULL);
}

static size_t threshold_of(const char *text) {
    size_t bytes;
    return text != NULL && ferry_size_parse(text, &bytes) == FERRY_OK ? bytes : DEFAULT_THRESHOLD_BYTES;
}

/* Whether the pattern names this program: by its file's path, or by the last part of that or of what it was called as.
 */
static bool is_named_by(const char *pattern) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    const char *slash = strrchr(path, '/');
    return fnmatch(pattern, path, 0) == 0 || (slash != NULL && fnmatch(pattern, slash + 1, 0) == 0) ||
           fnmatch(pattern, program_invocation_short_name, 0) == 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *only = getenv("FERRY_ONLY"), *folder = getenv("FERRY_REPORT"), *sites = getenv("FERRY_SITES");
    const bool chosen = only != NULL && only[0] != '\0';
    if (chosen && !is_named_by(only)) {
        return;
    }
    const bool entered = shim_enter();
    const size_t threshold_bytes = threshold_of(getenv("FERRY_THRESHOLD"));
    if (folder != NULL && folder[0] != '\0') {
        record_open(folder, threshold_bytes, sites == NULL ? 0 : (unsigned)strtoul(sites, NULL, 10));
    }
    callers_begin();
    fork_configure();
    device_configure(chosen);
    shim_threshold_bytes = threshold_bytes;
    fast_configure(threshold_bytes);
    if (entered) {
        shim_leave();
    }
}
