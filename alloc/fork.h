/* What a forked child has of its parent's managed memory, which it does not inherit. */
#ifndef FERRY_ALLOC_FORK_H
#define FERRY_ALLOC_FORK_H

/* Around a fork, from the handlers; heaps' lock held. Copies what live blocks hold where ferry_fork_keep asks for it,
 */
void fork_copy(void);
/* and puts the copies where the blocks are. The regions' addresses are occupied. */
void fork_place_copy(void);
void fork_drop_copy(void);

#endif
