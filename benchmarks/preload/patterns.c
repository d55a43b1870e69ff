/* patterns NAME [SCALE [SHIFT]]: runs one and prints its checksum, and the most memory that was resident, in kB. Before
 * that it allocates SHIFT blocks of each small size, for good, so that others become the ones that are used. */
#include "patterns.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint64_t (*run)(unsigned scale);
} patterns[] = {{"factorise", pattern_factorise}, {"servers", pattern_servers},   {"batches", pattern_batches},
                {"mixed", pattern_mixed},         {"handover", pattern_handover}, {"fill", pattern_fill}};

void *must_malloc(size_t bytes) {
    void *block = malloc(bytes);
    if (block == NULL) {
        fprintf(stderr, "patterns: no memory\n");
        exit(1);
    }
    return block;
}

/* Of this program alone: what getrusage says goes back to before the exec. */
static long peak_kb(void) {
    char line[128];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kb = strtol(line + 6, NULL, 10);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return kb;
}

static unsigned number(const char *text, unsigned otherwise) {
    return text == NULL ? otherwise : (unsigned)strtoul(text, NULL, 10);
}

static void shift_blocks(unsigned blocks) {
    static void *volatile last;
    for (size_t bytes = 16; bytes <= 128; bytes += 16) {
        for (unsigned i = 0; i < blocks; i++) {
            last = must_malloc(bytes);
        }
    }
    (void)last;
}

int main(int argc, char **argv) {
    const unsigned scale = number(argc > 2 ? argv[2] : NULL, 1);
    shift_blocks(number(argc > 3 ? argv[3] : NULL, 0));
    for (size_t i = 0; argc > 1 && i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(argv[1], patterns[i].name) == 0) {
            const unsigned long long sum = patterns[i].run(scale);
            printf("%llu %ld\n", sum, peak_kb());
            return 0;
        }
    }
    fprintf(stderr, "usage: patterns NAME [SCALE [SHIFT]]\n");
    return 2;
}
