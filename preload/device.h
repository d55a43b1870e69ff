/* Whether this process has a device. */
#ifndef FERRY_PRELOAD_DEVICE_H
#define FERRY_PRELOAD_DEVICE_H

#include <stdbool.h>

/* Reads FERRY_RUN_DEVICE; from the constructor. `chosen`: FERRY_ONLY names this program. */
void device_configure(bool chosen);

/* Whether large blocks are managed now. The first call that finds a reason to starts the device; other threads' blocks
 * are ordinary meanwhile. */
bool device_serves(void);

/* Whether they are, where that has been found out: nothing is started. */
bool device_is_serving(void);

/* In a forked child: the device is its parent's. */
void device_after_fork(void);

/* Before the process ends: what was measured goes into the record. */
void device_end(void);

#endif
