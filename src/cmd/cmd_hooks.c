/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_hooks - git klineage hooks: installs, removes and runs the hooks that call the gate */
#include <string.h>

#include "base/fs.h"
#include "base/proc.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/hook_run.h"
#include "cmd/sign_offer.h"
#include "repo/hooks.h"
#include "text/json.h"

static const char synopsis[] = "hooks install [--chain] [--sign | --json | --porcelain | -z]\n"
			       "hooks uninstall [--json | --porcelain | -z]\n"
			       "hooks status [--json | --porcelain | -z]\n"
			       "hooks run <event> [<argument>...]";

/* --- status ---------------------------------------------------------------- */

static const struct {
	const char *word, *text;
	bool works;
} states[] = {
	[KL_HOOK_ABSENT] = { "absent", "not installed", false },
	[KL_HOOK_OURS] = { "ours", "installed", true },
	[KL_HOOK_CHAINED] = { "chained", "installed, runs after the existing hook", true },
	[KL_HOOK_CALLED] = { "called", "another hook, which calls git klineage", true },
	[KL_HOOK_EDITED] = { "edited", "installed, but changed since", false },
	[KL_HOOK_FOREIGN] = { "foreign", "another hook", false },
};

static bool is_complete(const struct kl_hooks *hooks)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (!states[hooks->hook[i].state].works)
			return false;
	return true;
}

static void print_listing(const struct kl_listing *out, const struct kl_hooks *hooks)
{
	static const char *const ways[] = {
		[KL_HOOKS_FILES] = "files",
		[KL_HOOKS_CONFIG] = "config",
		[KL_HOOKS_BY_HAND] = "by-hand",
	};
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();

	kl_json_set_str(value, "schema", "klineage.hooks/1");
	kl_json_set_str(value, "way", ways[hooks->way]);
	kl_json_set_str(value, "owner", hooks->owner);
	kl_json_set_bool(value, "complete", is_complete(hooks));
	kl_json_set(value, "hooks", list);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		json_t *object = json_object();

		kl_json_set_str(object, "event", hooks->hook[i].event);
		kl_json_set_str(object, "state", states[hooks->hook[i].state].word);
		kl_json_set_str(object, "path", hooks->hook[i].path);
		json_array_append_new(list, object);
	}
	kl_listing_print(out, value, "hooks",
			 (const char *const[]){ "event", "state", "path", NULL });
}

/* Return the path; if it is inside the worktree, make it relative to the top of the worktree. */
static const char *shown_path(struct kl_repo *repo, const char *path)
{
	const char *top = kl_repo_worktree(repo);
	size_t n = top ? strlen(top) : 0;

	return n && !strncmp(path, top, n) && path[n] == '/' ? path + n + 1 : path;
}

static int print_status(struct kl_repo *repo, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks hooks = { 0 };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 3 };
	int err = kl_hooks_look(&hooks, repo, false);

	if (err < 0)
		return err;
	if (kl_listing_asked(out)) {
		print_listing(out, &hooks);
		return !is_complete(&hooks);
	}
	if (hooks.way == KL_HOOKS_BY_HAND)
		printf("%s manages the hooks of this repository\n", hooks.owner);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		kl_table_row(&table, (const char *const[]){ hooks.hook[i].event,
							    states[hooks.hook[i].state].text,
							    shown_path(repo, hooks.hook[i].path) });
	kl_table_print(&table);
	return !is_complete(&hooks);
}

/* --- install, uninstall ------------------------------------------------------- */

static void say_lines(struct kl_repo *repo, const struct kl_hooks *hooks)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (!states[hooks->hook[i].state].works)
			printf("    %s:\n        git klineage hooks run %s -- \"$@\"\n",
			       shown_path(repo, hooks->hook[i].path), hooks->hook[i].event);
}

/*
 * For hooks that another program manages, or that are in a shared core.hooksPath: print the lines
 * that the user must add, and to which file. Return 0 if the lines are already there, otherwise 1.
 */
static int by_hand(struct kl_repo *repo, const struct kl_hooks *hooks)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("templates/hooks/%s.yaml", hooks->owner);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf snippet = KL_BUF_INIT;
	int err;

	if (is_complete(hooks)) {
		printf("%s already calls git klineage\n", hooks->owner);
		return 0;
	}
	if (hooks->outside)
		printf("nothing was written: core.hooksPath is '%s', which other repositories "
		       "share; add a line to each hook:\n",
		       hooks->dir);
	else
		printf("nothing was written: %s manages the hooks of this repository; add%s:\n",
		       hooks->owner,
		       strcmp(hooks->owner, "husky") && strcmp(hooks->owner, "core.hooksPath") ?
			       "" :
			       " a line to each hook");
	if (!strcmp(hooks->owner, "husky") || !strcmp(hooks->owner, "core.hooksPath")) {
		say_lines(repo, hooks);
		return 1;
	}
	printf("    %s:\n\n", shown_path(repo, hooks->hook[0].path));
	if ((err = kl_fs_share(&path, name)) < 0 || (err = kl_fs_read(&snippet, path, 1 << 16)) < 0)
		return err;
	fputs(snippet.ptr, stdout);
	return 1;
}

/*
 * Install the hooks and print where they are. In output for programs, print the new status instead.
 */
static int install_hooks(struct kl_repo *repo, bool chain, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks hooks = { 0 };
	int err = kl_hooks_look(&hooks, repo, chain);

	if (err < 0)
		return err;
	if (hooks.way == KL_HOOKS_BY_HAND && !kl_listing_asked(out))
		return by_hand(repo, &hooks);
	if (hooks.way != KL_HOOKS_BY_HAND && (err = kl_hooks_install(&hooks, repo, chain)) < 0)
		return err;
	if (kl_listing_asked(out))
		return print_status(repo, out);
	printf("installed hooks in %s%s\n", shown_path(repo, hooks.ours),
	       hooks.way == KL_HOOKS_CONFIG ? ", set in the config" : "");
	return 0;
}

static int uninstall_hooks(struct kl_repo *repo, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks hooks = { 0 };
	int err = kl_hooks_look(&hooks, repo, false);

	if (!err)
		err = kl_hooks_uninstall(&hooks, repo);
	if (!err && kl_listing_asked(out)) {
		err = print_status(repo, out);
		return err < 0 ? err : 0;
	}
	if (err < 0 || hooks.way != KL_HOOKS_BY_HAND)
		return err;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (hooks.hook[i].state == KL_HOOK_CALLED)
			printf("remove manually: %s (%s)\n", shown_path(repo, hooks.hook[i].path),
			       hooks.hook[i].event);
	return 0;
}

/* --- run ------------------------------------------------------------------ */

/*
 * Return the value of klineage.hooks.block as `git config` prints it. Used when the repository
 * could not be opened. An invalid value counts as "untested".
 */
static enum kl_hook_block block_by_git(void)
{
	static const char *const argv[] = { "git", "config", "--get", "klineage.hooks.block",
					    NULL };
	KL_AUTO(kl_buf_release) struct kl_buf word = KL_BUF_INIT;
	enum kl_hook_block block = KL_HOOK_BLOCK_FAIL;

	if (kl_proc_output(&word, argv) == 0) {
		kl_buf_rtrim(&word);
		if (kl_hook_block_parse(&block, word.ptr) < 0)
			block = KL_HOOK_BLOCK_UNTESTED;
	}
	kl_error_clear();
	return block;
}

/*
 * Print why nothing was judged. Return 1, which stops git, if klineage.hooks.block is "untested";
 * otherwise return 0.
 */
static int say_untested(int err)
{
	const char *hint = kl_error_hints();

	if (err == KL_EINTR || err == KL_EUSAGE)
		return err;
	fprintf(stderr, "klineage: nothing was judged: %s\n", kl_error_last());
	for (size_t n; *hint; hint += n + (hint[n] == '\n')) {
		n = strcspn(hint, "\n");
		fprintf(stderr, "hint: %.*s\n", (int)n, hint);
	}
	return block_by_git() == KL_HOOK_BLOCK_UNTESTED;
}

static int run_hook(struct kl_out *out, int argc, char **argv)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	const struct kl_term_wish wish = { .verb = "hooks", .wide = !kl_term_room() };
	struct kl_term term;
	int err;

	if (!argc || !kl_hook_known(argv[0]))
		return kl_opt_usage(synopsis, "git klineage has no hook for '%s'",
				    argc ? argv[0] : "");
	err = kl_repo_open(&repo);
	if (!err)
		err = kl_term_open(&term, repo, &wish);
	if (!err) {
		kl_out_paint(out, &term);
		err = kl_hook_run(repo, &term, argv[0], argc - 1, argv + 1);
	}
	return err < 0 ? say_untested(err) : err;
}

/* --- the verb -------------------------------------------------------------- */

/*
 * Install the hooks. If `sign` is set, set up signing; otherwise offer to set it up, except in
 * output for programs.
 */
static int install_and_sign(struct kl_repo *repo, bool chain, bool sign,
			    const struct kl_listing *out)
{
	int done = install_hooks(repo, chain, out);
	int err = 0;

	if (done < 0)
		return done;
	if (sign)
		err = kl_sign_set_up(repo);
	else if (!kl_listing_asked(out))
		kl_sign_offer(repo);
	return err < 0 ? err : done;
}

static int configure_hooks(const char *what, bool chain, bool sign, const struct kl_listing *out)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int err = kl_repo_open(&repo);

	if (err < 0)
		return err;
	return !strcmp(what, "install")   ? install_and_sign(repo, chain, sign, out) :
	       !strcmp(what, "uninstall") ? uninstall_hooks(repo, out) :
					    print_status(repo, out);
}

int cmd_hooks(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_listing out = { 0 };
	bool chain = false, sign = false;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "chain", &chain,
			    "install: keep an existing hook and call it first"),
		KL_OPT_BOOL('\0', "sign", &sign, "install: sign verdicts, and list your key"),
		KL_OPT_LISTING(&out), KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);
	const char *what = argc ? argv[0] : "";

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (!strcmp(what, "run"))
		return run_hook(ctx->out, argc - 1, argv + 1);
	if (strcmp(what, "install") && strcmp(what, "uninstall") && strcmp(what, "status"))
		return kl_opt_usage(
			synopsis, argc ? "unknown subcommand '%s'" : "missing subcommand%s", what);
	if (argc > 1)
		return kl_opt_usage(synopsis, "'%s' does not take an argument '%s'", what, argv[1]);
	if (sign && (strcmp(what, "install") || kl_listing_asked(&out)))
		return kl_opt_usage(
			synopsis, "--sign needs 'install' and excludes --json, --porcelain and -z");
	return configure_hooks(what, chain, sign, &out);
}
