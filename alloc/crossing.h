/* Carrying movements out. The public half is ferry/movement.h. */
#ifndef FERRY_ALLOC_CROSSING_H
#define FERRY_ALLOC_CROSSING_H

#include "storage.h"

/* ferry_host_acquire on plain bytes, on behalf of a site. */
ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access, ferry_site site);

/* Where the table has a view's bytes. Movement lock. */
ferry_place crossing_place(const ferry_view *view, const struct storage_place *place);

#endif
