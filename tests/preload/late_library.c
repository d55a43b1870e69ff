/* Opened late: its constructor allocates, its destructor frees, and its threads' variables are many and static. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned char *late_block(void);

enum { BYTES = 64 << 20 };
static unsigned char *block;
static __thread char variables[400]; /* of the little that libraries which are opened share */

__attribute__((constructor)) static void begin(void) {
    block = malloc(BYTES);
    if (block != NULL) {
        block[0] = block[BYTES - 1] = 1;
    }
    memset(variables, 1, sizeof variables);
}

__attribute__((destructor)) static void end(void) {
    if (block == NULL || block[BYTES - 1] != 1) {
        _exit(7);
    }
    free(block);
    block = calloc(1, BYTES);
    if (block == NULL || block[0] != 0 || block[BYTES - 1] != 0) {
        _exit(8);
    }
    free(block);
}

__attribute__((visibility("default"))) unsigned char *late_block(void) {
    return variables[399] == 1 ? block : NULL;
}
