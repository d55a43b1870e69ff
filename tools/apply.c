/* ferry apply: files in, an elementwise operation, a file out. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "job.h"
#include "operations.h"
#include "options.h"
#include "tool.h"

enum { OPTION_OUTPUT, OPTION_BACKEND, OPTION_POLICY, OPTION_REPORT, OPTION_LIST, OPTION_HELP, OPTION_COUNT };

static const option OPTIONS[OPTION_COUNT] = {
    [OPTION_OUTPUT] = {"--output", "-o", OPTION_VALUE, "FILE", "where the result goes; may be an input", false, NULL},
    [OPTION_BACKEND] = {"--backend", NULL, OPTION_VALUE, "BACKEND", BACKEND_HELP, false, NULL},
    [OPTION_POLICY] = {"--policy", NULL, OPTION_VALUE, "POLICY", POLICY_HELP, false, NULL},
    [OPTION_REPORT] = {"--report", NULL, OPTION_MAY_VALUE, "json", "say what crossed the bus, measured where possible",
                       false, NULL},
    [OPTION_LIST] = {"--list", NULL, OPTION_FLAG, "", "the operations and their types", false, NULL},
    [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
};

static int help(void) {
    puts("Usage: ferry apply OPERATION IN.npy [IN2.npy] -o OUT.npy [OPTION...]\n"
         "       ferry apply --list\n\n"
         "Reads NumPy files into managed memory, applies an elementwise operation on the device and\n"
         "writes the result, the file that NumPy would: np.save(OUT, np.OPERATION(IN, IN2)).\n"
         "OUT appears whole or not at all.\n");
    args_help(OPTIONS, OPTION_COUNT);
    return finish_output();
}

static int check_report(const option *options) {
    const option *form = &options[OPTION_REPORT];
    const char *output = options[OPTION_OUTPUT].value;
    if (form->value && strcmp(form->value, "json") != 0)
        return fail_usage("apply", "unknown form of report '%s': --report and --report=json are known", form->value);
    if (form->given && (strcmp(output, "/dev/stdout") == 0 || strcmp(output, "/dev/fd/1") == 0))
        return fail_usage("apply", "the result and the report cannot both go to standard output");
    return EXIT_DONE;
}

static int check_arity(ferry_op op, int files) {
    int arity = ferry_op_arity(op);
    if (files == arity)
        return EXIT_DONE;
    return fail_usage("apply", "%s takes %s, %d given", ferry_op_name(op), arity == 1 ? "one file" : "two files",
                      files);
}

/* The command line as a job. */
static int plan(const option *options, int rest, char **argv, job *j) {
    if (rest == 0)
        return fail_usage("apply", "an operation and a file are missing");
    int status = find_operation(argv[0], &j->op);
    if (status == EXIT_DONE)
        status = check_arity(j->op, rest - 1);
    if (status != EXIT_DONE)
        return status;
    if (!options[OPTION_OUTPUT].given || options[OPTION_OUTPUT].value[0] == '\0')
        return fail_usage("apply", "where to? Name the output: -o OUT.npy");
    j->ninputs = rest - 1;
    for (int i = 0; i < j->ninputs; i++)
        j->input_paths[i] = argv[1 + i];
    j->output_path = options[OPTION_OUTPUT].value;
    j->measure = options[OPTION_REPORT].given;
    return check_report(options);
}

static int run(const option *options, job *j) {
    report r;
    int status = start_library("apply", &options[OPTION_BACKEND], &options[OPTION_POLICY]);
    if (status == EXIT_DONE)
        status = job_run(j, &r);
    if (status != EXIT_DONE || !options[OPTION_REPORT].given)
        return status;
    if (options[OPTION_REPORT].value)
        report_print_json(&r);
    else
        report_print(&r);
    return finish_output();
}

int command_apply(int argc, char **argv) {
    option options[OPTION_COUNT];
    job j = {.ninputs = 0};
    int rest;
    memcpy(options, OPTIONS, sizeof options);
    int status = args_parse("apply", argc, argv, options, OPTION_COUNT, &rest);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help();
    if (options[OPTION_LIST].given)
        return list_operations();
    status = plan(options, rest, argv, &j);
    return status == EXIT_DONE ? run(options, &j) : status;
}
