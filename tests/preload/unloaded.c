/* A program that the library must not reach: under another user's rights, or without a loader. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef STATIC
#include <dlfcn.h>
#endif

int main(int argc, char **argv) {
    char *block = malloc(3 << 20);
    (void)argv;
    if (block == NULL) {
        return 2;
    }
    block[(3 << 20) - 1] = 1;
    free(block);
#ifndef STATIC
    if (dlsym(RTLD_DEFAULT, "ferry_owns") != NULL) {
        return 3;
    }
#endif
    if (argc > 1 && (geteuid() != 0 || getuid() == 0)) {
        return 4;
    }
    puts("as if nothing were preloaded");
    return 0;
}
