/* The costs of links, as text and as JSON. */
#ifndef FERRY_TOOLS_LINKS_H
#define FERRY_TOOLS_LINKS_H

#include "ferry/link.h"

/* A table for people, indented by two: ms for a GiB, GB/s, and what a call costs however small it is. */
void print_links(const ferry_link_costs *costs);

/* One object, the fields by their names. */
void print_links_json(const ferry_link_costs *costs);

/* Whose figures they are, for a line that ends here: "" where they were measured. */
const char *links_origin(void);

#endif
