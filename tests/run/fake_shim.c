/* The guard that the preload library gives its parts; these tests have no malloc to guard. */
#include "preload/shim.h"

static _Thread_local bool inside;

bool shim_enter(void) {
    const bool entered = !inside;
    inside = true;
    return entered;
}

void shim_leave(void) {
    inside = false;
}
