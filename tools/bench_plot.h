/* The picture of a suite's results: drawn by plot_bench.py, which needs Python and matplotlib. */
#ifndef FERRY_TOOLS_BENCH_PLOT_H
#define FERRY_TOOLS_BENCH_PLOT_H

#include <limits.h>
#include <stdbool.h>

typedef struct bench_plot {
    const char *picture;   /* the file to write; NULL: none is wanted */
    const char *results;   /* the file to draw */
    char script[PATH_MAX]; /* plot_bench.py */
    char made[PATH_MAX];   /* results that nobody asked to keep: "" or a file that bench_plot_finish removes */
} bench_plot;

/*
 * Sees to it, before anything is measured, that the picture can be drawn and written. `json` is where the results go,
 * or NULL; they are then kept in a temporary file. EXIT_DONE, or an exit status with a message.
 */
int bench_plot_begin(bench_plot *plot, const char *picture, const char *json);

/* Draws it, where `draw` and there are results, and removes what was temporary. EXIT_DONE, or EXIT_FAILED with a
 * message. */
int bench_plot_finish(bench_plot *plot, bool draw);

#endif
