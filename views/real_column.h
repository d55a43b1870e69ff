/* The floating part of column.h. */
#ifndef FERRY_VIEWS_REAL_COLUMN_H
#define FERRY_VIEWS_REAL_COLUMN_H

#include "column.h"

void real_column_measure(real_column *column, double value);
void real_column_finish(real_column *column);
size_t real_column_word(const real_column *column, double value, char *word);

/* str() of a scalar; with `point` a whole number ends in ".0". */
size_t real_scalar(double value, ferry_dtype dtype, bool point, char *word);

#endif
