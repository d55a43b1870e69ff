/* Blocks that are older than the preloaded library, and younger than it. */
#include "preloaded.h"

int early_blocks(void);

int main(void) {
    CHECK_INT(early_blocks(), 3);
    unsigned char *block = opaque(malloc(2 * MIB));
    CHECK(block != NULL && is_managed(block) == expect_managed(2 * MIB));
    free(block);
    return test_finish();
}
