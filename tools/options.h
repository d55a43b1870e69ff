/* The options that start the library. */
#ifndef FERRY_TOOLS_OPTIONS_H
#define FERRY_TOOLS_OPTIONS_H

#include "args.h"
#include "ferry/memory.h"

#define BACKEND_HELP "auto, cuda or sim (default: FERRY_BACKEND, else auto)"
#define POLICY_HELP "auto, prefetch, remote or none (default: FERRY_POLICY, else auto)"

/* Whether there is such a backend, such a policy; EXIT_USAGE with a message where there is none. */
int check_backend(const char *command, const char *name);
int check_policy(const char *command, const char *name, ferry_policy *out);

/* Starts the library as --backend and --policy (NULL: no such option) say; an exit status, with a message when not
 * EXIT_DONE. */
int start_library(const char *command, const option *backend, const option *policy);

#endif
