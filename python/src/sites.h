/* Sites of Python code: what a user's line allocates, and by which way through libraries. */
#ifndef FERRY_PYTHON_SITES_H
#define FERRY_PYTHON_SITES_H

#include "ferry/ferry.h"

/*
 * The instruction of the user's code from which the calling thread has come here, and the way between: the same number
 * whenever it comes by again. 0 without a frame, or where the thread does not hold the interpreter. A tenth of a
 * microsecond for each frame, some microseconds the first time. Keeps a pending exception.
 */
ferry_site site_of_frame(void);

/* Lets reports name these sites: "function (file:line)". */
void sites_start(void);

#endif
