/* Parts of the report for people. */
#ifndef FERRY_TOOLS_RUN_TEXT_H
#define FERRY_TOOLS_RUN_TEXT_H

#include <stdio.h>

#include "run_records.h"

#define RUN_LABEL 14 /* columns in front of what a line says */
#define RUN_WIDTH 110

/* A program's text, without what a terminal would obey; cut off at `most` columns. */
void run_print_text(FILE *to, const char *text, int most);

/* The same in lines of their own, broken in front of " < ". */
void run_print_stack(FILE *to, const char *text);

/* "exited after 1.20 s". */
void run_print_end(FILE *to, const run_process *process);

/* Sizes and lifetimes of large blocks, of all homes together. All classes, or the few that matter. */
void run_print_sizes(FILE *to, const ferry_run_heap *heaps, bool all);
void run_print_lifetimes(FILE *to, const ferry_run_heap *heaps, bool all);

/* Live bytes over the process's life, in a few lines. */
void run_print_plot(FILE *to, const run_process *process);

#endif
