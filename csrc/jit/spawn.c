/* spawn.c: one child process, its words and its end.
 *
 * The child gets its own process group, so that Ctrl-C does not look like a
 * compile error, and so that what it started ends with it; default signals,
 * because an ignored SIGCHLD is inherited and breaks compiler drivers; nothing
 * on stdin; and an environment made from a short list. Between fork and exec
 * there is no code of ours: posix_spawn does what is asked. This process may
 * ignore SIGCHLD, or reap all children somewhere: then the status is unknown, and
 * the caller judges by the output. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MAXWORDS ((size_t)64 << 10)
#define TURN_MS 20    /* at most, between two looks at the child and the clock */
#define GRACE_MS 1000 /* for a killed child to disappear */

static int64_t now_ms(void) { return sc_now() / 1000000; }

static void nap(int64_t us)
{
    struct timespec t = {0, (long)us * 1000};
    nanosleep(&t, NULL);
}

static int open_pipe(int p[2])
{
#if defined(__linux__)
    return pipe2(p, O_CLOEXEC);
#else
    if (pipe(p)) return -1;
    return fcntl(p[0], F_SETFD, FD_CLOEXEC) | fcntl(p[1], F_SETFD, FD_CLOEXEC);
#endif
}

/* Reads once, waiting at most so long. False at the end of the pipe. */
static bool hear(int fd, int wait_ms, sc_text *out)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, wait_ms) <= 0) return true;
    char part[4096];
    ssize_t n = read(fd, part, sizeof part);
    if (n > 0 && out->n < MAXWORDS) sc_text_addn(out, part, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

static int status_of(int status)
{ return WIFSIGNALED(status) ? SC_SPAWN_KILLED + WTERMSIG(status) : WEXITSTATUS(status); }

enum { RUNNING, ENDED, TAKEN };

/* Does not reap it: until then its number, which is its group's too, goes to nobody else. */
static int look(pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT)) return errno == EINTR ? RUNNING : TAKEN;
    return info.si_pid == pid ? ENDED : RUNNING;
}

/* Listens until the child is gone, its time is over or the user wants to stop. A grandchild may hold the pipe open and
 * a child may close it early, so both are watched. */
static int listen_to(pid_t pid, int fd, int64_t end, bool *stopped, sc_text *out)
{
    int64_t pause_us = 50;
    bool talking = true;
    int state;
    while ((state = look(pid)) == RUNNING && now_ms() < end && !(*stopped = sc_stopped()))
        if (talking)
            talking = hear(fd, TURN_MS, out);
        else
            nap(pause_us = sc_min(pause_us * 2, 5000));
    for (int i = 0; talking && i < 64; i++) talking = hear(fd, 0, out);
    return state;
}

/* Ends all of the child's group, and takes its status. */
static int finish(pid_t pid, int state)
{
    const int64_t end = now_ms() + GRACE_MS;
    const bool late = state == RUNNING;
    int status = 0;
    if (state != TAKEN) kill(-pid, SIGKILL);
    while ((state = look(pid)) == RUNNING && now_ms() < end) nap(1000);
    const bool reaped = state == ENDED && waitpid(pid, &status, 0) == pid;
    return late ? SC_SPAWN_LATE : reaped ? status_of(status) : SC_SPAWN_UNKNOWN;
}

/* What the child may know of our environment: where things are, never what
 * would change the output. */
static bool make_environment(sc_arena *a, const char *file, const char *dir, char **env)
{
    static const char *const kept[] = {"HOME", "LD_LIBRARY_PATH", "SDKROOT", "DEVELOPER_DIR"};
    int n = 0;
    const char *slash = strrchr(file, '/');
    env[n++] =
        sc_arena_printf(a, "PATH=%.*s:/usr/local/bin:/usr/bin:/bin", slash ? (int)(slash - file) : 0, file);
    env[n++] = sc_arena_printf(a, "LC_ALL=C");
    env[n++] = sc_arena_printf(a, "TMPDIR=%s", dir ? dir : "/tmp");
    for (int i = 0; i < SC_LEN(kept); i++) {
        const char *value = sc_env(kept[i]);
        if (value) env[n++] = sc_arena_printf(a, "%s=%s", kept[i], value);
    }
    env[n] = NULL;
    for (int i = 0; i < n; i++)
        if (!env[i]) return false;
    return true;
}

static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    static const int reset[] = {SIGCHLD, SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGALRM};
    for (int i = 0; i < SC_LEN(reset); i++) sigaddset(&usual, reset[i]);
    int rc = posix_spawnattr_setsigmask(attr, &none);
    if (!rc) rc = posix_spawnattr_setsigdefault(attr, &usual);
    if (!rc) rc = posix_spawnattr_setpgroup(attr, 0);
    if (!rc)
        rc = posix_spawnattr_setflags(attr,
                                      POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return rc;
}

static int set_actions(posix_spawn_file_actions_t *act, int words, const char *dir)
{
    int rc = posix_spawn_file_actions_addopen(act, 0, "/dev/null", O_RDONLY, 0);
    if (!rc) rc = posix_spawn_file_actions_adddup2(act, words, 1);
    if (!rc) rc = posix_spawn_file_actions_adddup2(act, words, 2);
#ifdef SC_SPAWN_CHDIR
    if (!rc && dir) rc = posix_spawn_file_actions_addchdir_np(act, dir);
#else
    (void)dir;
#endif
    return rc;
}

static int start(pid_t *pid, const char *file, char *const argv[], char *const env[], int words,
                 const char *dir)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t act;
    int rc = posix_spawnattr_init(&attr);
    if (rc) return rc;
    rc = posix_spawn_file_actions_init(&act);
    if (!rc) {
        rc = set_attributes(&attr);
        if (!rc) rc = set_actions(&act, words, dir);
        if (!rc) rc = posix_spawn(pid, file, &act, &attr, argv, env);
        posix_spawn_file_actions_destroy(&act);
    }
    posix_spawnattr_destroy(&attr);
    return rc;
}

int sc_spawn(const char *file, char *const argv[], const char *dir, int seconds, sc_text *out)
{
    sc_arena a = {0};
    char *env[8];
    int p[2];
    if (!make_environment(&a, file, dir, env)) {
        sc_arena_free(&a);
        errno = ENOMEM;
        return SC_SPAWN_FAILED;
    }
    if (open_pipe(p)) {
        sc_arena_free(&a);
        return SC_SPAWN_FAILED;
    }
    pid_t pid = 0;
    int rc = start(&pid, file, argv, env, p[1], dir);
    close(p[1]);
    int status = SC_SPAWN_FAILED;
    bool stopped = false;
    if (!rc) status = finish(pid, listen_to(pid, p[0], now_ms() + (int64_t)seconds * 1000, &stopped, out));
    if (stopped) status = SC_SPAWN_STOPPED;
    close(p[0]);
    sc_arena_free(&a);
    errno = rc;
    return status;
}
