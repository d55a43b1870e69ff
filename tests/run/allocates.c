/* allocates: five large blocks of 2 MiB, one after the other, a thousand small ones of each of three sizes, and a
 * larger one at the end, which is left. */
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
    for (int i = 0; i < 3000; i++) {
        static const size_t sizes[] = {100, 20000, 300000};
        char *volatile block = malloc(sizes[i % 3]);
        free(block);
    }
    volatile char *left = malloc((size_t)3 << 20);
    return left == NULL;
}
