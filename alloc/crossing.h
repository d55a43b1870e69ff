/* Carrying movements out. The public half is ferry/movement.h. */
#ifndef FERRY_ALLOC_CROSSING_H
#define FERRY_ALLOC_CROSSING_H

#include "backend.h"

/* ferry_host_acquire on plain bytes. */
ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access);

#endif
