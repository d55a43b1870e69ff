/* patterns NAME [SCALE]: runs one and prints its checksum, and the most memory that was resident, in kB. */
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

int main(int argc, char **argv) {
    const unsigned scale = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(argv[1], patterns[i].name) == 0) {
            const unsigned long long sum = patterns[i].run(scale);
            printf("%llu %ld\n", sum, peak_kb());
            return 0;
        }
    }
    fprintf(stderr, "usage: patterns NAME [SCALE]\n");
    return 2;
}
