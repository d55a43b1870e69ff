/* The program that `ferry run` runs. */
#ifndef FERRY_TOOLS_RUN_CHILD_H
#define FERRY_TOOLS_RUN_CHILD_H

#include <sys/types.h>

/* As those of env(1), and of a shell: failures before the program runs. */
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* Becomes the program; returns only on failure: an exit status, with a message. argv ends in NULL. */
int run_become(char **argv);

typedef struct run_child {
    pid_t pid;
    int status; /* of waitpid */
} run_child;

/*
 * Runs the program and waits for its end, while the terminal's interrupts are left to it and other signals that are
 * meant for it are passed on. EXIT_DONE, or an exit status with a message where there was no program to run.
 */
int run_and_wait(char **argv, run_child *out);

/* The exit status that says the same: 128 and the signal's number of a program that was killed. */
int run_exit_status(const run_child *child);

#endif
