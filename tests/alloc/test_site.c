/* Sites: the thread's own, labels, and what is said of places in code. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc/symbol.h"
#include "ferry/site.h"
#include "tests/test.h"

static const char *describe(ferry_site site) {
    static _Thread_local char text[512];
    ferry_site_describe(site, text, sizeof text);
    return text;
}

static void *get_site(void *unused) {
    (void)unused;
    return (void *)ferry_site_get();
}

static void a_thread_has_a_site(void) {
    void *elsewhere;
    pthread_t thread;
    CHECK_UINT(ferry_site_get(), 0);
    CHECK_UINT(ferry_site_set(5), 0);
    CHECK_UINT(ferry_site_set(6), 5);
    CHECK_UINT(ferry_site_get(), 6);
    REQUIRE(pthread_create(&thread, NULL, get_site, NULL) == 0 && pthread_join(thread, &elsewhere) == 0);
    CHECK(elsewhere == NULL);
    CHECK_UINT(ferry_site_set(0), 6);
}

/* Whoever is furthest out names the site. */
static void the_outermost_names_the_site(void) {
    const ferry_site before = ferry_site_enter((void *)(uintptr_t)7);
    CHECK_UINT(ferry_site_get(), 7);
    const ferry_site inner = ferry_site_enter((void *)(uintptr_t)8);
    CHECK_UINT(ferry_site_get(), 7);
    ferry_site_set(inner);
    CHECK_UINT(ferry_site_get(), 7);
    ferry_site_set(before);
    CHECK_UINT(ferry_site_get(), 0);
}

static void labels_are_their_texts(void) {
    char text[] = "assembly";
    const ferry_site site = ferry_site_label("assembly");
    CHECK(site != 0);
    CHECK_UINT(ferry_site_label(text), site);
    text[0] = 'A';
    CHECK(ferry_site_label(text) != site);
    CHECK_STRING(describe(site), "assembly");
    CHECK_STRING(describe(ferry_site_label("")), "");
    CHECK_STRING(describe(ferry_site_label("%s%n")), "%s%n");
    CHECK_UINT(ferry_site_label(NULL), 0);
}

enum { LABELS = 5000, THREADS = 2 };
static _Atomic int arrived;

/* Threads leave at the same moment, as they must to make the same label at once. */
static void meet(int times) {
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < times * THREADS) {
        sched_yield();
    }
}

static void *make_labels(void *argument) {
    ferry_site *sites = argument;
    for (int i = 0; i < LABELS; i++) {
        char text[32];
        snprintf(text, sizeof text, "label %d", i);
        meet(i + 1);
        sites[i] = ferry_site_label(text);
    }
    return NULL;
}

static void threads_agree_on_labels(void) {
    static ferry_site sites[THREADS][LABELS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, make_labels, sites[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_MEMORY(sites[i], sites[0], sizeof sites[0]);
    }
    for (int i = 0; i < LABELS; i += 100) {
        char text[32];
        snprintf(text, sizeof text, "label %d", i);
        CHECK_STRING(describe(sites[0][i]), text);
    }
}

static void a_forked_child_has_labels(void) {
    const ferry_site site = ferry_site_label("before the fork");
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const bool same = ferry_site_label("before the fork") == site && ferry_site_label("after the fork") != 0;
        _exit(same ? 0 : 1);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static bool describe_lines(ferry_site site, char *text, size_t bytes) {
    if (site < 1000) {
        snprintf(text, bytes, "script.py:%zu", (size_t)site);
        return true;
    }
    snprintf(text, bytes, "not mine");
    return false;
}

static bool fill(ferry_site site, char *text, size_t bytes) {
    memset(text, 'x', bytes);
    return site != 0;
}

static void a_binding_describes_its_own(void) {
    char small[4];
    ferry_site_describe_with(describe_lines);
    CHECK_STRING(describe(42), "script.py:42");
    CHECK_STRING(describe(ferry_site_label("assembly")), "assembly");
    CHECK_STRING(describe(0), "an unknown place");
    ferry_site_describe_with(fill);
    ferry_site_describe(1, small, sizeof small);
    CHECK_STRING(small, "xxx");
    ferry_site_describe_with(NULL);
    CHECK_STRING(describe(42), "0x2a");
}

/* A function of this program that nobody exports. */
static __attribute__((noinline)) ferry_site site_here(void) {
    return (ferry_site)__builtin_return_address(0);
}

static __attribute__((noinline)) ferry_site assemble(void) {
    const ferry_site site = site_here();
    __asm__ volatile("" ::: "memory"); /* the call is not the last thing, so it returns here */
    return site;
}

static void static_functions_are_named(void) {
    char want[64];
    const ferry_site site = assemble();
    snprintf(want, sizeof want, "assemble+0x%zx in test_alloc_site", (size_t)(site - 1 - (uintptr_t)assemble));
    CHECK_STRING(describe(site), want);
    /* A return address just past a function's end is the function's. */
    CHECK_STRING(describe((uintptr_t)assemble + 1), "assemble+0x0 in test_alloc_site");
    CHECK(strstr(describe((uintptr_t)assemble), "assemble+") == NULL);
}

static void texts_are_cut_to_their_room(void) {
    char text[64];
    const ferry_site sites[] = {0, ferry_site_label("assembly"), assemble(), 1};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const char *whole = describe(sites[i]);
        for (size_t bytes = 0; bytes < sizeof text; bytes++) {
            memset(text, '#', sizeof text);
            ferry_site_describe(sites[i], text, bytes);
            CHECK(text[bytes] == '#');
            CHECK(bytes == 0 || (memchr(text, '\0', bytes) != NULL && strncmp(text, whole, strlen(text)) == 0));
        }
    }
}

static void errno_survives(void) {
    errno = 123;
    (void)describe(assemble());
    (void)describe((uintptr_t)getauxval(AT_SYSINFO_EHDR) + 1);
    CHECK_INT(errno, 123);
}

static void the_kernels_own_code_has_a_name(void) {
    const uintptr_t vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (vdso != 0) {
        CHECK(strstr(describe(vdso + 0x101), "vdso.so.1+0x100") != NULL);
    }
    CHECK_STRING(describe(12), "0xc");
}

static void copy_file(const char *from, const char *to) {
    char some[65536];
    const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    REQUIRE(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, some, sizeof some)) > 0;) {
        REQUIRE(write(out, some, (size_t)got) == got);
    }
    close(in);
    close(out);
}

/* Another build of the same: as many symbols, one program header less. */
static void change_headers(const char *path) {
    ElfW(Ehdr) header;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(file >= 0 && pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header);
    header.e_phnum--;
    REQUIRE(pwrite(file, &header, sizeof header, 0) == (ssize_t)sizeof header);
    close(file);
}

/* A copy of the mathematical library: whole, gone, and replaced by something else. */
static void files_may_vanish_or_change(void) {
    Dl_info libm, libc, loaded;
    void *original = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(original != NULL && dladdr(dlsym(original, "fesetround"), &libm) != 0);
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "qsort"), &libc) != 0);
    char folder[] = "test_site.XXXXXX", path[64], here[4096], want[64];
    REQUIRE(mkdtemp(folder) != NULL && getcwd(here, sizeof here) != NULL);
    snprintf(path, sizeof path, "%s/libcopy.so", folder);
    copy_file(libm.dli_fname, path);
    char whole_path[sizeof here + sizeof path];
    snprintf(whole_path, sizeof whole_path, "%s/%s", here, path);
    void *copy = dlopen(whole_path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(copy != NULL);
    const uintptr_t function = (uintptr_t)dlsym(copy, "fesetround");
    REQUIRE(function != 0 && dladdr((void *)function, &loaded) != 0);
    CHECK_STRING(describe(function + 3), "fesetround+0x2 in libcopy.so");
    snprintf(want, sizeof want, "libcopy.so+0x%zx", (size_t)(function + 2 - (uintptr_t)loaded.dli_fbase));
    REQUIRE(unlink(path) == 0);
    CHECK_STRING(describe(function + 3), want);
    copy_file(libc.dli_fname, path);
    CHECK_STRING(describe(function + 3), want);
    REQUIRE(unlink(path) == 0);
    copy_file(libm.dli_fname, path);
    CHECK_STRING(describe(function + 3), "fesetround+0x2 in libcopy.so");
    change_headers(path);
    CHECK_STRING(describe(function + 3), want);
    REQUIRE(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK_STRING(describe(function + 3), want);
    unlink(path);
    rmdir(folder);
    dlclose(copy);
    dlclose(original);
}

/* C++ names as their authors wrote them, once the process has somebody who can read them. */
static void known_demanglers_are_used(void) {
    static const char name[] = "_ZNSt8ios_base4InitC1Ev";
    const bool known = dlsym(RTLD_DEFAULT, "__cxa_demangle") != NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    const uintptr_t function = library == NULL ? 0 : (uintptr_t)dlsym(library, name);
    if (function == 0) {
        fprintf(stderr, "no C++ runtime: demangling is not tested\n");
        return;
    }
    if (!known) {
        CHECK(strncmp(describe(function + 1), "_ZNSt8ios_base4InitC", strlen("_ZNSt8ios_base4InitC")) == 0);
    }
    REQUIRE(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) == library);
    CHECK_STRING(describe(function + 1), "std::ios_base::Init::Init()+0x0 in libstdc++.so.6");
    dlclose(library);
    dlclose(library);
}

int main(void) {
    RUN(a_thread_has_a_site);
    RUN(the_outermost_names_the_site);
    RUN(labels_are_their_texts);
    RUN(threads_agree_on_labels);
    RUN(a_forked_child_has_labels);
    RUN(a_binding_describes_its_own);
    RUN(static_functions_are_named);
    RUN(texts_are_cut_to_their_room);
    RUN(errno_survives);
    RUN(the_kernels_own_code_has_a_name);
    RUN(files_may_vanish_or_change);
    RUN(known_demanglers_are_used);
    return test_finish();
}
