/* ferry run: a program, its large allocations in managed memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "ferry/memory.h"
#include "options.h"
#include "run_child.h"
#include "run_preload.h"
#include "run_report.h"
#include "tool.h"

enum {
    OPTION_THRESHOLD,
    OPTION_DEVICE,
    OPTION_POLICY,
    OPTION_LIMIT,
    OPTION_BACKEND,
    OPTION_ONLY,
    OPTION_FORK,
    OPTION_REPORT,
    OPTION_SITES,
    OPTION_HISTOGRAM,
    OPTION_HELP,
    OPTION_COUNT
};

/* Where the report goes. */
typedef struct destination {
    FILE *stream; /* NULL: there is no report */
    bool json;
} destination;

static int help(const option *options) {
    puts("Usage: ferry run [OPTION...] [--] PROGRAM [ARGUMENT...]\n\n"
         "Runs the program with its large allocations, and those of the programs that it starts, in managed memory "
         "where they\n"
         "use CUDA, and in a fast ordinary heap elsewhere. The report comes on standard error when the program has "
         "ended.\n");
    args_help(options, OPTION_COUNT);
    puts("\nThe exit status is the program's, 128 and the number of a signal that killed it; 127 when it is not found, "
         "126 when\n"
         "it cannot be run, 125 when ferry itself fails, 2 when the command line is wrong.");
    return finish_output();
}

static int check_size(const option *o) {
    size_t bytes;
    if (o->given && ferry_size_parse(o->value, &bytes) != FERRY_OK)
        return fail_usage("run", "%s: %s", o->name, ferry_error_detail());
    return EXIT_DONE;
}

static int check_device(const option *o) {
    static const char *const modes[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!o->given || strcmp(o->value, modes[i]) == 0)
            return EXIT_DONE;
    return fail_usage("run", "%s is auto, always or never, not '%s'", o->name, o->value);
}

/* "lost", "snapshot", "snapshot:SIZE". */
static int check_fork(const option *o) {
    size_t bytes, word = strlen("snapshot");
    if (!o->given || strcmp(o->value, "lost") == 0 || strcmp(o->value, "snapshot") == 0)
        return EXIT_DONE;
    if (strncmp(o->value, "snapshot:", word + 1) != 0)
        return fail_usage("run", "%s is lost, snapshot or snapshot:SIZE, not '%s'", o->name, o->value);
    if (ferry_size_parse(o->value + word + 1, &bytes) != FERRY_OK)
        return fail_usage("run", "%s: %s", o->name, ferry_error_detail());
    return EXIT_DONE;
}

static int check_sites(const option *o) {
    if (!o->value)
        return EXIT_DONE;
    char *end;
    errno = 0;
    long n = strtol(o->value, &end, 10);
    if (errno != 0 || end == o->value || *end || n < 1 || n > 1000000000)
        return fail_usage("run", "%s takes a number from 1 to 1000000000, not '%s'", o->name, o->value);
    return EXIT_DONE;
}

static int check(const option *options) {
    ferry_policy policy;
    int status = check_size(&options[OPTION_THRESHOLD]);
    if (status == EXIT_DONE)
        status = check_size(&options[OPTION_LIMIT]);
    if (status == EXIT_DONE)
        status = check_device(&options[OPTION_DEVICE]);
    if (status == EXIT_DONE && options[OPTION_POLICY].given)
        status = check_policy("run", options[OPTION_POLICY].value, &policy);
    if (status == EXIT_DONE && options[OPTION_BACKEND].given)
        status = check_backend("run", options[OPTION_BACKEND].value);
    if (status == EXIT_DONE)
        status = check_fork(&options[OPTION_FORK]);
    if (status == EXIT_DONE)
        status = check_sites(&options[OPTION_SITES]);
    if (status == EXIT_DONE && options[OPTION_REPORT].value && !*options[OPTION_REPORT].value)
        status = fail_usage("run", "--report= needs json or a file's name");
    return status;
}

/* What is not given stays as the environment has it. */
static void set_environment(const option *options) {
    static const struct {
        int option;
        const char *variable;
    } variables[] = {{OPTION_THRESHOLD, "FERRY_THRESHOLD"}, {OPTION_DEVICE, "FERRY_RUN_DEVICE"},
                     {OPTION_POLICY, "FERRY_POLICY"},       {OPTION_LIMIT, "FERRY_LIMIT"},
                     {OPTION_BACKEND, "FERRY_BACKEND"},     {OPTION_ONLY, "FERRY_ONLY"},
                     {OPTION_FORK, "FERRY_FORK"},           {OPTION_SITES, "FERRY_SITES"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const option *o = &options[variables[i].option];
        if (o->given)
            setenv(variables[i].variable, o->value ? o->value : "1", 1);
    }
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), n = strlen(ending);
    return length >= n && strcmp(text + length - n, ending) == 0;
}

/* A file that cannot be written to is found out before the program has run. */
static int open_destination(const option *options, destination *out) {
    const option *o = &options[OPTION_REPORT];
    *out = (destination){0};
    if (!o->given && !options[OPTION_SITES].given && !options[OPTION_HISTOGRAM].given)
        return EXIT_DONE;
    out->json = o->value && (strcmp(o->value, "json") == 0 || ends_in(o->value, ".json"));
    out->stream = o->value && strcmp(o->value, "json") != 0 ? fopen(o->value, "we") : stderr;
    return out->stream ? EXIT_DONE : fail("%s: %s", o->value, strerror(errno));
}

static int close_destination(const destination *d) {
    bool written = fflush(d->stream) == 0 && !ferror(d->stream);
    if (d->stream != stderr)
        written = fclose(d->stream) == 0 && written;
    return written ? EXIT_DONE : fail("the report: %s", strerror(errno));
}

static int report(const char *folder, const run_child *child, const destination *to, bool histogram) {
    run_records records;
    if (run_records_read(folder, &records) != EXIT_DONE)
        return EXIT_FAILED;
    run_records_note_end(&records, child->pid, child->status);
    if (to->json)
        run_report_json(to->stream, &records);
    else
        run_report_text(to->stream, &records, histogram);
    run_records_free(&records);
    return EXIT_DONE;
}

/* Of records, and what a program may have put there. */
static void remove_folder(const char *folder) {
    run_records_remove(folder);
    if (rmdir(folder) != 0 && errno != ENOENT)
        fail("%s: %s", folder, strerror(errno));
}

static int run_in_folder(char **argv, const char *folder, const destination *to, bool histogram) {
    run_child child;
    setenv("FERRY_REPORT", folder, 1);
    int status = run_and_wait(argv, &child);
    if (status != EXIT_DONE)
        return status;
    status = run_exit_status(&child);
    return report(folder, &child, to, histogram) == EXIT_DONE || status != 0 ? status : RUN_FAILED;
}

static int run_with_report(char **argv, const destination *to, bool histogram) {
    const char *parent = getenv("TMPDIR");
    char *folder = NULL;
    if (asprintf(&folder, "%s/ferry-run-XXXXXX", parent && *parent ? parent : P_tmpdir) < 0) {
        fail("out of memory");
        return RUN_FAILED;
    }
    int status = RUN_FAILED;
    if (mkdtemp(folder)) {
        status = run_in_folder(argv, folder, to, histogram);
        remove_folder(folder);
    } else {
        fail("%s: %s", folder, strerror(errno));
    }
    free(folder);
    if (close_destination(to) != EXIT_DONE && status == 0)
        status = RUN_FAILED;
    return status;
}

static int run(char **argv, const option *options) {
    destination to;
    if (open_destination(options, &to) != EXIT_DONE)
        return RUN_FAILED;
    set_environment(options);
    if (run_preload(argv[0]) != EXIT_DONE)
        return RUN_FAILED;
    return to.stream ? run_with_report(argv, &to, options[OPTION_HISTOGRAM].given) : run_become(argv);
}

int command_run(int argc, char **argv) {
    option options[OPTION_COUNT] = {
        [OPTION_THRESHOLD] = {"--threshold", NULL, OPTION_VALUE, "SIZE", "allocations from here on are large (1M)",
                              false, NULL},
        [OPTION_DEVICE] = {"--device", NULL, OPTION_VALUE, "WHEN",
                           "auto: in processes that have loaded CUDA; always; never", false, NULL},
        [OPTION_POLICY] = {"--policy", NULL, OPTION_VALUE, "POLICY", POLICY_HELP, false, NULL},
        [OPTION_LIMIT] = {"--limit", NULL, OPTION_VALUE, "SIZE", "the most managed memory a process may have", false,
                          NULL},
        [OPTION_BACKEND] = {"--backend", NULL, OPTION_VALUE, "BACKEND", BACKEND_HELP, false, NULL},
        [OPTION_ONLY] = {"--only", NULL, OPTION_VALUE, "PATTERN", "only programs of that name or path, as in a shell",
                         false, NULL},
        [OPTION_FORK] = {"--fork", NULL, OPTION_VALUE, "MODE",
                         "of managed memory a child has: lost (nothing), snapshot[:SIZE] (a copy)", false, NULL},
        [OPTION_REPORT] = {"--report", NULL, OPTION_MAY_VALUE, "json|FILE",
                           "what every process did; JSON also for FILE.json", false, NULL},
        [OPTION_SITES] = {"--sites", NULL, OPTION_MAY_VALUE, "N",
                          "call stacks of every Nth large allocation, in the report", false, NULL},
        [OPTION_HISTOGRAM] = {"--size-histogram", NULL, OPTION_FLAG, "", "all sizes and lifetimes, in the report",
                              false, NULL},
        [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
    };
    int first, status = args_parse_front("run", argc, argv, options, OPTION_COUNT, &first);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help(options);
    if (first == argc)
        return fail_usage("run", "a program is missing");
    status = check(options);
    return status == EXIT_DONE ? run(argv + first, options) : status;
}
