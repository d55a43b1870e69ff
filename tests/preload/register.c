/* register [LIBRARY]: the runtime's calls that pin a block. Managed ones need none; others reach CUDA as they are. */
#include "preloaded.h"

typedef int (*register_function)(void *, size_t, unsigned);
typedef int (*unregister_function)(void *);
typedef int (*get_pointer_function)(void **, void *, unsigned);

static void *library; /* NULL: there is no runtime */

static int fake_int(const char *name) {
    const int *value = dlsym(library, name);
    REQUIRE(value != NULL);
    return *value;
}

static void *fake_block(void) {
    void **value = dlsym(library, "fake_block");
    REQUIRE(value != NULL);
    return *value;
}

static void managed_ones(register_function pin, unregister_function release, get_pointer_function get, void *block) {
    void *seen = NULL;
    const int calls = library == NULL ? 0 : fake_int("fake_calls");
    CHECK_INT(pin(block, 3 * MIB, 2), 0);
    CHECK_INT(pin((char *)block + 4096, 5000, 0), 0);
    CHECK_INT(get(&seen, (char *)block + 10, 0), 0);
    CHECK(seen == (char *)block + 10);
    CHECK_INT(release(block), 0);
    CHECK(library == NULL || fake_int("fake_calls") == calls);
}

static void other_ones(register_function pin, unregister_function release, get_pointer_function get) {
    static char ordinary[10000];
    void *seen = NULL;
    if (library == NULL) {
        CHECK(pin(ordinary, 10000, 0) != 0);
        CHECK(release(ordinary) != 0);
        CHECK(get(&seen, ordinary, 0) != 0);
        return;
    }
    int calls = fake_int("fake_calls");
    CHECK_INT(pin(ordinary, 9999, 3), 701 + calls++);
    CHECK(fake_block() == ordinary);
    CHECK_INT(fake_int("fake_bytes"), 9999);
    CHECK_INT(fake_int("fake_flags"), 3);
    CHECK_INT(release(ordinary + 1), 701 + calls++);
    CHECK(fake_block() == ordinary + 1);
    CHECK_INT(get(&seen, ordinary + 2, 5), 701 + calls++);
    CHECK(seen == ordinary + 1 && fake_block() == ordinary + 2);
    CHECK_INT(fake_int("fake_flags"), 5);
}

static void family(const char *pin_name, const char *release_name, const char *get_name, void *block) {
    register_function pin = NULL;
    unregister_function release = NULL;
    get_pointer_function get = NULL;
    *(void **)&pin = preloaded(pin_name);
    *(void **)&release = preloaded(release_name);
    *(void **)&get = preloaded(get_name);
    REQUIRE(pin != NULL && release != NULL && get != NULL);
    managed_ones(pin, release, get, block);
    other_ones(pin, release, get);
}

int main(int argc, char **argv) {
    void *block = opaque(malloc(3 * MIB));
    REQUIRE(is_managed(block));
    if (argc > 1) {
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library != NULL);
    }
    family("cudaHostRegister", "cudaHostUnregister", "cudaHostGetDevicePointer", block);
    family("cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemHostGetDevicePointer_v2", block);
    free(block);
    return test_finish();
}
