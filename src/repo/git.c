/* SPDX-License-Identifier: Apache-2.0 */
/* git - runs git as a child process in a controlled environment */
#include "repo/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/proc.h"

/*
 * The variables that `git rev-parse --local-env-vars` lists, and GIT_QUARANTINE_PATH. An isolated
 * repository ignores them.
 */
static const char *const local_vars[] = { "GIT_ALTERNATE_OBJECT_DIRECTORIES",
					  "GIT_CONFIG",
					  "GIT_CONFIG_PARAMETERS",
					  "GIT_CONFIG_COUNT",
					  "GIT_OBJECT_DIRECTORY",
					  "GIT_DIR",
					  "GIT_WORK_TREE",
					  "GIT_IMPLICIT_WORK_TREE",
					  "GIT_GRAFT_FILE",
					  "GIT_INDEX_FILE",
					  "GIT_NO_REPLACE_OBJECTS",
					  "GIT_REPLACE_REF_BASE",
					  "GIT_PREFIX",
					  "GIT_SHALLOW_FILE",
					  "GIT_COMMON_DIR",
					  "GIT_INTERNAL_SUPER_PREFIX",
					  "GIT_NAMESPACE",
					  "GIT_QUARANTINE_PATH",
					  NULL };

/*
 * Variables with paths that can be relative to the user's current directory. They are dropped when
 * git runs in the git directory, because a relative path would be wrong there.
 */
static const char *const standing_vars[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX",
					     "GIT_INDEX_FILE", NULL };

/*
 * Variables that are always dropped, because they would make git read another config file, or
 * change how git matches our literal pathspecs.
 */
static const char *const unwanted_vars[] = { "GIT_CONFIG", "GIT_GLOB_PATHSPECS",
					     "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", NULL };

/*
 * Variables that we set. Replace refs are off because libgit2 ignores them, and git and libgit2
 * must see the same objects. Optional locks are off so that git refreshes the index only in memory.
 */
static const char *const our_vars[] = { "LC_ALL=C",
					"LANGUAGE=C",
					"GIT_NO_REPLACE_OBJECTS=1",
					"GIT_OPTIONAL_LOCKS=0",
					"GIT_LITERAL_PATHSPECS=1",
					NULL };

int kl_error_git(int code, const char *fmt, ...)
{
	const git_error *error = git_error_last();
	KL_AUTO(kl_buf_release) struct kl_buf what = KL_BUF_INIT;
	int kind = code == GIT_ENOTFOUND                              ? KL_ENOTFOUND :
		   code == GIT_EEXISTS                                ? KL_EEXISTS :
		   code == GIT_EMODIFIED                              ? KL_ECHANGED :
		   code == GIT_ELOCKED                                ? KL_EBUSY :
		   code == GIT_EINVALIDSPEC || code == GIT_EAMBIGUOUS ? KL_EINVALID :
									KL_EIO;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&what, fmt, ap);
	va_end(ap);
	return kl_error(kind, "%s: %s", what.ptr, error ? error->message : "no reason given");
}

static bool list_names(const char *const *list, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (; list && *list; list++)
		if (strcspn(*list, "=") == n && !strncmp(*list, entry, n))
			return true;
	return false;
}

static bool is_config_pair(const char *entry)
{
	return !strncmp(entry, "GIT_CONFIG_KEY_", 15) || !strncmp(entry, "GIT_CONFIG_VALUE_", 17);
}

static void child_env(struct kl_strvec *env, const struct kl_repo *repo,
		      const struct kl_git_call *call)
{
	for (char **entry = environ; *entry; entry++) {
		const char *value = strchr(*entry, '=');

		if (list_names(our_vars, *entry) || list_names(call->setenv, *entry) ||
		    list_names(unwanted_vars, *entry) || kl_environment_is_key(*entry))
			continue;
		if (repo->isolated && (list_names(local_vars, *entry) || is_config_pair(*entry)))
			continue;
		if (!call->here && list_names(standing_vars, *entry))
			continue;
		if (!call->here && value && value[1] != '/' &&
		    (!strncmp(*entry, "GIT_OBJECT_DIRECTORY=", 21) ||
		     !strncmp(*entry, "GIT_COMMON_DIR=", 15)))
			kl_strvec_pushf(env, "%.*s%s/%s", (int)(value + 1 - *entry), *entry,
					repo->start_dir, value + 1);
		else
			kl_strvec_push(env, *entry);
	}
	kl_strvec_pushv(env, our_vars);
	if (call->setenv)
		kl_strvec_pushv(env, call->setenv);
}

/*
 * Make a file the stdin of this child process, and take a record lock on the file. Unlike a flock,
 * a record lock is kept over exec but is not inherited by the hooks that git starts. Closing any
 * descriptor of the file releases the lock, so the original descriptor is closed first.
 */
static int stdin_from(void *payload)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = *(int *)payload;

	if (dup2(fd, 0) < 0 || close(fd) < 0 || fcntl(0, F_SETLK, &whole) < 0)
		return errno;
	return 0;
}

/*
 * Limit the size of each file that this child process writes: at most `*max` bytes (0 if there is
 * no limit).
 */
static int limit_files(const uint64_t *max)
{
	struct rlimit rlimit;

	if (!*max || getrlimit(RLIMIT_FSIZE, &rlimit) < 0)
		return 0;
	if (rlimit.rlim_cur > *max)
		rlimit.rlim_cur = *max;
	return setrlimit(RLIMIT_FSIZE, &rlimit) < 0 ? errno : 0;
}

/* Return true if this process group is the foreground process group of the terminal. */
static bool has_terminal(void)
{
	KL_AUTO(kl_closep) int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	return fd >= 0 && tcgetpgrp(fd) == getpgrp();
}

/*
 * Make this process group the foreground group of the terminal. Otherwise a program that asks for a
 * passphrase would be in the background, where the terminal stops it (SIGTTIN). Calling tcsetpgrp()
 * from the background raises SIGTTOU, which would stop this process as well, so SIGTTOU is ignored
 * during the call.
 */
static void take_terminal(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	KL_AUTO(kl_closep) int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	sigaction(SIGTTOU, &ignore, &old);
	tcsetpgrp(fd, getpgrp());
	sigaction(SIGTTOU, &old, NULL);
}

struct before_remote {
	uint64_t max_file;
	bool terminal;
};

static int before_remote(void *payload)
{
	const struct before_remote *remote = payload;

	if (remote->terminal)
		take_terminal();
	return limit_files(&remote->max_file);
}

int kl_git_run(int *status, const struct kl_repo *repo, const struct kl_git_call *call)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_closep) int in = -1;
	struct kl_proc_result res;
	struct before_remote before = { call->max_file, call->remote && has_terminal() };
	struct kl_proc_opts opts = {
		.dir = call->here ? repo->start_dir : repo->git_dir,
		.in = call->in,
		.in_len = call->in_len,
		.out = call->out,
		.err = call->err,
		.max_output = (size_t)1 << 30,
		.flags = call->finish ? KL_PROC_FINISH : 0,
	};
	int err;

	kl_strvec_push(&argv, "git");
	if (!call->here)
		kl_strvec_pushf(&argv, "--git-dir=%s", repo->git_dir);
	kl_strvec_pushv(&argv, call->args);
	child_env(&env, repo, call);
	opts.argv = (const char *const *)argv.v;
	opts.env = (const char *const *)env.v;
	if (call->in_path) {
		in = open(call->in_path, O_RDONLY | O_CLOEXEC);
		if (in < 0)
			return kl_error_errno("cannot open '%s'", call->in_path);
		opts.before_exec = stdin_from;
		opts.payload = &in;
	}
	if (call->remote) {
		opts.before_exec = before_remote;
		opts.payload = &before;
	}
	err = kl_proc_run(&res, &opts);
	if (before.terminal)
		take_terminal();
	if (err == KL_ENOTFOUND)
		return kl_error(KL_EIO, "%s: git must be on PATH", kl_error_last());
	if (err < 0)
		return err;
	if (res.truncated)
		return kl_error(KL_EIO, "git %s printed more than 1 GiB", call->args[0]);
	*status = res.signal ? 128 + res.signal : res.exit;
	return 0;
}

const char *kl_git_complaint(struct kl_buf *err)
{
	static const char *const prefix[] = { "fatal: ", "error: ", "" };
	char *end;

	kl_buf_rtrim(err);
	for (size_t i = 0; i < KL_ARRAY_SIZE(prefix); i++) {
		size_t n = strlen(prefix[i]);

		for (char *at = err->ptr; at; at = strchr(at, '\n')) {
			at += *at == '\n';
			if (strncmp(at, prefix[i], n) || !at[n])
				continue;
			end = strchr(at, '\n');
			if (end)
				*end = '\0';
			return at + n;
		}
	}
	return "no reason given";
}

int kl_git_do(const struct kl_repo *repo, const struct kl_git_call *given)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = *given;
	const char *const *verb = given->args;
	int status, err;

	if (!call.err)
		call.err = &text;
	if ((err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	if (!status)
		return 0;
	while (!strcmp(*verb, "-c"))
		verb += 2;
	if (status > 129) /* git itself exits with 128 and 129 */
		return kl_error(KL_EIO, "git %s was killed by signal %d", *verb, status - 128);
	return kl_error(KL_EIO, "git %s: %s", *verb, kl_git_complaint(call.err));
}
