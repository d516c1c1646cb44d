/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_hooks - git klineage hooks: installs, removes and runs the hooks that call the gate */
#include <string.h>

#include "base/fs.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/hook_run.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "repo/hooks.h"
#include "text/json.h"

static const char synopsis[] = "hooks install [--chain] [--json | --porcelain | -z]\n"
			       "hooks uninstall [--json | --porcelain | -z]\n"
			       "hooks status [--json | --porcelain | -z]\n"
			       "hooks run <event> [<argument>...]";

/* --- what there is ---------------------------------------------------------- */

static const struct {
	const char *word, *text;
	bool works;
} states[] = {
	[KL_HOOK_ABSENT] = { "absent", "not there", false },
	[KL_HOOK_OURS] = { "ours", "ours", true },
	[KL_HOOK_CHAINED] = { "chained", "ours, after the one that was there before", true },
	[KL_HOOK_CALLED] = { "called", "somebody else's, which calls us", true },
	[KL_HOOK_EDITED] = { "edited", "was ours, and somebody has changed it", false },
	[KL_HOOK_FOREIGN] = { "foreign", "somebody else's", false },
};

static bool is_complete(const struct kl_hooks *h)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (!states[h->hook[i].state].works)
			return false;
	return true;
}

static void print_listing(const struct kl_listing *out, const struct kl_hooks *h)
{
	static const char *const ways[] = {
		[KL_HOOKS_FILES] = "files",
		[KL_HOOKS_CONFIG] = "config",
		[KL_HOOKS_BY_HAND] = "by-hand",
	};
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *list = json_array();

	kl_json_set_str(j, "schema", "klineage.hooks/1");
	kl_json_set_str(j, "way", ways[h->way]);
	kl_json_set_str(j, "owner", h->owner);
	kl_json_set_bool(j, "complete", is_complete(h));
	kl_json_set(j, "hooks", list);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		json_t *o = json_object();

		kl_json_set_str(o, "event", h->hook[i].event);
		kl_json_set_str(o, "state", states[h->hook[i].state].word);
		kl_json_set_str(o, "path", h->hook[i].path);
		json_array_append_new(list, o);
	}
	kl_listing_print(out, j, "hooks", (const char *const[]){ "event", "state", "path", NULL });
}

/* By the top of the worktree, where a person stands or knows the way to. */
static const char *shown_path(struct kl_repo *r, const char *path)
{
	const char *top = kl_repo_worktree(r);
	size_t n = top ? strlen(top) : 0;

	return n && !strncmp(path, top, n) && path[n] == '/' ? path + n + 1 : path;
}

static int print_status(struct kl_repo *r, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks h = { 0 };
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = 3 };
	int err = kl_hooks_look(&h, r, false);

	if (err < 0)
		return err;
	if (kl_listing_asked(out)) {
		print_listing(out, &h);
		return !is_complete(&h);
	}
	if (h.way == KL_HOOKS_BY_HAND)
		printf("%s decides which hooks run here\n", h.owner);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		kl_table_row(&t,
			     (const char *const[]){ h.hook[i].event, states[h.hook[i].state].text,
						    shown_path(r, h.hook[i].path) });
	kl_table_print(&t);
	return !is_complete(&h);
}

/* --- install, uninstall ------------------------------------------------------- */

static void say_lines(struct kl_repo *r, const struct kl_hooks *h)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (!states[h->hook[i].state].works)
			printf("    %s:\n        git klineage hooks run %s -- \"$@\"\n",
			       shown_path(r, h->hook[i].path), h->hook[i].event);
}

/* Somebody else's hooks: what to add, and where. */
static int by_hand(struct kl_repo *r, const struct kl_hooks *h)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("templates/hooks/%s.yaml", h->owner);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (is_complete(h)) {
		printf("%s calls git klineage already\n", h->owner);
		return 0;
	}
	if (h->outside)
		printf("core.hooksPath is '%s': hooks for other repositories, too. Nothing was written; "
		       "add a line to each:\n",
		       h->dir);
	else
		printf("%s decides which hooks run here. Nothing was written; add%s:\n", h->owner,
		       strcmp(h->owner, "husky") && strcmp(h->owner, "core.hooksPath") ?
			       "" :
			       " a line to each");
	if (!strcmp(h->owner, "husky") || !strcmp(h->owner, "core.hooksPath")) {
		say_lines(r, h);
		return 1;
	}
	printf("    %s:\n\n", shown_path(r, h->hook[0].path));
	if ((err = kl_fs_share(&path, name)) < 0 || (err = kl_fs_read(&text, path, 1 << 16)) < 0)
		return err;
	fputs(text.ptr, stdout);
	return 1;
}

/* A program is told what is there then. */
static int install_hooks(struct kl_repo *r, bool chain, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks h = { 0 };
	int err = kl_hooks_look(&h, r, chain);

	if (err < 0)
		return err;
	if (h.way == KL_HOOKS_BY_HAND && !kl_listing_asked(out))
		return by_hand(r, &h);
	if (h.way != KL_HOOKS_BY_HAND && (err = kl_hooks_install(&h, r, chain)) < 0)
		return err;
	if (kl_listing_asked(out))
		return print_status(r, out);
	printf("hooks are in %s%s\n", shown_path(r, h.ours),
	       h.way == KL_HOOKS_CONFIG ? ", named in the config" : "");
	return 0;
}

static int uninstall_hooks(struct kl_repo *r, const struct kl_listing *out)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks h = { 0 };
	int err = kl_hooks_look(&h, r, false);

	if (!err)
		err = kl_hooks_uninstall(&h, r);
	if (!err && kl_listing_asked(out)) {
		err = print_status(r, out);
		return err < 0 ? err : 0;
	}
	if (err < 0 || h.way != KL_HOOKS_BY_HAND)
		return err;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		if (h.hook[i].state == KL_HOOK_CALLED)
			printf("take away by hand: %s (%s)\n", shown_path(r, h.hook[i].path),
			       h.hook[i].event);
	return 0;
}

/* --- run ------------------------------------------------------------------ */

/* Asked of git where the repository itself cannot be read. */
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

/* What keeps us from judging is said; whether it stops git, the user has decided. */
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

static int run_hook(int argc, char **argv)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *r = NULL;
	struct kl_term t;
	int err;

	if (!argc || !kl_hook_known(argv[0]))
		return kl_opt_usage(synopsis, "'%s' is no event that git klineage has a part in",
				    argc ? argv[0] : "");
	err = kl_repo_open(&r);
	if (!err)
		err = kl_term_open(&t, r, NULL, "hooks", false);
	if (!err)
		err = kl_hook_run(r, &t, argv[0], argc - 1, argv + 1);
	return err < 0 ? say_untested(err) : err;
}

/* --- the verb -------------------------------------------------------------- */

static int configure_hooks(const char *what, bool chain, const struct kl_listing *out)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *r = NULL;
	int err = kl_repo_open(&r);

	if (err < 0)
		return err;
	return !strcmp(what, "install")   ? install_hooks(r, chain, out) :
	       !strcmp(what, "uninstall") ? uninstall_hooks(r, out) :
					    print_status(r, out);
}

int cmd_hooks(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_listing out = { 0 };
	bool chain = false;
	const struct kl_opt opts[] = { KL_OPT_BOOL(
					       '\0', "chain", &chain,
					       "install: keep an existing hook and call it first"),
				       KL_OPT_LISTING(&out), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);
	const char *what = argc ? argv[0] : "";

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (!strcmp(what, "run"))
		return run_hook(argc - 1, argv + 1);
	if (strcmp(what, "install") && strcmp(what, "uninstall") && strcmp(what, "status"))
		return kl_opt_usage(synopsis,
				    argc ? "'%s' is nothing that hooks can do" : "say what to do%s",
				    what);
	if (argc > 1)
		return kl_opt_usage(synopsis, "'%s' takes no '%s'", what, argv[1]);
	return configure_hooks(what, chain, &out);
}
