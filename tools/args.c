#include <stdio.h>
#include <string.h>

#include "args.h"
#include "tool.h"

/* Whether `argument` is this option; *value is what stands after "=" or after a brief name, or NULL. */
static bool matches(const option *o, const char *argument, const char **value) {
    size_t length = strlen(o->name);
    *value = NULL;
    if (strncmp(argument, o->name, length) == 0 && (argument[length] == '\0' || argument[length] == '=')) {
        *value = argument[length] == '=' ? argument + length + 1 : NULL;
        return true;
    }
    if (!o->brief || strncmp(argument, o->brief, strlen(o->brief)) != 0)
        return false;
    *value = argument[strlen(o->brief)] ? argument + strlen(o->brief) : NULL;
    return o->kind == OPTION_VALUE || !*value;
}

static int set(const char *command, option *o, const char *value, int argc, char **argv, int *at) {
    if (o->given)
        return fail_usage(command, "%s is given twice", o->name);
    if (o->kind == OPTION_FLAG && value)
        return fail_usage(command, "%s takes no value", o->name);
    if (o->kind == OPTION_VALUE && !value) {
        if (*at + 1 >= argc)
            return fail_usage(command, "%s needs a value: %s", o->name, o->value_name);
        value = argv[++*at];
    }
    o->given = true;
    o->value = value;
    return EXIT_DONE;
}

static int parse_option(const char *command, int argc, char **argv, int *at, option *options, size_t noptions) {
    for (size_t i = 0; i < noptions; i++) {
        const char *value;
        if (matches(&options[i], argv[*at], &value))
            return set(command, &options[i], value, argc, argv, at);
    }
    return fail_usage(command, "unknown option '%s'", argv[*at]);
}

static bool is_option(const char *argument) {
    return argument[0] == '-' && argument[1] != '\0';
}

int args_parse(const char *command, int argc, char **argv, option *options, size_t noptions, int *rest) {
    bool ended = false;
    int kept = 0;
    for (int i = 0; i < argc; i++) {
        bool read = !ended && is_option(argv[i]);
        if (read && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (read) {
            int status = parse_option(command, argc, argv, &i, options, noptions);
            if (status != EXIT_DONE)
                return status;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *rest = kept;
    return EXIT_DONE;
}

int args_parse_front(const char *command, int argc, char **argv, option *options, size_t noptions, int *first) {
    int at = 0, status = EXIT_DONE;
    for (; at < argc && is_option(argv[at]) && strcmp(argv[at], "--") != 0 && status == EXIT_DONE; at++)
        status = parse_option(command, argc, argv, &at, options, noptions);
    *first = at < argc && strcmp(argv[at], "--") == 0 ? at + 1 : at;
    return status;
}

static void spelling(const option *o, char *text, size_t bytes) {
    const char *equals = o->kind == OPTION_MAY_VALUE ? "[=" : o->kind == OPTION_VALUE ? " " : "";
    snprintf(text, bytes, "%s%s%s%s%s%s", o->brief ? o->brief : "", o->brief ? ", " : "", o->name, equals,
             o->kind == OPTION_FLAG ? "" : o->value_name, o->kind == OPTION_MAY_VALUE ? "]" : "");
}

void args_help(const option *options, size_t noptions) {
    for (size_t i = 0; i < noptions; i++) {
        char text[64];
        spelling(&options[i], text, sizeof text);
        printf("  %-26s %s\n", text, options[i].help);
    }
}
