/* JSON on a stream. */
#ifndef FERRY_TOOLS_JSON_H
#define FERRY_TOOLS_JSON_H

#include <stdio.h>

/* A string in quotes; bytes that are not UTF-8 become U+FFFD. */
void json_string(FILE *stream, const char *text);

#endif
