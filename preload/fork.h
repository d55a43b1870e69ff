/* What a forked child may do, and what it is told. */
#ifndef FERRY_PRELOAD_FORK_H
#define FERRY_PRELOAD_FORK_H

/* Reads FERRY_FORK; from the constructor. */
void fork_configure(void);

/* Once the device has been started: behind the library's own handlers. */
void fork_handle(void);

#endif
