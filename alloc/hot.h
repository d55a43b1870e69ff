/* Code that every launch runs. A launch goes through much of the driver, so that what comes after it finds little of
 * its own in the processor's caches: such functions stand side by side in the program's text, on few pages. */
#ifndef FERRY_ALLOC_HOT_H
#define FERRY_ALLOC_HOT_H

#define HOT __attribute__((hot))

#endif
