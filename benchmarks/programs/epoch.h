/* Logistic regression: one epoch of mini-batches, from a file that is larger than what may be used of the device's
 * memory. */
#ifndef PROGRAMS_EPOCH_H
#define PROGRAMS_EPOCH_H

#include "program.h"
#include "shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

struct epoch {
    const char *path;
    int batch;       /* samples in a batch: two batches fit in the budget */
    int batches;     /* in the file, the last one perhaps a short one */
    int64_t samples; /* in the file */
};

/* Samples in a batch, which may be the last. */
int epoch_count(const struct epoch *epoch, int batch);
void epoch_read(const struct epoch *epoch, int batch, float *samples);
/* The parts of the sum of every sample's loss, as it was met; the weights at the end. */
void epoch_answer(const struct epoch *epoch, const double *losses, const float *weights);

/* Of the version. */
void epoch_run(const struct epoch *epoch);

#ifdef __cplusplus
}
#endif
#endif
