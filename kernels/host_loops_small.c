/* The host loops of bool and of integers under 32 bits. */
#include <string.h>

#include "host_loops.h"
#include "ops_math.h"

#define LOOPS truth
#define LOOPS_OF BOOL
#define A_STORED uint8_t
#define B_STORED uint8_t
#define T uint8_t
#define W uint32_t
#define SUFFIX b1
#define LOAD BOOL_VALUE
#define STORE
#include "host_loops_type.h"

#define LOOPS int8
#define LOOPS_OF INTEGER
#define A_STORED int8_t
#define B_STORED int8_t
#define T int8_t
#define W uint32_t
#define SUFFIX i8
#include "host_loops_type.h"

#define LOOPS uint8
#define LOOPS_OF INTEGER
#define A_STORED uint8_t
#define B_STORED uint8_t
#define T uint8_t
#define W uint32_t
#define SUFFIX u8
#include "host_loops_type.h"

#define LOOPS int16
#define LOOPS_OF INTEGER
#define A_STORED int16_t
#define B_STORED int16_t
#define T int16_t
#define W uint32_t
#define SUFFIX i16
#include "host_loops_type.h"

#define LOOPS uint16
#define LOOPS_OF INTEGER
#define A_STORED uint16_t
#define B_STORED uint16_t
#define T uint16_t
#define W uint32_t
#define SUFFIX u16
#include "host_loops_type.h"
