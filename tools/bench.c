/* ferry bench: suites of measurements, managed memory beside explicit copies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <suites.h>

#include "args.h"
#include "bench_plot.h"
#include "ferry/memory.h"
#include "options.h"
#include "progress.h"
#include "tool.h"

#define LEAST_BYTES 4096 /* of an array */
#define TEXT_COLUMNS 92

enum {
    OPTION_SIZE,
    OPTION_RUNS,
    OPTION_TIME,
    OPTION_JSON,
    OPTION_PLOT,
    OPTION_QUICK,
    OPTION_CHECK,
    OPTION_KERNEL,
    OPTION_PASSES,
    OPTION_ACTION,
    OPTION_TRACE,
    OPTION_BACKEND,
    OPTION_HELP,
    OPTION_COUNT
};

static const char *suite_name(size_t i) {
    return suites[i]->name;
}

/* The name in front, the text beside it. */
static void print_suite(const struct suite *suite) {
    const char *at = suite->text;
    printf("  %-10s ", suite->name);
    while (strlen(at) > TEXT_COLUMNS) {
        int length = TEXT_COLUMNS;
        while (at[length] != ' ')
            length--;
        printf("%.*s\n%13s", length, at, "");
        at += length + 1;
    }
    puts(at);
}

static void print_suites(void) {
    for (size_t i = 0; i < suite_count; i++)
        print_suite(suites[i]);
}

static int list(void) {
    puts("Usage: ferry bench SUITE [OPTION...]\n");
    print_suites();
    puts("\n'ferry bench --help' says more.");
    return finish_output();
}

static int help(const option *options) {
    puts("Usage: ferry bench [SUITE] [OPTION...]\n\n"
         "Runs a suite of measurements, prints a table and, with --json, writes the same as a file. On the simulator "
         "times\n"
         "are modelled, and there are no explicit copies. Without a suite, lists them:\n");
    print_suites();
    puts("");
    args_help(options, OPTION_COUNT);
    return finish_output();
}

static int read_sizes(const char *list, struct suite_options *out) {
    char *copy = strdup(list), *rest = NULL;
    int status = copy ? EXIT_DONE : fail("out of memory");
    for (char *text = strtok_r(copy, ",", &rest); text && status == EXIT_DONE; text = strtok_r(NULL, ",", &rest)) {
        if (out->nsizes == SUITE_SIZES_MAX)
            status = fail_usage("bench", "--size takes at most %d sizes", SUITE_SIZES_MAX);
        else if (ferry_size_parse(text, &out->sizes[out->nsizes]) || out->sizes[out->nsizes] < LEAST_BYTES)
            status = fail_usage("bench", "'%s' is no size of an array, such as 64K, of %d bytes and more", text,
                                LEAST_BYTES);
        out->nsizes++;
    }
    free(copy);
    return status;
}

static int read_number(const option *o, double most, double *out) {
    char *end;
    *out = strtod(o->value, &end);
    if (end == o->value || *end || !(*out >= 1) || *out > most)
        return fail_usage("bench", "%s takes a number from 1 to %g, not '%s'", o->name, most, o->value);
    return EXIT_DONE;
}

static int read_options(const option *options, struct suite_options *out) {
    double runs = 0;
    int status = EXIT_DONE;
    *out = (struct suite_options){.json = options[OPTION_JSON].value,
                                  .quick = options[OPTION_QUICK].given,
                                  .check = options[OPTION_CHECK].given,
                                  .kernels = options[OPTION_KERNEL].value,
                                  .passes = options[OPTION_PASSES].value,
                                  .actions = options[OPTION_ACTION].value,
                                  .trace = options[OPTION_TRACE].value};
    if (options[OPTION_SIZE].given)
        status = read_sizes(options[OPTION_SIZE].value, out);
    if (status == EXIT_DONE && options[OPTION_RUNS].given)
        status = read_number(&options[OPTION_RUNS], 1000, &runs);
    if (status == EXIT_DONE && options[OPTION_TIME].given)
        status = read_number(&options[OPTION_TIME], 86400, &out->seconds);
    out->runs = (size_t)runs;
    return status;
}

static const struct suite *find_suite(const char *name) {
    for (size_t i = 0; i < suite_count; i++)
        if (strcmp(suites[i]->name, name) == 0)
            return suites[i];
    return NULL;
}

static int unknown_suite(const char *name) {
    const char *near = closest_name(name, suite_name, suite_count);
    return near ? fail_usage("bench", "unknown suite '%s': did you mean '%s'?", name, near)
                : fail_usage("bench", "unknown suite '%s'", name);
}

static void show_progress(void *context, const char *what, double done) {
    progress *p = context;
    if (!what) {
        progress_clear(p);
        return;
    }
    p->path = what;
    progress_share(p, done);
}

static int run_suite(const struct suite *suite, struct suite_options *options, const option *backend) {
    char message[SUITE_MESSAGE] = "";
    progress shown;
    /* What was set stays. The simulator's cheaper way to notice what the host touches does: no file is read here. */
    setenv("FERRY_LIMIT", suite->limit, 0);
    setenv("FERRY_SIM_TOUCH", "mprotect", 0);
    int status = start_library("bench", backend, NULL);
    if (status != EXIT_DONE)
        return status;
    progress_init(&shown);
    shown.verb = suite->name;
    options->progress = show_progress;
    options->progress_context = &shown;
    enum suite_end end = suite->run(options, message);
    progress_clear(&shown);
    if (end == SUITE_USAGE)
        return fail_usage("bench", "%s", message);
    status = finish_output();
    return end == SUITE_FAILED ? fail("%s", message) : status;
}

/* The picture comes last, of a suite with a figure that does not hold, too. */
static int run_and_plot(const struct suite *suite, struct suite_options *options, const option *backend,
                        const char *picture) {
    bench_plot plot;
    int status = bench_plot_begin(&plot, picture, options->json);
    if (status != EXIT_DONE)
        return status;
    options->json = plot.results;
    status = run_suite(suite, options, backend);
    int drawn = bench_plot_finish(&plot, status != EXIT_USAGE);
    return status != EXIT_DONE ? status : drawn;
}

int command_bench(int argc, char **argv) {
    option options[OPTION_COUNT] = {
        [OPTION_SIZE] = {"--size", NULL, OPTION_VALUE, "N,...", "sizes of an array, such as 64K,1M", false, NULL},
        [OPTION_RUNS] = {"--runs", NULL, OPTION_VALUE, "N", "measured runs of each case, at most", false, NULL},
        [OPTION_TIME] = {"--time", NULL, OPTION_VALUE, "SECONDS", "for the whole suite", false, NULL},
        [OPTION_JSON] = {"--json", NULL, OPTION_VALUE, "FILE", "writes the results there", false, NULL},
        [OPTION_PLOT] = {"--plot", NULL, OPTION_VALUE, "FILE", "draws them as .svg or .png; needs Python's matplotlib",
                         false, NULL},
        [OPTION_QUICK] = {"--quick", NULL, OPTION_FLAG, "", "small sizes, few runs", false, NULL},
        [OPTION_CHECK] = {"--check", NULL, OPTION_FLAG, "", "exit status 1 when a figure is too large", false, NULL},
        [OPTION_KERNEL] = {"--kernel", NULL, OPTION_VALUE, "NAME,...", "reuse: only these kernels", false, NULL},
        [OPTION_PASSES] = {"--passes", NULL, OPTION_VALUE, "N,...", "reuse: only these numbers of passes", false, NULL},
        [OPTION_ACTION] = {"--action", NULL, OPTION_VALUE, "NAME,...", "reuse: only these doings of the host", false,
                           NULL},
        [OPTION_TRACE] = {"--trace", NULL, OPTION_VALUE, "FILE", "alloc: replays this one", false, NULL},
        [OPTION_BACKEND] = {"--backend", NULL, OPTION_VALUE, "BACKEND", BACKEND_HELP, false, NULL},
        [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
    };
    struct suite_options settings;
    int rest, status = args_parse("bench", argc, argv, options, OPTION_COUNT, &rest);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help(options);
    if (rest == 0)
        return list();
    if (rest > 1)
        return fail_usage("bench", "unexpected argument '%s'", argv[1]);
    const struct suite *suite = find_suite(argv[0]);
    if (!suite)
        return unknown_suite(argv[0]);
    status = read_options(options, &settings);
    return status == EXIT_DONE ? run_and_plot(suite, &settings, &options[OPTION_BACKEND], options[OPTION_PLOT].value)
                               : status;
}
