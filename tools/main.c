/* ferry: the command. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ferry/version.h"
#include "tool.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command COMMANDS[] = {
    {"apply", command_apply, "an elementwise operation on .npy files"},
    {"run", command_run, "any program, its large allocations in managed memory"},
    {"report", command_report, "what programs that ran so did with their memory"},
    {"bench", command_bench, "measures managed memory beside explicit copies"},
    {"info", command_info, "what this machine offers: backend, devices, links, budget"},
    {"calibrate", command_calibrate, "measures again what crossing to the devices costs"},
};

#define COMMAND_COUNT (sizeof COMMANDS / sizeof *COMMANDS)

static const char *command_name(size_t i) {
    return COMMANDS[i].name;
}

static int help(void) {
    puts("ferry - NumPy files through GPU kernels, every byte across the bus once each way\n\n"
         "Usage: ferry COMMAND [OPTION...]\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    puts("\n'ferry COMMAND --help' says more; 'ferry --version' prints the version.\n"
         "Exit status: 0 done, 1 failed, 2 the command line is wrong.");
    return finish_output();
}

static int version(void) {
    printf("ferry %s\n", ferry_version());
    return finish_output();
}

static int unknown(const char *word) {
    const char *near = closest_name(word, command_name, COMMAND_COUNT);
    if (word[0] == '-')
        return fail_usage(NULL, "unknown option '%s'", word);
    if (near)
        return fail_usage(NULL, "unknown command '%s': did you mean '%s'?", word, near);
    return fail_usage(NULL, "unknown command '%s'", word);
}

/*
 * A file opened in the place of a closed standard stream would receive what is meant for that. They are opened the
 * wrong way round, so that using them is still the error that it was. False when that cannot be done.
 */
static bool occupy_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

static void (*inherited_xfsz)(int);

/* A file past its size limit is then an error of write(), which is reported and cleaned up after. */
static void ignore_xfsz(void) {
    inherited_xfsz = signal(SIGXFSZ, SIG_IGN);
}

void restore_xfsz(void) {
    signal(SIGXFSZ, inherited_xfsz);
}

int main(int argc, char **argv) {
    if (!occupy_standard_streams())
        return EXIT_FAILED;
    ignore_xfsz();
    if (argc < 2)
        return fail_usage(NULL, "a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0)
        return version();
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 2, argv + 2);
    return unknown(argv[1]);
}
