/* Descriptors that the library keeps. */
#ifndef FERRY_ALLOC_DESCRIPTOR_H
#define FERRY_ALLOC_DESCRIPTOR_H

/*
 * The same file under a number that a program is unlikely to want: programs and shells put files of their own at the
 * low ones (dup2), take a closed standard stream for one, and expect the next open to give the lowest. The old number
 * is closed; where no better one is free, and for -1, it is the result.
 */
int descriptor_out_of_the_way(int file);

#endif
