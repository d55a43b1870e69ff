/* Frees that wait for kernels: a block whose uses have not ended is recycled after them. */
#ifndef FERRY_ALLOC_DEFERRED_H
#define FERRY_ALLOC_DEFERRED_H

#include "storage.h"

/* Frees the block now if its uses have ended, else later. */
void deferred_free(struct region *region, struct storage *storage, void *block);

/* Frees what can be freed by now, asking the device. Takes the movement lock. */
void deferred_reap(void);

/* Forgets the frees of a heap that goes; afterwards nobody is about to recycle a block of it. Takes the movement lock.
 */
void deferred_forget(const ferry_heap *heap);

/* The end of a free, whose block no kernel uses. malloc.c. */
void block_recycle(struct region *region, struct storage *storage, void *block);

#endif
