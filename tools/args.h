/* Command lines: --name value, --name=value, flags, and the rest. */
#ifndef FERRY_TOOLS_ARGS_H
#define FERRY_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_kind {
    OPTION_FLAG,
    OPTION_VALUE,
    OPTION_MAY_VALUE /* only as --name=value */
} option_kind;

typedef struct option {
    const char *name;  /* "--output" */
    const char *brief; /* "-o", or NULL */
    option_kind kind;
    const char *value_name; /* for the help: "FILE" */
    const char *help;
    bool given;        /* result */
    const char *value; /* result: NULL without one */
} option;

/*
 * Sets the options' results and moves the other arguments to the front of argv, *rest of them. "--" ends the options.
 * EXIT_DONE, or EXIT_USAGE with a message.
 */
int args_parse(const char *command, int argc, char **argv, option *options, size_t noptions, int *rest);

/* The same for a command line that goes on with another's: the options end at the first other argument, or behind "--".
 * argv keeps its order; *first is where the rest begins. */
int args_parse_front(const char *command, int argc, char **argv, option *options, size_t noptions, int *first);

/* Prints the options, aligned. */
void args_help(const option *options, size_t noptions);

#endif
