/* What is expected of a block, or what became of one: shared by the table of sites and by the policy. */
#ifndef FERRY_ALLOC_OUTLOOK_H
#define FERRY_ALLOC_OUTLOOK_H

#include <stdbool.h>
#include <stdint.h>

/* How a run of device passes ends: by what the host does next, or by the block's death. */
enum ending {
    ENDING_UNKNOWN,
    ENDING_NOTHING, /* the host never touched it */
    ENDING_READ,
    ENDING_OVERWRITE
};

struct site_outlook {
    uint16_t passes; /* of devices between two touches by the host; UINT16_MAX: that many or more */
    uint8_t next;    /* enum ending */
    bool known;      /* as an answer: something has been learnt; otherwise the fields above are 0 */
    bool blind;      /* as an outcome: the host had the bytes at home, where its touches leave no trace */
};

#endif
