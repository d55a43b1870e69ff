/* A file that appears whole under its name or not at all. */
#ifndef FERRY_VIEWS_NPY_REPLACE_H
#define FERRY_VIEWS_NPY_REPLACE_H

#include <limits.h>
#include <stdbool.h>

#include "ferry/status.h"

typedef struct replacement {
    const char *path;         /* as the caller gave it, for details */
    char target[PATH_MAX];    /* behind all symbolic links */
    char temporary[PATH_MAX]; /* beside the target; "" while the file has no name */
    int fd;                   /* write here */
    bool direct;              /* not a regular file (a pipe, a device) or open already: written in place */
} replacement;

/*
 * Opens a file to write, in the target's folder, without a name where the file system can, so that not even a killed
 * process leaves it behind. It gets the mode of the file it replaces, else what the umask leaves of 0666. FERRY_IO. End
 * with one of the two below.
 */
ferry_status replace_begin(const char *path, replacement *out);
/* Closes and renames. FERRY_IO: nothing has changed and nothing is left. */
ferry_status replace_commit(replacement *r);
/* Closes and removes. Keeps the error detail. */
void replace_abandon(replacement *r);

#endif
