#include <ferry/ferry.h>

int main(void) {
    void *block = ferry_malloc((size_t)1 << 20);
    ferry_free(block);
    return block ? 0 : 1;
}
