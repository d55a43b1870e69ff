/* Carrying movements out. The public half is ferry/movement.h. */
#ifndef FERRY_ALLOC_CROSSING_H
#define FERRY_ALLOC_CROSSING_H

#include "storage.h"

/* ferry_host_acquire on plain bytes. */
ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access);

/* The storage of a view and its bounds; FERRY_NOT_FOUND for a view of no elements. */
ferry_status crossing_find(const ferry_view *view, char **low, char **high, struct storage_place *place);

/* Where the table has a view's bytes. Movement lock. */
ferry_place crossing_place(const ferry_view *view, const struct storage_place *place);

#endif
