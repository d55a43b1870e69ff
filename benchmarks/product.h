/* Matrix products by cuBLAS, which is opened at run time. */
#ifndef FERRY_BENCHMARKS_PRODUCT_H
#define FERRY_BENCHMARKS_PRODUCT_H

#include "ferry/status.h"

/* Opens cuBLAS: FERRY_CUBLAS names its file, else the usual names are tried. FERRY_UNSUPPORTED, with the reason. */
ferry_status product_open(void);
void product_close(void);

/* c = a b, square matrices of `side` rows of doubles, in the order of the stream, a cudaStream_t. No movement. */
ferry_status product_enqueue(double *c, const double *a, const double *b, int side, void *stream);

#endif
