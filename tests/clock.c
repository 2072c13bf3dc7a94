/* Add CLOCK_OFFSET_S seconds to the time of day that a process reads; tests/clock.py preloads this library.

   Only the time of day changes. Monotonic clocks, sleeps, waits and the times of files stay as they are. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset_s;

__attribute__((constructor)) static void read_offset(void)
{
    const char *text = getenv("CLOCK_OFFSET_S");
    offset_s = text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset_s;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec read;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &read);
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec read;
    clock_gettime(CLOCK_REALTIME, &read);
    if (now)
        *now = read.tv_sec;
    return read.tv_sec;
}

int timespec_get(struct timespec *now, int base)
{
    clock_gettime(CLOCK_REALTIME, now);
    return base;
}
