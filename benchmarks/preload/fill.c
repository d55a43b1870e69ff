/* Arrays of 64 MiB, one after the other, as numerical programs make them: allocated, filled, read and freed. */
#include <string.h>

#include "patterns.h"

#define ARRAY_BYTES ((size_t)64 << 20)
enum { ARRAYS = 60 };

uint64_t pattern_fill(unsigned scale) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < ARRAYS * scale; i++) {
        unsigned char *array = must_malloc(ARRAY_BYTES);
        memset(array, (int)(i & 0xff), ARRAY_BYTES);
        sum += array[random_below(&(uint64_t){i + 1}, ARRAY_BYTES)];
        free(array);
    }
    return sum;
}
