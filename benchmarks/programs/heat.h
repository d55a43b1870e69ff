/* Heat spreading in a plate whose border keeps its temperature, with a picture every so many steps. */
#ifndef PROGRAMS_HEAT_H
#define PROGRAMS_HEAT_H

#include "program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heat {
    int size;    /* rows, and columns: a multiple of 4 */
    int steps;   /* a multiple of `every` */
    int every;   /* steps from picture to picture */
    size_t area; /* size times size */
    const char *folder;
};

/* The temperatures at the start, between 0 and 1. */
void heat_fill(const struct heat *heat, float *grid);
/* Writes picture `number`, counted from 1. */
void heat_save(const struct heat *heat, int number, const uint8_t *picture);
/* What all rows hold together is part of the answer. */
void heat_answer(const struct heat *heat, const double *row_sums);

/* Of the version. */
void heat_run(const struct heat *heat);

#ifdef __cplusplus
}
#endif
#endif
