/* The host loops of floats. */
#include <string.h>

#include "host_loops.h"
#include "ops_math.h"

#define LOOPS float16
#define LOOPS_OF FLOAT
#define A_STORED uint16_t
#define B_STORED uint16_t
#define T float
#define W
#define SUFFIX f32
#define LOAD ferry_float16_to_float32
#define STORE ferry_float32_to_float16
#define ROUNDED(value, bits) narrowed_f32(value, ferry_float16_to_float32(bits), FERRY_SMALLEST_F16)
#include "host_loops_type.h"

#define LOOPS float32
#define LOOPS_OF FLOAT
#define A_STORED float
#define B_STORED float
#define T float
#define W
#define SUFFIX f32
#include "host_loops_type.h"

#define LOOPS float64
#define LOOPS_OF FLOAT
#define A_STORED double
#define B_STORED double
#define T double
#define W
#define SUFFIX f64
#include "host_loops_type.h"
