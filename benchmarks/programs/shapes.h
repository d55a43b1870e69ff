/* What the host and the kernels of a program have to agree on; the kernels' source has it in front. */
#ifndef PROGRAMS_SHAPES_H
#define PROGRAMS_SHAPES_H

#define THREADS 256 /* of every block */

/* kmeans */
#define CLUSTERS 16

/* cg */
#define PARTS_MOST 1024 /* blocks of a kernel, and so parts of a sum over the rows */

/* epoch */
#define FIELDS 1024 /* numbers of a sample: what is to be predicted, 0 or 1, and then the features */
#define GROUPS 512  /* blocks that share out a batch */

#endif
