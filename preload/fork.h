/* What a forked child may do, and what it is told. */
#ifndef FERRY_PRELOAD_FORK_H
#define FERRY_PRELOAD_FORK_H

#include <stdbool.h>

/* Reads FERRY_FORK; from the constructor. */
void fork_configure(void);

/* Once the device has been started: behind the library's own handlers. */
void fork_handle(void);

/* Of a managed block, while the thread is inside the library: true where it forks, and the block is freed behind that.
 */
bool fork_postpone_free(void *block);

#endif
