/* The axis order that NumPy gives to a new result. */
#ifndef FERRY_TOOLS_ORDER_H
#define FERRY_TOOLS_ORDER_H

#include "ferry/view.h"

/*
 * Creates an array of the broadcast shape whose axes lie in memory in NumPy's K order: as the inputs' do, C order where
 * they disagree. Undefined contents. Errors as ferry_array_create.
 */
ferry_status create_like(const ferry_view *const *inputs, int ninputs, ferry_dtype dtype, int ndim,
                         const int64_t *shape, ferry_array *out);

#endif
