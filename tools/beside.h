/* Files that are installed with the command. */
#ifndef FERRY_TOOLS_BESIDE_H
#define FERRY_TOOLS_BESIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The first of `places` that is there, into `path`: as installed, then as in the build tree, each from the command's
 * own folder, which goes into `folder` with a slash at its end. False: none is. */
bool find_beside(const char *const *places, size_t n, char path[PATH_MAX], char folder[PATH_MAX]);

#endif
