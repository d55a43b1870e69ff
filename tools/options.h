/* The options that start the library. */
#ifndef FERRY_TOOLS_OPTIONS_H
#define FERRY_TOOLS_OPTIONS_H

#include "args.h"

#define BACKEND_HELP "auto, cuda or sim (default: FERRY_BACKEND, else auto)"
#define POLICY_HELP "auto, prefetch, remote or none (default: FERRY_POLICY, else auto)"

/* Starts the library as --backend and --policy (NULL: no such option) say; an exit status, with a message when not
 * EXIT_DONE. */
int start_library(const char *command, const option *backend, const option *policy);

#endif
