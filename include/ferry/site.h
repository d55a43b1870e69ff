/* Sites: places in the user's program, by which the library remembers what becomes of the blocks allocated there. */
#ifndef FERRY_SITE_H
#define FERRY_SITE_H

#include "ferry/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A place in the program: a return address, a label, or any other number that a binding makes up. 0: none given, and
 * the library takes the address that its public function returns to.
 */
typedef uintptr_t ferry_site;

/*
 * The site for which the calling thread allocates, launches and acquires, until set back; 0 lifts it. Returns the one
 * before. A few nanoseconds.
 */
FERRY_API ferry_site ferry_site_set(ferry_site site);
FERRY_API ferry_site ferry_site_get(void);

/* Sets the site to a public function's return address unless somebody further out has named one; give the result to
 * ferry_site_set before returning. */
static inline ferry_site ferry_site_enter(void *return_address) {
    const ferry_site before = ferry_site_get();
    return before != 0 ? before : ferry_site_set((ferry_site)return_address);
}

/* The site of a label, the same for equal texts for as long as the process lives. 0 when there is no memory. */
FERRY_API ferry_site ferry_site_label(const char *label);

/*
 * Writes what the site is, at most `bytes` with the terminating zero: a label, what the describer says, or the function
 * around an address with its file ("assemble+0x4f in solver"), else the address. The symbol table of the file is read:
 * milliseconds, for reports.
 */
FERRY_API void ferry_site_describe(ferry_site site, char *text, size_t bytes);

/* For bindings: is asked first; returns false for sites that are not its own. NULL: none. */
typedef bool (*ferry_site_describer)(ferry_site site, char *text, size_t bytes);
FERRY_API void ferry_site_describe_with(ferry_site_describer describer);

#ifdef __cplusplus
}
#endif
#endif
