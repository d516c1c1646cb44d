/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

/* The default colours are the ones that git uses for similar output. */
static const struct {
	const char *slot, *dflt;
} paints[KL_PAINTS] = {
	[KL_PAINT_RESET] = { NULL, "reset" },   [KL_PAINT_HEAD] = { "head", "bold" },
	[KL_PAINT_PASS] = { "pass", "green" },  [KL_PAINT_FAIL] = { "fail", "bold red" },
	[KL_PAINT_WARN] = { "warn", "yellow" }, [KL_PAINT_OLD] = { "old", "red" },
	[KL_PAINT_NEW] = { "new", "green" },    [KL_PAINT_FRAG] = { "frag", "cyan" },
};

const char *kl_paint(const struct kl_term *term, enum kl_paint what)
{
	return term->code[what];
}

enum kl_paint kl_paint_verdict(enum kl_verdict verdict)
{
	return verdict == KL_VERDICT_PASS ? KL_PAINT_PASS :
	       verdict == KL_VERDICT_FAIL ? KL_PAINT_FAIL :
					    KL_PAINT_WARN;
}

/* --- colours --------------------------------------------------------------- */

static bool env_true(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcasecmp(value, "false") && strcasecmp(value, "0");
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || !strcmp(term, "dumb");
}

/* Decide whether to use colours, as git's want_color_auto() does, but also honour NO_COLOR. */
static bool auto_color(struct kl_repo *repo)
{
	const char *no = getenv("NO_COLOR");
	bool pager;

	if ((no && *no) || is_dumb())
		return false;
	if (isatty(STDOUT_FILENO))
		return true;
	if (kl_repo_config_bool(&pager, repo, "color.pager", true) < 0) {
		kl_error_clear();
		pager = true;
	}
	return pager && env_true("GIT_PAGER_IN_USE");
}

/* Parse `when`: "always", "never", "auto" or a boolean; true means "auto", false means "never". */
static int decide_color(bool *out, struct kl_repo *repo, const char *when, const char *who)
{
	static const char *const no[] = { "never", "false", "no", "off", "0" };
	static const char *const maybe[] = { "auto", "true", "yes", "on", "1" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(no); i++)
		if (!strcasecmp(when, no[i]))
			return 0;
	*out = true;
	if (!strcasecmp(when, "always"))
		return 0;
	*out = auto_color(repo);
	for (size_t i = 0; i < KL_ARRAY_SIZE(maybe); i++)
		if (!strcasecmp(when, maybe[i]))
			return 0;
	return kl_error(KL_EINVALID, "%s: invalid value '%s' (expected always, never or auto)", who,
			when);
}

static int want_color(bool *out, struct kl_repo *repo, const char *when)
{
	const char *who = "--color", *ui;

	*out = false;
	if (!when) {
		who = "config color.klineage";
		when = kl_repo_config(repo, "color.klineage");
	}
	if (when)
		return decide_color(out, repo, when, who);
	ui = kl_repo_config(repo, "color.ui");
	if (decide_color(out, repo, ui ? ui : "auto", "config color.ui") < 0)
		kl_error_clear(); /* not an error here: git itself reports a bad color.ui */
	return 0;
}

static int load_codes(struct kl_term *term, struct kl_repo *repo)
{
	/* clang-format off */
	static const char *const plain[KL_PAINTS] = {
		[KL_PAINT_RESET] = "\033[m", [KL_PAINT_HEAD] = "\033[1m", [KL_PAINT_PASS] = "\033[32m",
		[KL_PAINT_FAIL] = "\033[1;31m", [KL_PAINT_WARN] = "\033[33m", [KL_PAINT_OLD] = "\033[31m",
		[KL_PAINT_NEW] = "\033[32m", [KL_PAINT_FRAG] = "\033[36m",
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_PAINTS; i++) {
		KL_AUTO(kl_freep) char *key = paints[i].slot ? kl_asprintf("color.klineage.%s",
									   paints[i].slot) :
							       NULL;
		int err;

		/* run git only for a colour that is configured */
		if (!key || !kl_repo_config(repo, key)) {
			snprintf(term->code[i], sizeof(term->code[i]), "%s", plain[i]);
			continue;
		}
		err = kl_repo_config_color(term->code[i], sizeof(term->code[i]), repo, key,
					   paints[i].dflt);
		if (err < 0)
			return err;
	}
	return 0;
}

/* --- size ------------------------------------------------------------------------ */

static int stdout_room; /* see kl_term_room() */

int kl_term_room(void)
{
	return stdout_room;
}

static int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	int n = columns ? atoi(columns) : 0;
	struct winsize size;

	if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		n = size.ws_col;
	return n <= 0 ? 80 : n < 20 ? 20 : n;
}

/* --- pager ------------------------------------------------------------------------- */

/*
 * Run the pager in the child process. The default of $LESS makes less(1) quit if the text fits on
 * one screen, show colours, and leave the text on the screen; with S, it scrolls sideways instead
 * of folding long lines. The default of $LV makes lv(1) show colours.
 */
static void run_pager(const char *command, int in, bool scrolls)
{
	if (dup2(in, STDIN_FILENO) < 0)
		_exit(127);
	setenv("LESS", scrolls ? "FRSX" : "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/*
 * Return true if the first word of the command is a program that PATH does not have. A command with
 * characters that the shell interprets is left to the shell.
 */
static bool is_missing(const char *command)
{
	const char *path = getenv("PATH");
	size_t n = strcspn(command, " \t"), len;

	if (!path || !n || strpbrk(command, "|&;<>()$`\\\"'\n*?[#~=%") || memchr(command, '/', n))
		return false;
	for (const char *at = path;; at += len + 1) {
		KL_AUTO(kl_freep) char *file = NULL;

		len = strcspn(at, ":");
		file = kl_asprintf("%.*s/%.*s", len ? (int)len : 1, len ? at : ".", (int)n,
				   command);
		if (access(file, X_OK) == 0)
			return false;
		if (!at[len])
			return true;
	}
}

static int start_pager(struct kl_term *term, struct kl_repo *repo, const struct kl_term_wish *wish)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("klineage.pager.%s", wish->verb);
	KL_AUTO(kl_freep) char *command = NULL;
	bool wanted;
	int fd[2], err;

	if (!isatty(STDOUT_FILENO) || env_true("GIT_PAGER_IN_USE"))
		return 0;
	if ((err = kl_repo_config_bool(&wanted, repo, key, true)) < 0 || !wanted)
		return err;
	if ((err = kl_repo_pager(&command, repo)) < 0 || !command)
		return err;
	if (is_missing(command)) { /* as git does: print without a pager */
		fprintf(stderr, "git-klineage: cannot run the pager '%s': it is not in PATH\n",
			command);
		return 0;
	}
	term->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (term->saved < 0 || pipe2(fd, O_CLOEXEC) < 0)
		return kl_error_errno("cannot start the pager");
	term->pager = fork();
	if (term->pager < 0)
		return kl_error_errno("cannot start the pager");
	if (!term->pager)
		run_pager(command, fd[0], wish->scrolls);
	close(fd[0]);
	dup2(fd[1], STDOUT_FILENO);
	close(fd[1]);
	signal(SIGPIPE, SIG_IGN); /* the user may leave the pager early */
	setenv("GIT_PAGER_IN_USE", "true", 1);
	return 0;
}

int kl_term_open(struct kl_term *term, struct kl_repo *repo, const struct kl_term_wish *wish)
{
	bool watched = isatty(STDOUT_FILENO) || env_true("GIT_PAGER_IN_USE"), color;
	int err;

	*term = (struct kl_term){ .width = terminal_width() };
	stdout_room = watched && !wish->wide ? term->width : 0;
	if (!repo)
		return 0;
	if (wish->pages && (err = start_pager(term, repo, wish)) < 0)
		return err;
	if ((err = want_color(&color, repo, wish->when)) < 0 || !color)
		return err;
	return load_codes(term, repo);
}

void kl_term_close(struct kl_term *term)
{
	if (term->pager <= 0)
		return;
	fflush(stdout);
	clearerr(stdout); /* ignore the write error if the user quit the pager early */
	dup2(term->saved, STDOUT_FILENO);
	close(term->saved);
	while (waitpid(term->pager, NULL, 0) < 0 && errno == EINTR)
		;
	term->pager = 0;
}
