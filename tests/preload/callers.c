/* callers CASE [LIBRARY]: who gets managed memory, and what a program has that gets none. */
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>

#include "ferry/run.h"
#include "preloaded.h"

#ifdef WITH_KERNELS
/* As the CUDA compiler leaves it in a program with kernels. */
__attribute__((section(".nv_fatbin"), used)) static const char kernels[] = "kernels";
#endif

static void *open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    return library;
}

static void *(*allocates_in(void *library, const char *name))(size_t) {
    void *(*function)(size_t) = NULL;
    *(void **)&function = dlsym(library, name);
    REQUIRE(function != NULL);
    return function;
}

static unsigned char *large_block(void) {
    unsigned char *block = opaque(malloc(3 * MIB));
    REQUIRE(block != NULL);
    fill(block, 3 * MIB, 6);
    CHECK(is_filled(block, 3 * MIB, 6));
    return block;
}

static void ordinary(void *block) {
    REQUIRE(block != NULL);
    CHECK(!is_managed(block));
    fill(block, 2 * MIB, 1);
    free(block);
}

/* What CUDA's libraries allocate is ordinary, and stays so when it is resized; the program's is managed before and
 * after. */
static void cuda_gets_ordinary_memory(const char *path) {
    unsigned char *mine = large_block();
    CHECK(is_managed(mine));
    void *library = open_library(path);
    void *(*resize)(void *, size_t) = NULL;
    *(void **)&resize = dlsym(library, "fake_resize");
    ordinary(allocates_in(library, "fake_allocate")(2 * MIB));
    ordinary(allocates_in(library, "fake_zeros")(2 * MIB));
    ordinary(resize(NULL, 2 * MIB));
    ordinary(resize(allocates_in(library, "fake_allocate")(100), 2 * MIB));
    ordinary(resize(allocates_in(library, "fake_allocate")(2 * MIB), 9 * MIB));
    ordinary(resize(large_block(), 9 * MIB));
    unsigned char *other = large_block();
    CHECK(is_managed(other));
    free(other);
    free(mine);
}

static void copy_file(const char *from, const char *to) {
    char piece[8192];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    REQUIRE(in != NULL && out != NULL);
    for (size_t n = fread(piece, 1, sizeof piece, in); n > 0; n = fread(piece, 1, sizeof piece, in)) {
        REQUIRE(fwrite(piece, 1, n, out) == n);
    }
    fclose(in);
    fclose(out);
}

/* However many there are: each of a program's wheels may bring its own. */
static void many_of_cudas_libraries(const char *path) {
    enum { LIBRARIES = 100 };
    char folder[] = "/tmp/ferry-callers-XXXXXX", copy[64];
    REQUIRE(mkdtemp(folder) != NULL);
    for (int i = 0; i < LIBRARIES; i++) {
        snprintf(copy, sizeof copy, "%s/libcudart-%d.so.12", folder, i);
        copy_file(path, copy);
        ordinary(allocates_in(open_library(copy), "fake_allocate")(2 * MIB));
        unlink(copy);
    }
    rmdir(folder);
}

/* The C library's own large blocks, of which its caller knows nothing or frees them. */
static void the_c_library_gets_ordinary_memory(void) {
    unsigned char *mine = large_block();
    char *text = malloc(2 * MIB + 1);
    REQUIRE(text != NULL);
    memset(text, 'x', 2 * MIB);
    text[2 * MIB] = '\0';
    ordinary(strdup(text));
    free(text);
    free(mine);
}

/* Allocates while it holds the loader's lock. */
static int allocate_in_callback(struct dl_phdr_info *object, size_t bytes, void *argument) {
    (void)object, (void)bytes, (void)argument;
    free(large_block());
    return 0;
}

static void callbacks_of_the_loader(void) {
    CHECK_INT(dl_iterate_phdr(allocate_in_callback, NULL), 0);
}

/* What this process's record says of the device. */
static ferry_run_device recorded_device(void) {
    static ferry_run_record record;
    const char *folder = getenv("FERRY_REPORT");
    char own[64];
    bool found = false;
    snprintf(own, sizeof own, "-%ld" FERRY_RUN_SUFFIX, (long)getpid());
    DIR *entries = opendir(folder);
    REQUIRE(entries != NULL);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strstr(entry->d_name, own) != NULL) {
            const int file = openat(dirfd(entries), entry->d_name, O_RDONLY);
            found = read(file, &record, sizeof record) == (ssize_t)sizeof record;
            close(file);
        }
    }
    closedir(entries);
    REQUIRE(found);
    return record.device;
}

/* Tried, whatever came of it: there may be a device here. */
static bool tried(ferry_run_device device) {
    return device == FERRY_RUN_DEVICE_FAILED || device == FERRY_RUN_DEVICE_STARTED;
}

static void cuda_that_comes_later(const char *path) {
    unsigned char *before = large_block();
    CHECK_INT(recorded_device(), FERRY_RUN_DEVICE_NO_CUDA);
    CHECK(!is_managed(before));
    (void)open_library(path);
    unsigned char *after = large_block();
    CHECK(tried(recorded_device()));
    CHECK(is_managed(after) == (recorded_device() == FERRY_RUN_DEVICE_STARTED));
    CHECK(is_filled(before, 3 * MIB, 6));
    free(opaque(realloc(before, 5 * MIB)));
    free(after);
}

static void first_block_tries(bool wanted) {
    CHECK_INT(recorded_device(), FERRY_RUN_DEVICE_UNUSED);
    free(large_block());
    CHECK(tried(recorded_device()) == wanted);
    free(large_block());
}

static void all_managed(bool wanted) {
    for (int i = 0; i < 4; i++) {
        unsigned char *block = large_block();
        CHECK(is_managed(block) == wanted);
        free(block);
    }
}

static void more_than_the_limit(void) {
    enum { BLOCKS = 30 };
    unsigned char *blocks[BLOCKS];
    int managed = 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = large_block();
        managed += is_managed(blocks[i]);
    }
    CHECK_THAT(managed > 0 && managed < BLOCKS, "%d managed", managed);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(is_filled(blocks[i], 3 * MIB, 6));
        blocks[i] = opaque(realloc(blocks[i], 4 * MIB));
        REQUIRE(blocks[i] != NULL);
        CHECK(is_filled(blocks[i], 3 * MIB, 6));
        free(blocks[i]);
    }
}

static size_t room_bytes;

static void with_little_room(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    const size_t bytes = pages * (size_t)getpagesize() + room_bytes;
    const struct rlimit limit = {bytes, bytes};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    for (int i = 0; i < 4; i++) {
        free(large_block());
    }
    CHECK(opaque(malloc((size_t)1 << 30)) == NULL);
    free(large_block());
}

/* Whether the device's start has the room or not, the program goes on. */
static void little_address_space(void) {
    static const size_t rooms[] = {24, 32, 48, 64, 96, 128, 256, 512};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        room_bytes = rooms[i] * MIB;
        in_child(with_little_room);
    }
}

static bool is(const char *given, const char *name) {
    return strcmp(given, name) == 0;
}

int main(int argc, char **argv) {
    REQUIRE(argc > 1);
    const char *which = argv[1], *library = argc > 2 ? argv[2] : NULL;
    if (is(which, "cuda")) {
        cuda_gets_ordinary_memory(library);
        many_of_cudas_libraries(library);
        the_c_library_gets_ordinary_memory();
        callbacks_of_the_loader();
    } else if (is(which, "later")) {
        cuda_that_comes_later(library);
    } else if (is(which, "tries") || is(which, "waits")) {
        first_block_tries(is(which, "tries"));
    } else if (is(which, "managed") || is(which, "ordinary")) {
        all_managed(is(which, "managed"));
    } else if (is(which, "limit")) {
        more_than_the_limit();
    } else {
        REQUIRE(is(which, "address-space"));
        little_address_space();
    }
    return test_finish();
}
