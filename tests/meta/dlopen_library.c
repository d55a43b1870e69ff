/*
 * dlopen_library LIBRARY: opens the shared library at run time, as Python does, from the main thread and with
 * another thread already running, uses it, and closes it before that thread ends. Thread-local storage of the wrong
 * kind makes this fail, and so does a library that goes while threads still run through it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef void *(*malloc_function)(size_t);
typedef void (*free_function)(void *);

static malloc_function library_malloc;
static free_function library_free;
static pthread_barrier_t opened, used, closed;

/* ISO C has no conversion from an object pointer to a function pointer; POSIX gives the bytes that meaning. */
static void find(void *library, const char *name, void *function, size_t bytes) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, bytes);
}

static int use_library(void) {
    void *block = library_malloc(100000);
    if (!block)
        return 1;
    memset(block, 1, 100000);
    library_free(block);
    return 0;
}

static void *run_thread(void *failed) {
    pthread_barrier_wait(&opened);
    *(int *)failed = use_library();
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    return NULL;
}

int main(int argc, char **argv) {
    int thread_failed = 0;
    pthread_t thread;
    if (argc != 2)
        return 2;
    pthread_barrier_init(&opened, NULL, 2);
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    pthread_create(&thread, NULL, run_thread, &thread_failed);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    find(library, "ferry_malloc", &library_malloc, sizeof library_malloc);
    find(library, "ferry_free", &library_free, sizeof library_free);
    pthread_barrier_wait(&opened);
    int failed = use_library();
    pthread_barrier_wait(&used);
    dlclose(library);
    pthread_barrier_wait(&closed);
    pthread_join(thread, NULL);
    if (failed || thread_failed)
        fprintf(stderr, "ferry_malloc failed in the opened library\n");
    return failed || thread_failed;
}
