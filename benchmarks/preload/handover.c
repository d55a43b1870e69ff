/*
 * The pattern of xmalloc-test: threads that only allocate hand batches of blocks to threads that only free, so that
 * every block is freed by another thread than allocated it.
 */
#include <pthread.h>

#include "patterns.h"

enum { PAIRS = 2, BATCH = 256, WAITING_MOST = 32, BATCHES = 60000 };

struct batch {
    struct batch *next;
    unsigned char *blocks[BATCH];
};

/* One's producer and consumer. */
struct pair {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch *waiting; /* the lock's, as all that follows */
    unsigned nwaiting;
    unsigned batches;
    uint64_t random, sum;
};

static void put(struct pair *pair, struct batch *batch) {
    pthread_mutex_lock(&pair->lock);
    while (pair->nwaiting == WAITING_MOST) {
        pthread_cond_wait(&pair->changed, &pair->lock);
    }
    batch->next = pair->waiting;
    pair->waiting = batch;
    pair->nwaiting++;
    pthread_cond_signal(&pair->changed);
    pthread_mutex_unlock(&pair->lock);
}

static struct batch *take(struct pair *pair) {
    pthread_mutex_lock(&pair->lock);
    while (pair->nwaiting == 0) {
        pthread_cond_wait(&pair->changed, &pair->lock);
    }
    struct batch *batch = pair->waiting;
    pair->waiting = batch->next;
    pair->nwaiting--;
    pthread_cond_signal(&pair->changed);
    pthread_mutex_unlock(&pair->lock);
    return batch;
}

static void *produce(void *argument) {
    struct pair *pair = argument;
    uint64_t random = pair->random;
    for (unsigned i = 0; i < pair->batches; i++) {
        struct batch *batch = must_malloc(sizeof *batch);
        for (unsigned j = 0; j < BATCH; j++) {
            const size_t bytes = 8 + random_below(&random, 8) * 24;
            batch->blocks[j] = must_malloc(bytes);
            batch->blocks[j][0] = (unsigned char)bytes;
        }
        put(pair, batch);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct pair *pair = argument;
    for (unsigned i = 0; i < pair->batches; i++) {
        struct batch *batch = take(pair);
        for (unsigned j = 0; j < BATCH; j++) {
            pair->sum += batch->blocks[j][0];
            free(batch->blocks[j]);
        }
        free(batch);
    }
    return NULL;
}

uint64_t pattern_handover(unsigned scale) {
    static struct pair pairs[PAIRS];
    pthread_t threads[2 * PAIRS];
    uint64_t sum = 0;
    for (unsigned i = 0; i < PAIRS; i++) {
        pairs[i] = (struct pair){.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .changed = PTHREAD_COND_INITIALIZER,
                                 .batches = BATCHES * scale,
                                 .random = i + 1};
        if (pthread_create(&threads[2 * i], NULL, produce, &pairs[i]) != 0 ||
            pthread_create(&threads[2 * i + 1], NULL, consume, &pairs[i]) != 0) {
            exit(1);
        }
    }
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        sum += pairs[i].sum;
    }
    return sum;
}
