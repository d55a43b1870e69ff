#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "report.h"

struct member {
    struct team *team;
    pthread_t thread;
    double begin, end; /* of the job in hand */
};

/* A job lies between two waits at the barrier, by all members and by whoever gives it. */
struct team {
    pthread_mutex_t start; /* held until all members are there, or one cannot be */
    bool abandoned;        /* under it */
    pthread_barrier_t barrier;
    atomic_size_t ready; /* members that are about to begin */
    size_t count;
    team_work work; /* NULL: the end; constant while a job is in hand, as is the next */
    void *context;
    struct member members[TEAM_MOST];
};

/* The barrier wakes threads one after the other; this lets the awake ones wait for the rest. */
static void begin_together(struct team *team) {
    atomic_fetch_add(&team->ready, 1);
    while (atomic_load(&team->ready) < team->count)
        sched_yield();
}

static bool started(struct team *team) {
    pthread_mutex_lock(&team->start);
    bool abandoned = team->abandoned;
    pthread_mutex_unlock(&team->start);
    return !abandoned;
}

static void *serve(void *argument) {
    struct member *member = argument;
    struct team *team = member->team;
    while (started(team)) {
        pthread_barrier_wait(&team->barrier);
        if (!team->work)
            break;
        begin_together(team);
        member->begin = now_seconds();
        team->work(team->context, (size_t)(member - team->members));
        member->end = now_seconds();
        pthread_barrier_wait(&team->barrier);
    }
    return NULL;
}

/* As many as can be. */
static size_t start_members(struct team *team) {
    size_t i = 0;
    for (; i < team->count; i++) {
        team->members[i].team = team;
        if (pthread_create(&team->members[i].thread, NULL, serve, &team->members[i]))
            break;
    }
    return i;
}

static void finish(struct team *team, size_t members) {
    for (size_t i = 0; i < members; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_barrier_destroy(&team->barrier);
    pthread_mutex_destroy(&team->start);
    free(team);
}

struct team *team_open(size_t members) {
    struct team *team = members && members <= TEAM_MOST ? calloc(1, sizeof *team) : NULL;
    if (!team)
        return NULL;
    team->count = members;
    pthread_mutex_init(&team->start, NULL);
    pthread_barrier_init(&team->barrier, NULL, (unsigned)members + 1);
    pthread_mutex_lock(&team->start);
    size_t there = start_members(team);
    team->abandoned = there < members;
    pthread_mutex_unlock(&team->start);
    if (there == members)
        return team;
    finish(team, there);
    return NULL;
}

double team_run(struct team *team, team_work work, void *context) {
    double begin, end;
    team->work = work;
    team->context = context;
    atomic_store(&team->ready, 0);
    pthread_barrier_wait(&team->barrier);
    if (!work)
        return 0;
    pthread_barrier_wait(&team->barrier);
    begin = team->members[0].begin;
    end = team->members[0].end;
    for (size_t i = 1; i < team->count; i++) {
        begin = team->members[i].begin < begin ? team->members[i].begin : begin;
        end = team->members[i].end > end ? team->members[i].end : end;
    }
    return end - begin;
}

void team_close(struct team *team) {
    if (!team)
        return;
    team_run(team, NULL, NULL);
    finish(team, team->count);
}

size_t team_cores(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > TEAM_MOST ? TEAM_MOST : (size_t)cores;
}
