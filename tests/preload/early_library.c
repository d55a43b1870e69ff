/* Linked to a program: its constructor runs before the preloaded library's, its destructor after it. */
#include <stdlib.h>
#include <unistd.h>

int early_blocks(void);

enum { BYTES = 64 << 20, BLOCKS = 4 };
static unsigned char *blocks[BLOCKS];

__attribute__((constructor)) static void begin(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = calloc(1, BYTES);
        if (blocks[i] == NULL || blocks[i][BYTES - 1] != 0) {
            _exit(7);
        }
        blocks[i][0] = blocks[i][BYTES - 1] = 1;
    }
    free(blocks[0]);
    blocks[1] = realloc(blocks[1], 2 * (size_t)BYTES);
}

__attribute__((destructor)) static void end(void) {
    for (int i = 1; i < BLOCKS; i++) {
        if (blocks[i] == NULL || blocks[i][BYTES - 1] != 1) {
            _exit(8);
        }
        free(blocks[i]);
    }
    unsigned char *last = malloc(BYTES);
    if (last == NULL) {
        _exit(9);
    }
    last[BYTES - 1] = 1;
    free(last);
}

/* Resized by then; how many were. */
__attribute__((visibility("default"))) int early_blocks(void) {
    int n = 0;
    for (int i = 1; i < BLOCKS; i++) {
        blocks[i] = realloc(blocks[i], (size_t)BYTES + 4096);
        n += blocks[i] != NULL && blocks[i][0] == 1 && blocks[i][BYTES - 1] == 1;
    }
    return n;
}
