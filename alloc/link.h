/* The costs of each device's link: measured once, kept on disk, and read without a lock from then on. */
#ifndef FERRY_ALLOC_LINK_H
#define FERRY_ALLOC_LINK_H

#include <stdbool.h>

#include "ferry/link.h"

/*
 * The costs in use for a device that exists. Never fails: what cannot be measured costs what it does over PCIe 5, and
 * so it does in a forked child. The first call for a device reads a file or measures, in well under a second; the
 * movement lock may be held. What it points to stays as it is for ever; a later calibration is another call's to see.
 */
const ferry_link_costs *link_costs(int device);

/* Whether link_costs will not measure: a load. */
bool link_is_known(int device);

/* The same without measuring, for callers in the middle of something that must not be disturbed, such as a stream's
 * capture: the PCIe 5 machine's figures as long as no others are known. */
const ferry_link_costs *link_costs_known(int device);

/*
 * What bringing bytes home really took: how fast that is depends on what the machine is doing as on little else, and it
 * is waited for anyway. link_expected are the costs in use, but for these two, which follow what is observed. Movement
 * lock.
 */
void link_note_home(int device, size_t bytes, bool discarded, uint64_t ns);
const ferry_link_costs *link_expected(int device, const ferry_link_costs *in_use);

/* Whether such costs can be: numbers, none of them negative, and crossings not free. */
bool link_plausible(const ferry_link_costs *costs);

#endif
