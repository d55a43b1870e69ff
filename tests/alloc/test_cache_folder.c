/* The folder for cached files: which, made or why not. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/cache.h"
#include "tests/scratch.h"

static char root[SCRATCH_BYTES];

static void set(const char *name, const char *below) {
    char value[PATH_MAX];
    if (below == NULL) {
        unsetenv(name);
        return;
    }
    snprintf(value, sizeof value, "%s%s%s", *below ? root : "", *below ? "/" : "", below);
    setenv(name, value, 1);
}

/* Each a folder below the root, "" for an empty variable, NULL for none. */
static void set_variables(const char *own, const char *cache, const char *home) {
    set("FERRY_CACHE", own);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
}

static void check_folder(const char *below) {
    char path[PATH_MAX] = "", wanted[PATH_MAX];
    struct stat state;
    snprintf(wanted, sizeof wanted, "%s/%s", root, below);
    if (!CHECK_OK(ferry_cache_folder(path, sizeof path)))
        return;
    CHECK_STRING(path, wanted);
    if (CHECK(stat(path, &state) == 0 && S_ISDIR(state.st_mode)))
        CHECK_INT(state.st_mode & 0077, 0);
    CHECK_OK(ferry_cache_folder(path, sizeof path));
}

static void the_first_variable_decides(void) {
    set_variables("own/deep/folder", "cache", "home");
    check_folder("own/deep/folder");
    set_variables(NULL, "cache", "home");
    check_folder("cache/ferry");
    set_variables("", "", "home");
    check_folder("home/.cache/ferry");
}

/* Writes nothing but what it succeeds with. */
static void check_refused(size_t bytes, ferry_status want) {
    char path[PATH_MAX] = "as it was";
    CHECK_STATUS(ferry_cache_folder(path, bytes), want);
    CHECK_STRING(path, "as it was");
}

static void without_variables_there_is_none(void) {
    set_variables(NULL, "", NULL);
    check_refused(PATH_MAX, FERRY_NOT_FOUND);
}

static void paths_fit_with_their_end_or_not_at_all(void) {
    char path[PATH_MAX];
    set_variables("own", NULL, NULL);
    size_t length = strlen(root) + strlen("/own");
    check_refused(0, FERRY_INVALID_ARGUMENT);
    check_refused(length, FERRY_INVALID_ARGUMENT);
    CHECK_OK(ferry_cache_folder(path, length + 1));
}

static void longer_names_than_the_system_has_are_refused(void) {
    static char name[3 * PATH_MAX], path[sizeof name];
    memset(name, 'x', sizeof name - 1);
    setenv("FERRY_CACHE", name, 1);
    CHECK_STATUS(ferry_cache_folder(path, sizeof path), FERRY_INVALID_ARGUMENT);
    CHECK_STRING(path, "");
}

/* Not even root makes a folder below a file, or of one. */
static void files_are_in_the_way(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/file", root);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    set_variables("file", NULL, NULL);
    check_refused(PATH_MAX, FERRY_IO);
    set_variables("file/below", NULL, NULL);
    check_refused(PATH_MAX, FERRY_IO);
    CHECK_THAT(strstr(ferry_error_detail(), "file/below") != NULL, "the error is: %s", ferry_error_detail());
}

static void relative_folders_are_below_the_current_one(void) {
    char path[PATH_MAX];
    struct stat state;
    REQUIRE(chdir(root) == 0);
    setenv("FERRY_CACHE", "relative/one", 1);
    CHECK_OK(ferry_cache_folder(path, sizeof path));
    CHECK_STRING(path, "relative/one");
    CHECK(stat("relative/one", &state) == 0);
    REQUIRE(chdir("/") == 0);
}

int main(void) {
    scratch_make(root);
    RUN(the_first_variable_decides);
    RUN(without_variables_there_is_none);
    RUN(paths_fit_with_their_end_or_not_at_all);
    RUN(longer_names_than_the_system_has_are_refused);
    RUN(files_are_in_the_way);
    RUN(relative_folders_are_below_the_current_one);
    scratch_remove(root);
    return test_finish();
}
