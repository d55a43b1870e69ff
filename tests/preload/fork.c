/* Forked children of a program whose large blocks are managed. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "preloaded.h"

enum { BLOCKS = 40, ROUNDS = 200 };
static unsigned char *blocks[BLOCKS];
static size_t bytes_of[BLOCKS];

/* Small ones and large ones, plain and managed. */
static void allocate_blocks(void) {
    static const size_t sizes[] = {60, 2000, 5000, 70000, 300000, MIB, 2 * MIB + 77};
    for (int i = 0; i < BLOCKS; i++) {
        bytes_of[i] = sizes[i % 7] + (size_t)i;
        blocks[i] = opaque(malloc(bytes_of[i]));
        REQUIRE(blocks[i] != NULL);
        fill(blocks[i], bytes_of[i], (unsigned)i);
    }
}

static void free_blocks(void) {
    for (int i = 0; i < BLOCKS; i++) {
        errno = 4711;
        free(opaque(blocks[i]));
        CHECK_INT(errno, 4711);
    }
}

static void blocks_are_filled(unsigned more) {
    for (int i = 0; i < BLOCKS; i++) {
        CHECK_THAT(is_filled(blocks[i], bytes_of[i], (unsigned)i + more), "block %d of %zu bytes", i, bytes_of[i]);
    }
}

static void allocate_anew(void) {
    for (int i = 0; i < 60; i++) {
        const size_t bytes = i % 2 == 0 ? 3 * MIB : 9000;
        unsigned char *block = opaque(i % 3 == 0 ? calloc(1, bytes) : malloc(bytes));
        REQUIRE(block != NULL);
        CHECK(!is_managed(block));
        CHECK(i % 3 != 0 || is_zero(block, bytes));
        fill(block, bytes, 4);
        block = opaque(realloc(block, bytes + MIB));
        REQUIRE(block != NULL);
        CHECK(is_filled(block, bytes, 4));
        free(block);
    }
}

static void child_allocates_and_frees(void) {
    allocate_anew();
    free_blocks();
    allocate_anew();
}

/* Blocks whose contents are here go on to be the program's: all plain ones, and with a snapshot the others. */
static bool is_here(int i) {
    return expect_snapshot() || !is_managed(blocks[i]);
}

static void child_resizes(void) {
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(malloc_usable_size(blocks[i]) >= bytes_of[i]);
        if (!is_here(i)) {
            CHECK(opaque(realloc(blocks[i], opaque_size(0))) == NULL);
            continue;
        }
        blocks[i] = opaque(realloc(blocks[i], i % 2 == 0 ? 2 * bytes_of[i] : bytes_of[i] / 2 + 1));
        REQUIRE(blocks[i] != NULL);
        CHECK(is_filled(blocks[i], i % 2 == 0 ? bytes_of[i] : bytes_of[i] / 2 + 1, (unsigned)i));
        free(blocks[i]);
    }
    allocate_anew();
}

static void child_forks(void) {
    in_child(child_allocates_and_frees);
    in_child(child_resizes);
    free_blocks();
}

static void children(void) {
    allocate_blocks();
    in_child(child_allocates_and_frees);
    in_child(child_resizes);
    in_child(child_forks);
    blocks_are_filled(0);
    free_blocks();
}

/* What `story`, in a child, said on standard error, and how it ended. */
static int child_that_says(void (*story)(void), char *said, size_t room, pid_t *who) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(60);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        story();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t n;
    while ((n = read(ends[0], said + length, room - 1 - length)) > 0) {
        length += (size_t)n;
    }
    close(ends[0]);
    said[length] = '\0';
    *who = child;
    return status_of(child);
}

static int lines_of(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void touch(void) {
    ((volatile unsigned char *)blocks[6])[100]++;
}

static void touch_in_grandchild(void) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        touch();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    signal(SIGSEGV, SIG_DFL);
    raise(WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
}

static void resize_what_is_lost(void) {
    free(opaque(realloc(blocks[6], 10 * MIB)));
}

static bool expect_bound(void) {
    const char *mode = getenv("FERRY_FORK");
    return mode != NULL && strncmp(mode, "snapshot:", 9) == 0;
}

/* One line, which says who, whose and what to do; then the signal that an access to nothing is. */
static void says_one_line_and_dies(void (*story)(void)) {
    char said[4096], name[32];
    pid_t child;
    const int status = child_that_says(story, said, sizeof said, &child);
    CHECK_THAT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status 0x%x", (unsigned)status);
    CHECK_THAT(lines_of(said) == 1, "%d lines: %s", lines_of(said), said);
    CHECK(strncmp(said, "ferry: ", 7) == 0);
    CHECK(strstr(said, expect_bound() ? "--fork=snapshot:" : "--fork=snapshot\n") != NULL);
    if (story != touch_in_grandchild) {
        snprintf(name, sizeof name, "process %ld ", (long)child);
        CHECK_THAT(strstr(said, name) != NULL, "not %s in: %s", name, said);
    }
    snprintf(name, sizeof name, "%ld", (long)getpid());
    CHECK_THAT(strstr(said, name) != NULL, "not %s in: %s", name, said);
}

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void jump_back(int number) {
    caught = number;
    siglongjmp(back, 1);
}

static void catch_faults_by(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
}

static volatile char *nowhere; /* NULL, of which the compiler knows nothing */

static void faults(volatile char *where) {
    caught = 0;
    if (sigsetjmp(back, 1) == 0) {
        *where = 1;
    }
    CHECK_INT(caught, SIGSEGV);
}

static void child_has_its_parents_handler(void) {
    faults(nowhere);
    faults(nowhere);
    if (!is_here(6)) {
        faults((volatile char *)blocks[6]);
    }
    faults(nowhere);
}

static void child_has_its_own_handler(void) {
    catch_faults_by(jump_back, 0);
    child_has_its_parents_handler();
}

static volatile sig_atomic_t calls;

static void count(int number) {
    (void)number;
    calls++;
    if (calls > 1) {
        _exit(9);
    }
}

/* The access is made again, and finds the default. */
static void fault_once(void) {
    *nowhere = 1;
}

static void send_faults_signal(void) {
    kill(getpid(), SIGSEGV);
    for (;;) {
        pause();
    }
}

static void ignore_a_signal_and_fault(void) {
    kill(getpid(), SIGSEGV);
    touch();
}

static void ends_by_fault_silently(void (*story)(void)) {
    char said[4096];
    pid_t child;
    const int status = child_that_says(story, said, sizeof said, &child);
    CHECK_THAT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status 0x%x", (unsigned)status);
    CHECK_STRING(said, "");
}

static void faults_of_the_programs_own(void) {
    allocate_blocks();
    catch_faults_by(SIG_DFL, 0);
    ends_by_fault_silently(fault_once);
    ends_by_fault_silently(send_faults_signal);
    catch_faults_by(count, (int)SA_RESETHAND);
    ends_by_fault_silently(fault_once);
    catch_faults_by(jump_back, 0);
    in_child(child_has_its_parents_handler);
    in_child(child_has_its_own_handler);
    /* Without the mask: a handler that jumps away leaves the signal blocked, but for this. */
    catch_faults_by(jump_back, SA_NODEFER);
    in_child(child_has_its_parents_handler);
    if (expect_managed(bytes_of[6]) && !expect_snapshot()) {
        catch_faults_by(SIG_IGN, 0);
        says_one_line_and_dies(ignore_a_signal_and_fault);
    }
    catch_faults_by(SIG_DFL, 0);
    free_blocks();
}

static void lost_contents(void) {
    allocate_blocks();
    if (expect_managed(bytes_of[6]) && !expect_snapshot()) {
        says_one_line_and_dies(touch);
        says_one_line_and_dies(touch_in_grandchild);
        says_one_line_and_dies(resize_what_is_lost);
    }
    free_blocks();
}

static void write_blocks(unsigned more) {
    for (int i = 0; i < BLOCKS; i++) {
        fill(blocks[i], bytes_of[i], (unsigned)i + more);
    }
}

static void grandchild_reads_and_writes(void) {
    blocks_are_filled(1);
    write_blocks(2);
    blocks_are_filled(2);
    free_blocks();
}

static void child_reads_and_writes(void) {
    blocks_are_filled(0);
    write_blocks(1);
    blocks_are_filled(1);
    in_child(grandchild_reads_and_writes);
    blocks_are_filled(1);
    child_allocates_and_frees();
}

/* What a child writes stays its own, and its parent's goes on to be its parent's. */
static void kept_contents(void) {
    if (!expect_snapshot() && expect_managed(MIB)) {
        return;
    }
    allocate_blocks();
    in_child(child_reads_and_writes);
    blocks_are_filled(0);
    const pid_t child = start_child(child_reads_and_writes);
    blocks_are_filled(0);
    exited_well(child);
    write_blocks(5);
    blocks_are_filled(5);
    free_blocks();
}

static void child_reads_what_has_come_and_gone(void) {
    for (int i = 0; i < BLOCKS; i += 2) {
        CHECK(is_filled(blocks[i], bytes_of[i], (unsigned)i));
        free(blocks[i]);
    }
    allocate_anew();
}

/* A snapshot of a heap with holes, which are others' after. */
static void kept_among_holes(void) {
    if (!expect_snapshot()) {
        return;
    }
    allocate_blocks();
    for (int i = 1; i < BLOCKS; i += 2) {
        free(blocks[i]);
    }
    in_child(child_reads_what_has_come_and_gone);
    for (int i = 1; i < BLOCKS; i += 2) {
        blocks[i] = opaque(malloc(bytes_of[i]));
        fill(blocks[i], bytes_of[i], (unsigned)i);
    }
    in_child(child_reads_and_writes);
    free_blocks();
}

static _Atomic bool stop;

static void *disturb(void *argument) {
    test_random random = {(uintptr_t)argument};
    while (!atomic_load(&stop)) {
        const size_t bytes = (size_t)test_random_int(&random, 0, 3 << 19);
        unsigned char *block = opaque(malloc(bytes));
        if (block != NULL && bytes > 0) {
            block[0] = block[bytes - 1] = 1;
        }
        block = opaque(realloc(block, bytes / 2 + 1));
        free(opaque(calloc(3, bytes / 5)));
        free(block);
    }
    return NULL;
}

static void child_amid_threads(void) {
    for (int i = 0; i < 4; i++) {
        unsigned char *block = opaque(malloc(2 * MIB));
        REQUIRE(block != NULL);
        block[2 * MIB - 1] = 1;
        free(block);
        free(opaque(calloc(1, 5000)));
    }
    free_blocks();
}

/* Whatever lock there is, some fork meets it held. */
static void *fork_again_and_again(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        if (!in_child(child_amid_threads)) {
            break;
        }
    }
    return argument;
}

static void forks_amid_threads(void) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS], forker;
    allocate_blocks();
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, disturb, (void *)(i + 1)) == 0);
    }
    REQUIRE(pthread_create(&forker, NULL, fork_again_and_again, NULL) == 0);
    pthread_join(forker, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    free_blocks();
}

static void child_starts_its_own(void) {
    for (int i = 0; i < 10; i++) {
        unsigned char *block = opaque(malloc(3 * MIB));
        REQUIRE(block != NULL);
        CHECK(is_managed(block) == expect_managed(3 * MIB));
        fill(block, 3 * MIB, 1);
        free(block);
    }
}

/* A program without large blocks so far: the device is its children's to start, each its own. */
static void before_the_first_large_block(void) {
    if (threshold_bytes() == MIB) {
        in_child(child_starts_its_own);
        in_child(child_starts_its_own);
    }
}

static _Atomic bool handlers_work;

static void handle_fork(void) {
    if (atomic_load(&handlers_work)) {
        unsigned char *block = opaque(malloc(2 * MIB));
        fill(block, 2 * MIB, 3);
        block = opaque(realloc(block, 5 * MIB));
        CHECK(is_filled(block, 2 * MIB, 3));
        free(block);
        free(opaque(calloc(3, 5000)));
    }
}

static void prepare_fork(void) {
    handle_fork();
    if (atomic_load(&handlers_work)) {
        free_blocks();
    }
}

static void *fork_with_handlers(void *argument) {
    atomic_store(&handlers_work, true);
    in_child(allocate_anew);
    atomic_store(&handlers_work, false);
    return argument;
}

/* The program's own, which are older than the device's: they run while the heaps are locked. */
static void handlers_of_forks(void) {
    pthread_t thread;
    allocate_blocks();
    fork_with_handlers(NULL);
    allocate_blocks();
    REQUIRE(pthread_create(&thread, NULL, fork_with_handlers, NULL) == 0);
    pthread_join(thread, NULL);
}

/* FERRY_FORK has a bound which the blocks exceed: as if there were no snapshot. */
static void too_small_a_bound(void) {
    allocate_blocks();
    says_one_line_and_dies(touch);
    in_child(child_allocates_and_frees);
    free_blocks();
}

int main(int argc, char **argv) {
    alarm(250);
    if (argc > 1 && strcmp(argv[1], "bounded") == 0) {
        RUN(too_small_a_bound);
        return test_finish();
    }
    REQUIRE(pthread_atfork(prepare_fork, handle_fork, handle_fork) == 0);
    RUN_CHOSEN(before_the_first_large_block);
    RUN_CHOSEN(handlers_of_forks);
    RUN_CHOSEN(children);
    RUN_CHOSEN(lost_contents);
    RUN_CHOSEN(faults_of_the_programs_own);
    RUN_CHOSEN(kept_contents);
    RUN_CHOSEN(kept_among_holes);
    RUN_CHOSEN(forks_amid_threads);
    return test_finish();
}
