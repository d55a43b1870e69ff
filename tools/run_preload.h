/* The library that `ferry run` has the loader put in front, and programs that it cannot be put in front of. */
#ifndef FERRY_TOOLS_RUN_PRELOAD_H
#define FERRY_TOOLS_RUN_PRELOAD_H

/* Sets LD_PRELOAD, in front of what it names already, for a program by that name or path; says so, in a line, where the
 * loader will not heed it. EXIT_DONE, or EXIT_FAILED with a message. */
int run_preload(const char *program);

#endif
