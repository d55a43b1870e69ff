/* Sites of Python code: the instruction of the calling frame. */
#ifndef FERRY_PYTHON_SITES_H
#define FERRY_PYTHON_SITES_H

#include "ferry/ferry.h"

/*
 * The instruction that the calling thread's innermost Python frame is at: the same number whenever it comes by again. 0
 * without a frame, or where the thread does not hold the interpreter. Tens of nanoseconds, some microseconds the first
 * time. Keeps a pending exception.
 */
ferry_site site_of_frame(void);

/* Lets reports name these sites: "function (file:line)". */
void sites_start(void);

#endif
