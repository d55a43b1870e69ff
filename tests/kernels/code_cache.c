/* The disk cache of compiled code: whole files of the right key or nothing, whatever lies there and whoever writes. */
#include "kernels/code_cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/compile.h"
#include "tests/scratch.h"

static char folder[SCRATCH_BYTES];

static bool is_stored(code_key key) {
    code_image image = {NULL, 0};
    bool found = code_cache_load(key, &image);
    free(image.data);
    return found;
}

static code_image image_of(char *text) {
    return (code_image){text, strlen(text) + 1};
}

static void what_is_stored_is_found(void) {
    code_key key = code_key_make("sm_90", "source"), other = code_key_make("sm_80", "source");
    code_image image = image_of((char[]){"machine code"}), found = {NULL, 0};
    CHECK(!code_cache_load(key, &found));
    code_cache_store(key, &image);
    if (CHECK(code_cache_load(key, &found))) {
        CHECK_UINT(found.bytes, image.bytes);
        CHECK_MEMORY(found.data, image.data, image.bytes);
    }
    free(found.data);
    CHECK(!is_stored(other));
    CHECK(!is_stored(code_key_make("sm_9", "0source")));
}

/* Every byte changed, every shorter length, one byte more, something else altogether. */
static void damaged_files_are_as_good_as_none(void) {
    char path[1024], bytes[512];
    code_key key = code_key_make("sm_90", "damaged");
    code_image image = image_of((char[]){"a little machine code"});
    code_cache_store(key, &image);
    REQUIRE(code_cache_path(key, path, sizeof path));
    size_t n = scratch_read(path, bytes, sizeof bytes - 1);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x10;
        scratch_write(path, bytes, n);
        CHECK_THAT(!is_stored(key), "byte %zu changed, and nobody noticed", i);
        bytes[i] ^= 0x10;
        scratch_write(path, bytes, i);
        CHECK_THAT(!is_stored(key), "cut to %zu bytes, and nobody noticed", i);
    }
    bytes[n] = 0;
    scratch_write(path, bytes, n + 1);
    CHECK(!is_stored(key));
    scratch_write(path, "#!/bin/sh\n", 10);
    CHECK(!is_stored(key));
    code_cache_store(key, &image);
    CHECK(is_stored(key));
}

static void a_file_under_another_name_is_foreign(void) {
    char from[1024], to[1024], bytes[512];
    code_key key = code_key_make("sm_90", "mine"), other = code_key_make("sm_90", "other");
    code_image image = image_of((char[]){"code of mine"});
    code_cache_store(key, &image);
    REQUIRE(code_cache_path(key, from, sizeof from) && code_cache_path(other, to, sizeof to));
    scratch_write(to, bytes, scratch_read(from, bytes, sizeof bytes));
    CHECK(is_stored(key));
    CHECK(!is_stored(other));
}

static void files_lie_in_a_folder_of_their_own(void) {
    char path[1024], wanted[300];
    code_key key = code_key_make("", "");
    snprintf(wanted, sizeof wanted, "%s/kernels/", folder);
    CHECK(code_cache_path(key, path, sizeof path) && strncmp(path, wanted, strlen(wanted)) == 0);
    CHECK(!code_cache_path(key, path, 10));
    CHECK(!code_cache_path(key, path, strlen(wanted) + 10));
}

/* Under a file no folder can be made, not even by root. */
static void a_cache_that_cannot_be_written_is_no_error(void) {
    char file[300];
    snprintf(file, sizeof file, "%s/file", folder);
    scratch_write(file, "", 0);
    setenv("FERRY_CACHE", file, 1);
    code_key key = code_key_make("sm_90", "unwritable");
    code_image image = image_of((char[]){"code"});
    code_cache_store(key, &image);
    CHECK(!is_stored(key));
    setenv("FERRY_CACHE", folder, 1);
}

/* Images of different lengths under one key: whatever a reader finds is one of them, whole. */
static bool is_whole(const code_image *image) {
    const char *bytes = image->data;
    for (size_t i = 1; i < image->bytes; i++) {
        if (bytes[i] != bytes[0])
            return false;
    }
    return image->bytes == 1000 * (size_t)bytes[0];
}

static void *write_and_read(void *context) {
    code_key key = code_key_make("sm_90", "contended");
    char letter = *(char *)context;
    code_image own = {malloc(1000 * (size_t)letter), 1000 * (size_t)letter}, found;
    REQUIRE(own.data != NULL);
    memset(own.data, letter, own.bytes);
    for (int i = 0; i < 50; i++) {
        code_cache_store(key, &own);
        found = (code_image){NULL, 0};
        if (CHECK(code_cache_load(key, &found)))
            CHECK(is_whole(&found));
        free(found.data);
    }
    free(own.data);
    return NULL;
}

static void run_writers(char first) {
    pthread_t threads[4];
    char letters[4];
    for (int i = 0; i < 4; i++) {
        letters[i] = (char)(first + i);
        REQUIRE(pthread_create(&threads[i], NULL, write_and_read, &letters[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void writers_do_not_disturb_readers(void) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        run_writers('K');
        _exit(atomic_load(&test_failures) != 0);
    }
    run_writers('A');
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char command[600];
    snprintf(command, sizeof command, "! ls '%s'/kernels | grep -v 'bin$'", folder);
    CHECK_INT(system(command), 0); /* nothing half written is left */
}

static void sources_are_compiled_once(void) {
    nvrtc_request request = {.source = "extern \"C\" __global__ void f() {}", .name = "f", .architecture = 90};
    char description[128];
    if (nvrtc_describe(&request, description, sizeof description) != FERRY_OK) {
        fprintf(stderr, "without NVRTC: %s\n", ferry_error_detail());
        return;
    }
    code_image first = {NULL, 0}, second = {NULL, 0};
    bool compiled = false;
    CHECK_OK(compile_source(&request, &first, &compiled));
    CHECK(compiled);
    CHECK_OK(compile_source(&request, &second, &compiled));
    CHECK(!compiled);
    CHECK_UINT(second.bytes, first.bytes);
    CHECK_MEMORY(second.data, first.data, first.bytes);
    free(first.data);
    free(second.data);
    request.contract = true; /* another option is other code */
    CHECK_OK(compile_source(&request, &first, &compiled));
    CHECK(compiled);
    free(first.data);
}

int main(void) {
    scratch_make(folder);
    setenv("FERRY_CACHE", folder, 1);
    RUN(what_is_stored_is_found);
    RUN(damaged_files_are_as_good_as_none);
    RUN(a_file_under_another_name_is_foreign);
    RUN(files_lie_in_a_folder_of_their_own);
    RUN(a_cache_that_cannot_be_written_is_no_error);
    RUN(writers_do_not_disturb_readers);
    RUN(sources_are_compiled_once);
    scratch_remove(folder);
    return test_finish();
}
