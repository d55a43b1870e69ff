/* allocates: five large blocks of 2 MiB, one after the other, and a larger one at the end, which is left. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    for (int i = 0; i < 5; i++) {
        char *block = malloc((size_t)2 << 20);
        if (block == NULL)
            return 1;
        memset(block, 1, (size_t)2 << 20);
        free(block);
    }
    volatile char *left = malloc((size_t)3 << 20);
    return left == NULL;
}
