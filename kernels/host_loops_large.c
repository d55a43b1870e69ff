/* The host loops of integers of 32 and 64 bits, and of one int64 with one uint64. */
#include <string.h>

#include "host_loops.h"
#include "ops_math.h"

#define LOOPS int32
#define LOOPS_OF INTEGER
#define A_STORED int32_t
#define B_STORED int32_t
#define T int32_t
#define W uint32_t
#define SUFFIX i32
#include "host_loops_type.h"

#define LOOPS uint32
#define LOOPS_OF INTEGER
#define A_STORED uint32_t
#define B_STORED uint32_t
#define T uint32_t
#define W uint32_t
#define SUFFIX u32
#include "host_loops_type.h"

#define LOOPS int64
#define LOOPS_OF INTEGER
#define A_STORED int64_t
#define B_STORED int64_t
#define T int64_t
#define W uint64_t
#define SUFFIX i64
#include "host_loops_type.h"

#define LOOPS uint64
#define LOOPS_OF INTEGER
#define A_STORED uint64_t
#define B_STORED uint64_t
#define T uint64_t
#define W uint64_t
#define SUFFIX u64
#include "host_loops_type.h"

#define LOOPS int64_uint64
#define LOOPS_OF MIXED
#define A_STORED int64_t
#define B_STORED uint64_t
#define T
#define W
#define SUFFIX i64u64
#include "host_loops_type.h"

#define LOOPS uint64_int64
#define LOOPS_OF MIXED
#define A_STORED uint64_t
#define B_STORED int64_t
#define T
#define W
#define SUFFIX u64i64
#include "host_loops_type.h"
