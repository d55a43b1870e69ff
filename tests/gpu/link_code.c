/* The kernel that links are measured with is PTX that the assembler takes, for every generation of devices. The
 * argument is the toolkit's ptxas. */
#include <unistd.h>

#include "alloc/cuda_link_code.h"
#include "tests/scratch.h"

static char folder[SCRATCH_BYTES];

static void write_code(const char *path) {
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    CHECK(fputs(cuda_link_code, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

static int assemble(const char *ptxas, int architecture) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' -arch sm_%d -o '%s/code.bin' '%s/code.ptx'", ptxas, architecture, folder,
             folder);
    return system(command);
}

int main(int argc, char **argv) {
    static const int architectures[] = {75, 80, 90, 100, 120};
    char path[300];
    if (argc < 2 || access(argv[1], X_OK) != 0)
        SKIP("there is no ptxas");
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/code.ptx", folder);
    write_code(path);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        CHECK_THAT(assemble(argv[1], architectures[i]) == 0, "refused for sm_%d", architectures[i]);
    scratch_remove(folder);
    return test_finish();
}
