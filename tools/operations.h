/* The elementwise operations as the command line knows them. */
#ifndef FERRY_TOOLS_OPERATIONS_H
#define FERRY_TOOLS_OPERATIONS_H

#include "ferry/apply.h"

/* By name; EXIT_USAGE with a message that suggests one. */
int find_operation(const char *name, ferry_op *out);

/* Prints every operation with its number of inputs and its types. */
int list_operations(void);

#endif
