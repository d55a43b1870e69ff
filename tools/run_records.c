#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_records.h"
#include "tool.h"

#define HEAD_BYTES offsetof(ferry_run_record, samples)
#define TERMINATE(text) ((text)[sizeof(text) - 1] = '\0')

const char *const RUN_HOME_NAMES[FERRY_RUN_HOMES] = {"plain", "managed"};

uint64_t run_large_blocks(const ferry_run_record *record) {
    uint64_t blocks = 0;
    for (int i = 0; i < FERRY_RUN_HOMES; i++)
        blocks += record->heaps[i].allocations;
    return blocks;
}

bool run_has_stats(const ferry_run_record *record) {
    return record->device == FERRY_RUN_DEVICE_STARTED && record->ended_ns != 0;
}

const char *run_program_name(const ferry_run_record *record) {
    const char *slash = strrchr(record->program, '/');
    return slash ? slash + 1 : record->program;
}

/* False, with errno 0 where the file ends before. */
static bool read_at(int file, void *bytes, size_t n, off_t at) {
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(file, (char *)bytes + done, n - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

/* NULL: nothing. */
static const char *what_is_wrong(const ferry_run_record *head, off_t file_bytes) {
    if (head->magic != FERRY_RUN_MAGIC)
        return "it is no record";
    if (head->bytes != sizeof *head)
        return "another version of ferry wrote it";
    if (file_bytes < (off_t)sizeof *head)
        return "it is cut off";
    if (head->nsites > FERRY_RUN_SITES || head->nsamples > FERRY_RUN_SAMPLES || head->pid <= 0 ||
        head->end > FERRY_RUN_LEFT || head->device > FERRY_RUN_DEVICE_FORKED ||
        (head->ended_ns != 0 && head->ended_ns < head->began_ns))
        return "it is damaged";
    return NULL;
}

/* Of a process that is killed while it thins its samples some are left in the wrong order. */
static void drop_disordered(ferry_run_record *record) {
    for (uint32_t i = 1; i < record->nsamples; i++)
        if (record->samples[i].time_ns < record->samples[i - 1].time_ns)
            record->nsamples = i;
}

static void terminate_texts(ferry_run_record *record) {
    TERMINATE(record->program);
    TERMINATE(record->command);
    TERMINATE(record->device_text);
    TERMINATE(record->unmeasured);
    for (uint32_t i = 0; i < record->nsites; i++)
        TERMINATE(record->sites[i].text);
}

static const char *read_open(int file, ferry_run_record **out) {
    struct stat status;
    ferry_run_record *record = calloc(1, sizeof *record);
    if (!record)
        return "out of memory";
    const char *wrong = NULL;
    if (fstat(file, &status) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        wrong = "it is no file";
    else if (!read_at(file, record, HEAD_BYTES, 0))
        wrong = errno == 0 ? "it is cut off" : strerror(errno);
    else
        wrong = what_is_wrong(record, status.st_size);
    if (!wrong &&
        (!read_at(file, record->samples, record->nsamples * sizeof *record->samples,
                  offsetof(ferry_run_record, samples)) ||
         !read_at(file, record->sites, record->nsites * sizeof *record->sites, offsetof(ferry_run_record, sites))))
        wrong = errno == 0 ? "it is cut off" : strerror(errno);
    if (wrong) {
        free(record);
        return wrong;
    }
    drop_disordered(record);
    terminate_texts(record);
    /* Thousands of processes have few sites each. */
    ferry_run_record *cut = realloc(record, offsetof(ferry_run_record, sites) + record->nsites * sizeof *record->sites);
    *out = cut ? cut : record;
    return NULL;
}

static int add(run_records *to, ferry_run_record *record) {
    if (to->count == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 64;
        run_process *processes = realloc(to->processes, capacity * sizeof *processes);
        if (!processes) {
            free(record);
            return fail("out of memory");
        }
        to->processes = processes;
        to->capacity = capacity;
    }
    to->processes[to->count++] = (run_process){.record = record};
    return EXIT_DONE;
}

static int read_file(int folder, const char *folder_name, const char *name, run_records *out) {
    ferry_run_record *record = NULL;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    const char *wrong = file < 0 ? strerror(errno) : read_open(file, &record);
    if (file >= 0)
        close(file);
    if (wrong) {
        fail("%s/%s is left out: %s", folder_name, name, wrong);
        out->skipped++;
        return EXIT_DONE;
    }
    return add(out, record);
}

static bool is_record_name(const char *name) {
    size_t length = strlen(name), ending = strlen(FERRY_RUN_SUFFIX);
    return length > ending && strcmp(name + length - ending, FERRY_RUN_SUFFIX) == 0;
}

static int by_beginning(const void *a, const void *b) {
    const ferry_run_record *first = ((const run_process *)a)->record, *second = ((const run_process *)b)->record;
    if (first->began_ns != second->began_ns)
        return first->began_ns < second->began_ns ? -1 : 1;
    return (first->pid > second->pid) - (first->pid < second->pid);
}

/* By process and beginning, so that what replaced a program is its neighbour. */
static int by_process(const void *a, const void *b) {
    const ferry_run_record *first = ((const run_process *)a)->record, *second = ((const run_process *)b)->record;
    return first->pid != second->pid ? (first->pid > second->pid) - (first->pid < second->pid) : by_beginning(a, b);
}

static run_end end_of(const ferry_run_record *record, const ferry_run_record *next) {
    if (record->end == FERRY_RUN_EXITED || record->end == FERRY_RUN_LEFT)
        return record->end == FERRY_RUN_EXITED ? RUN_EXITED : RUN_LEFT;
    /* A new program in the same process; a number that is used again would begin with a fork. */
    if (next && next->pid == record->pid && next->forked_from == 0)
        return RUN_REPLACED;
    return kill(record->pid, 0) == 0 || errno == EPERM ? RUN_LIVES : RUN_GONE;
}

static void find_ends(run_records *records) {
    for (size_t i = 0; i < records->count; i++) {
        run_process *p = &records->processes[i];
        const ferry_run_record *r = p->record, *next = i + 1 < records->count ? p[1].record : NULL;
        p->end = end_of(r, next);
        uint64_t ended_ns = r->ended_ns ? r->ended_ns : p->end == RUN_REPLACED && next ? next->began_ns : 0;
        p->lasted_ns = ended_ns > r->began_ns ? ended_ns - r->began_ns : 0;
    }
}

/* A child that was forked to become another program: that one's record tells all there is. */
static bool is_prelude(const run_process *p) {
    return p->end == RUN_REPLACED && p->record->forked_from != 0 && run_large_blocks(p->record) == 0;
}

static void drop_preludes(run_records *records) {
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        if (is_prelude(&records->processes[i]))
            free(records->processes[i].record);
        else
            records->processes[kept++] = records->processes[i];
    }
    records->count = kept;
}

static void raise_to(uint64_t *most, uint64_t value) {
    *most = value > *most ? value : *most;
}

static void add_heap(ferry_run_heap *sum, const ferry_run_heap *heap) {
    sum->allocations += heap->allocations;
    sum->frees += heap->frees;
    sum->allocated_bytes += heap->allocated_bytes;
    sum->live_bytes += heap->live_bytes;
    raise_to(&sum->peak_bytes, heap->peak_bytes);
    sum->warm_blocks += heap->warm_blocks;
    sum->warm_bytes += heap->warm_bytes;
    sum->allocation_ns += heap->allocation_ns;
    sum->free_ns += heap->free_ns;
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        sum->sizes[i].allocations += heap->sizes[i].allocations;
        sum->sizes[i].bytes += heap->sizes[i].bytes;
        sum->lifetimes[i] += heap->lifetimes[i];
    }
}

static void add_stats(ferry_stats *sum, const ferry_stats *stats, bool first) {
    uint64_t measured = stats->measured && (first || sum->measured), peak_bytes = sum->peak_bytes;
#define ADD(name, text) sum->name += stats->name;
    FERRY_STATS_LIST(ADD)
#undef ADD
    sum->measured = measured;
    raise_to(&peak_bytes, stats->peak_bytes);
    sum->peak_bytes = peak_bytes;
}

static void add_up(run_records *records) {
    run_total *t = &records->total;
    bool first = true;
    t->processes = records->count;
    for (size_t i = 0; i < records->count; i++) {
        const ferry_run_record *r = records->processes[i].record;
        t->with_large_blocks += run_large_blocks(r) > 0;
        for (int home = 0; home < FERRY_RUN_HOMES; home++)
            add_heap(&t->heaps[home], &r->heaps[home]);
        add_heap(&t->small, &r->small);
        t->beyond_limit_blocks += r->beyond_limit_blocks;
        t->beyond_limit_bytes += r->beyond_limit_bytes;
        t->lost_blocks += r->lost_blocks;
        t->lost_bytes += r->lost_bytes;
        t->kept_bytes += r->kept_bytes;
        raise_to(&t->resident_peak_bytes, r->resident_peak_bytes);
        if (run_has_stats(r)) {
            add_stats(&t->stats, &r->stats, first);
            first = false;
        }
    }
}

int run_records_read(const char *folder, run_records *out) {
    *out = (run_records){0};
    DIR *opened = opendir(folder);
    if (!opened)
        return fail("%s: %s", folder, strerror(errno));
    int status = EXIT_DONE;
    for (const struct dirent *entry; status == EXIT_DONE && (entry = readdir(opened)) != NULL;)
        if (is_record_name(entry->d_name))
            status = read_file(dirfd(opened), folder, entry->d_name, out);
    closedir(opened);
    if (status != EXIT_DONE) {
        run_records_free(out);
        return status;
    }
    if (out->count > 0) {
        qsort(out->processes, out->count, sizeof *out->processes, by_process);
        find_ends(out);
        drop_preludes(out);
        qsort(out->processes, out->count, sizeof *out->processes, by_beginning);
    }
    add_up(out);
    return EXIT_DONE;
}

void run_records_free(run_records *records) {
    for (size_t i = 0; i < records->count; i++)
        free(records->processes[i].record);
    free(records->processes);
    *records = (run_records){0};
}

void run_records_remove(const char *folder) {
    DIR *opened = opendir(folder);
    if (!opened)
        return;
    for (const struct dirent *entry = readdir(opened); entry; entry = readdir(opened))
        if (is_record_name(entry->d_name))
            unlinkat(dirfd(opened), entry->d_name, 0);
    closedir(opened);
}

void run_records_note_end(run_records *records, pid_t pid, int status) {
    for (size_t i = 0; i < records->count; i++) {
        run_process *p = &records->processes[i];
        if (p->record->pid == pid && (p->end == RUN_LIVES || p->end == RUN_GONE)) {
            p->end = WIFSIGNALED(status) ? RUN_KILLED : RUN_GONE;
            p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        }
    }
}
