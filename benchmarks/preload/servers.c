/*
 * The pattern of larson: servers' threads, each replacing random blocks of its own by others of random sizes; after a
 * while a thread ends and hands its blocks on to a new one, which frees what another allocated.
 */
#include <pthread.h>

#include "patterns.h"

enum { SERVERS = 4, BLOCKS = 2000, GENERATIONS = 10, REPLACEMENTS = 500000, BYTES_LEAST = 10, BYTES_MOST = 1000 };

struct server {
    unsigned char *blocks[BLOCKS];
    uint64_t random, sum;
    unsigned replacements;
};

static void *serve(void *argument) {
    struct server *server = argument;
    for (unsigned i = 0; i < server->replacements; i++) {
        unsigned char **slot = &server->blocks[random_below(&server->random, BLOCKS)];
        const size_t bytes = BYTES_LEAST + random_below(&server->random, BYTES_MOST - BYTES_LEAST);
        if (*slot != NULL) {
            server->sum += (*slot)[0];
            free(*slot);
        }
        *slot = must_malloc(bytes);
        (*slot)[0] = (unsigned char)i;
        (*slot)[bytes - 1] = 1;
    }
    return NULL;
}

uint64_t pattern_servers(unsigned scale) {
    static struct server servers[SERVERS];
    uint64_t sum = 0;
    for (unsigned i = 0; i < SERVERS; i++) {
        servers[i].random = i + 1;
        servers[i].replacements = REPLACEMENTS * scale;
    }
    for (unsigned generation = 0; generation < GENERATIONS; generation++) {
        pthread_t threads[SERVERS];
        for (unsigned i = 0; i < SERVERS; i++) {
            if (pthread_create(&threads[i], NULL, serve, &servers[i]) != 0) {
                exit(1);
            }
        }
        for (unsigned i = 0; i < SERVERS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    for (unsigned i = 0; i < SERVERS; i++) {
        sum += servers[i].sum;
    }
    return sum;
}
