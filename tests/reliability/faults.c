/* Preloaded into a program to make its disk and its clock fail: cc -shared -fPIC -o faults.so faults.c
 *
 * HEADWISE_FAULT: short (every write takes at most 7 bytes), eintr (every second call is interrupted first), full:N (no room after
 * N bytes), sync (EIO where data are forced to disk), rename (EIO where a file gets its name), clock:+N or clock:-N (the time of day
 * jumps by N seconds at its 20th reading, and back at the 40th, and so on). The disk's faults are those of files under
 * HEADWISE_FAULT_FOLDER; short and eintr of every file, pipe and socket.
 * HEADWISE_FAULT_LOG: gets a letter for every fault, so that the caller knows that there was one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is(const char* name)
{
    const char* fault = getenv("HEADWISE_FAULT");
    return fault && strncmp(fault, name, strlen(name)) == 0;
}

static long amount(void)
{
    const char* fault = getenv("HEADWISE_FAULT");
    const char* colon = fault ? strchr(fault, ':') : NULL;
    return colon ? atol(colon + 1) : 0;
}

/* Says that there was a fault, past our own write. */
static void tell(void)
{
    const char* log = getenv("HEADWISE_FAULT_LOG");
    const int file = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    const int before = errno;
    if (file >= 0) {
        syscall(SYS_write, file, "x", 1UL);
        close(file);
    }
    errno = before;
}

static int isUnder(const char* path)
{
    const char* folder = getenv("HEADWISE_FAULT_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int isOurs(int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0)
        return 0;
    path[size] = 0;
    return isUnder(path);
}

static _Thread_local int calls;
static long written;

/* How many of `size` bytes the call may take; -1: it fails with errno. */
static ssize_t allowed(int file, size_t size)
{
    if (is("eintr") && ++calls % 2 == 1) {
        tell();
        errno = EINTR;
        return -1;
    }
    if (is("short") && size > 7) {
        tell();
        return 7;
    }
    if (is("full") && isOurs(file)) {
        const long room = amount() - __atomic_fetch_add(&written, (long)size, __ATOMIC_SEQ_CST);
        if (room < (long)size)
            tell();
        if (room <= 0) {
            errno = ENOSPC;
            return -1;
        }
        return room < (long)size ? room : (ssize_t)size;
    }
    return (ssize_t)size;
}

ssize_t write(int file, const void* bytes, size_t size)
{
    const ssize_t count = allowed(file, size);
    return count < 0 ? -1 : syscall(SYS_write, file, bytes, (size_t)count);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at)
{
    const ssize_t count = allowed(file, size);
    return count < 0 ? -1 : syscall(SYS_pwrite64, file, bytes, (size_t)count, at);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at)
{
    return pwrite(file, bytes, size, at);
}

static int synced(int file, long number)
{
    if (is("sync") && isOurs(file)) {
        tell();
        errno = EIO;
        return -1;
    }
    if (is("eintr") && ++calls % 2 == 1) {
        tell();
        errno = EINTR;
        return -1;
    }
    return (int)syscall(number, file);
}

int fsync(int file)
{
    return synced(file, SYS_fsync);
}

int fdatasync(int file)
{
    return synced(file, SYS_fdatasync);
}

static int renamed(const char* from, const char* to, unsigned flags)
{
    if (is("rename") && isUnder(to)) {
        tell();
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

int rename(const char* from, const char* to)
{
    return renamed(from, to, 0);
}

int renameat2(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags)
{
    (void)fromFolder, (void)toFolder; /* our program names paths alone */
    return renamed(from, to, flags);
}

/* Seconds that the time of day is off now. */
static long shift(void)
{
    static long readings;
    if (!is("clock"))
        return 0;
    const long number = __atomic_fetch_add(&readings, 1, __ATOMIC_SEQ_CST);
    if (number / 20 % 2 == 0)
        return 0;
    tell();
    return amount();
}

int clock_gettime(clockid_t clock, struct timespec* now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return result;
}

time_t time(time_t* into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval* restrict into, void* restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1000;
    return 0;
}
