/* Threads that do the same work at the same time. */
#include "benchmarks/team.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/test.h"

static atomic_size_t done[TEAM_MOST];
static atomic_size_t present;

static void count(void *context, size_t member) {
    done[member] += *(const size_t *)context;
}

static void every_member_does_every_job(void) {
    for (size_t members = 1; members <= TEAM_MOST; members *= 2) {
        struct team *team = team_open(members);
        REQUIRE(team);
        for (size_t i = 0; i < TEAM_MOST; i++)
            done[i] = 0;
        for (size_t i = 1; i <= 100; i++)
            CHECK(team_run(team, count, &i) >= 0);
        for (size_t i = 0; i < TEAM_MOST; i++)
            CHECK_UINT(done[i], i < members ? 5050 : 0);
        team_close(team);
    }
}

/* Would wait for ever if one ended before another began. */
static void meet(void *context, size_t member) {
    (void)context, (void)member;
    present++;
    while (present < TEAM_MOST)
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
}

static void members_work_at_the_same_time(void) {
    struct team *team = team_open(TEAM_MOST);
    REQUIRE(team);
    present = 0;
    team_run(team, meet, NULL);
    CHECK_UINT(present, TEAM_MOST);
    team_close(team);
}

static void pause_member(void *context, size_t member) {
    (void)context, (void)member;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void seconds_are_the_longest_members(void) {
    struct team *team = team_open(2);
    REQUIRE(team);
    CHECK(team_run(team, pause_member, NULL) >= 5e-3);
    team_close(team);
}

static void sizes_of_teams(void) {
    CHECK(team_cores() >= 1 && team_cores() <= TEAM_MOST);
    CHECK(!team_open(0));
    CHECK(!team_open(TEAM_MOST + 1));
    team_close(NULL);
}

int main(void) {
    RUN(every_member_does_every_job);
    RUN(members_work_at_the_same_time);
    RUN(seconds_are_the_longest_members);
    RUN(sizes_of_teams);
    return test_finish();
}
