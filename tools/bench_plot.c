#include "bench_plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "run_child.h"
#include "tool.h"

#define SCRIPT "plot_bench.py"
#define PYTHON "python3"

static const char *const PLACES[] = {"../" FERRY_DATA_FOLDER "/ferry/" SCRIPT, "../share/ferry/" SCRIPT, "./" SCRIPT};

static int find_script(char path[PATH_MAX]) {
    char own[PATH_MAX];
    if (find_beside(PLACES, sizeof PLACES / sizeof *PLACES, path, own))
        return EXIT_DONE;
    return fail("--plot: " SCRIPT " is not in %s../" FERRY_DATA_FOLDER "/ferry", own);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static int check_writable(const char *picture) {
    char folder[PATH_MAX];
    const char *slash = strrchr(picture, '/');
    if (!ends_with(picture, ".svg") && !ends_with(picture, ".png"))
        return fail_usage("bench", "--plot takes a file that ends in .svg or .png, not '%s'", picture);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - picture + 1) : 1, slash ? picture : ".");
    return access(folder, W_OK) == 0 ? EXIT_DONE : fail("%s: %s", picture, strerror(errno));
}

static bool run_script(char **argv) {
    run_child child;
    return run_and_wait(argv, &child) == EXIT_DONE && run_exit_status(&child) == 0;
}

static int make_results(bench_plot *plot) {
    const char *folder = getenv("TMPDIR");
    snprintf(plot->made, sizeof plot->made, "%s/ferry-bench-XXXXXX", folder && *folder ? folder : P_tmpdir);
    int file = mkstemp(plot->made);
    if (file < 0) {
        int reason = errno;
        fail("%s: %s", plot->made, strerror(reason));
        plot->made[0] = '\0';
        return EXIT_FAILED;
    }
    close(file);
    plot->results = plot->made;
    return EXIT_DONE;
}

int bench_plot_begin(bench_plot *plot, const char *picture, const char *json) {
    *plot = (bench_plot){.picture = picture, .results = json};
    if (!picture)
        return EXIT_DONE;
    int status = check_writable(picture);
    if (status == EXIT_DONE)
        status = find_script(plot->script);
    if (status != EXIT_DONE)
        return status;
    char *argv[] = {(char[]){PYTHON}, plot->script, (char[]){"--ready"}, NULL};
    if (!run_script(argv))
        return fail("--plot needs " PYTHON " with matplotlib; without it, --json FILE keeps what " SCRIPT
                    " draws elsewhere");
    return json ? EXIT_DONE : make_results(plot);
}

static bool has_results(const bench_plot *plot) {
    struct stat status;
    return stat(plot->results, &status) == 0 && status.st_size > 0;
}

int bench_plot_finish(bench_plot *plot, bool draw) {
    int status = EXIT_DONE;
    if (plot->picture && draw && has_results(plot)) {
        char results[PATH_MAX], picture[PATH_MAX];
        snprintf(results, sizeof results, "%s", plot->results);
        snprintf(picture, sizeof picture, "%s", plot->picture);
        char *argv[] = {(char[]){PYTHON}, plot->script, results, picture, NULL};
        if (!run_script(argv))
            status = fail("%s: the picture was not drawn", plot->picture);
    }
    if (plot->made[0])
        unlink(plot->made);
    return status;
}
