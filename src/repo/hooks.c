/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fs.h"
#include "repo/internal.h"
#include "text/digest.h"

#define TEMPLATE "hooks/klineage-hook"
#define MARK "# written by git klineage hooks install: "
#define MAX_HOOK ((size_t)1 << 20)

static const char *const event_names[KL_HOOKS_EVENTS] = {
	"pre-commit", "pre-merge-commit", "post-commit", "post-merge", "pre-push",
};

void kl_hooks_release(struct kl_hooks *hooks)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		free(hooks->hook[i].path);
	free(hooks->dir);
	free(hooks->ours);
	*hooks = (struct kl_hooks){ 0 };
}

/* --- our hook file ------------------------------------------------------------- */

static char *chained_path(const char *path)
{
	return kl_asprintf("%s.klineage-chained", path);
}

/* Append the text quoted for sh: it's becomes 'it'\''s' */
static void add_quoted(struct kl_buf *out, const char *text)
{
	kl_buf_addch(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			kl_buf_adds(out, "'\\''");
		else
			kl_buf_addch(out, *text);
	kl_buf_addch(out, '\'');
}

/*
 * Make the content of our hook file: the template with the path of the program, and a last line
 * with the digest of all lines before it.
 */
static int make_file(struct kl_buf *out)
{
	static const char installed[] = "\ninstalled=\n";
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_freep) char *program = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_DIGEST_HEX], real_program[PATH_MAX];
	const char *rest;
	int err = kl_fs_share(&path, TEMPLATE);

	if (!err)
		err = kl_fs_read(&text, path, MAX_HOOK);
	if (!err)
		err = kl_fs_program(&program, "git-klineage");
	if (err < 0)
		return err;
	if (!realpath(program, real_program))
		return kl_error_errno("cannot find the program '%s'", program);
	rest = strstr(text.ptr, installed);
	if (!rest)
		return kl_error(KL_EIO, "'%s' has no 'installed=' line", path);
	rest += strlen(installed) - 1;
	kl_buf_add(out, text.ptr, (size_t)(rest - text.ptr));
	add_quoted(out, real_program);
	kl_buf_adds(out, rest);
	kl_digest_hex(hex, out->ptr, out->len);
	kl_buf_addf(out, "%s%s\n", MARK, hex);
	return 0;
}

/*
 * Tell whose hook this is. The digest in the last line shows whether it is ours, and whether it was
 * edited. Without a digest it is foreign, or KL_HOOK_CALLED if it contains our command.
 */
static enum kl_hook_state hook_owner(const char *text, size_t len, const char *event)
{
	KL_AUTO(kl_freep) char *command = kl_asprintf("klineage hooks run %s", event);
	const char *mark = NULL;
	char hex[KL_DIGEST_HEX];

	for (const char *at = text; (at = strstr(at, MARK)); at++)
		mark = at;
	if (!mark)
		return strstr(text, command) ? KL_HOOK_CALLED : KL_HOOK_FOREIGN;
	kl_digest_hex(hex, text, (size_t)(mark - text));
	mark += strlen(MARK);
	if (strlen(mark) == KL_DIGEST_HEX && !strncmp(mark, hex, KL_DIGEST_HEX - 1) &&
	    text + len == mark + KL_DIGEST_HEX)
		return KL_HOOK_OURS;
	return KL_HOOK_EDITED;
}

static bool is_there(const char *path)
{
	struct stat st;

	/* a dangling symlink counts, because it belongs to the user */
	return lstat(path, &st) == 0;
}

static enum kl_hook_state state_of(const char *path, const char *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *before = chained_path(path);
	enum kl_hook_state state = KL_HOOK_FOREIGN;

	if (!is_there(path))
		return KL_HOOK_ABSENT;
	if (kl_fs_read(&text, path, MAX_HOOK) == 0)
		state = hook_owner(text.ptr, text.len, event);
	kl_error_clear();
	return state == KL_HOOK_OURS && is_there(before) ? KL_HOOK_CHAINED : state;
}

/* --- reading the state of hooks of the user and of other tools ------------------- */

/*
 * Set *out to true if the installed git runs hooks from its configuration, as git 2.54 and later
 * do.
 */
static int git_has_config_hooks(bool *out, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = { .args = KL_ARGS("version"), .out = &text };
	int major = 0, minor = 0, err = kl_git_do(repo, &call);

	if (err < 0)
		return err;
	*out = sscanf(text.ptr, "git version %d.%d", &major, &minor) == 2 &&
	       (major > 2 || (major == 2 && minor >= 54));
	return 0;
}

/*
 * Return the real path of `path` or, if it does not exist, of its nearest existing parent. The
 * caller frees it.
 */
static char *real_path(const char *path)
{
	KL_AUTO(kl_freep) char *part = kl_strdup(path);

	for (;;) {
		char *real = realpath(part, NULL), *slash = strrchr(part, '/');

		if (real || !slash || slash == part)
			return real ? real : kl_strdup(path);
		*slash = '\0';
	}
}

static bool is_below(const char *path, const char *dir)
{
	KL_AUTO(kl_freep) char *real_file = real_path(path);
	KL_AUTO(kl_freep) char *real_dir = real_path(dir);
	size_t n = strlen(real_dir);

	return !strncmp(real_file, real_dir, n) && (!real_file[n] || real_file[n] == '/');
}

/*
 * Read core.hooksPath as git does: "~" is expanded, and a relative path starts at the top of the
 * worktree. `*out` is NULL if core.hooksPath is not set.
 */
static int hooks_path(char **out, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("config", "--type=path", "--get", "core.hooksPath"),
		.here = true,
		.out = &text,
	};
	int err;

	*out = NULL;
	if (!kl_repo_config(repo, "core.hooksPath"))
		return 0;
	if ((err = kl_git_do(repo, &call)) < 0)
		return err;
	kl_buf_rtrim(&text);
	*out = text.ptr[0] == '/' ? kl_strdup(text.ptr) : kl_fs_join(repo->worktree, text.ptr);
	return 0;
}

/*
 * Return the path of the first of `names` that exists at the top of the worktree, or NULL. The
 * caller frees it.
 */
static char *top_file(const struct kl_repo *repo, const char *const *names)
{
	for (; *names; names++) {
		char *path = kl_fs_join(repo->worktree, *names);

		if (kl_fs_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

static const char *const lefthook_files[] = { "lefthook.yml",   "lefthook.yaml",  ".lefthook.yml",
					      ".lefthook.yaml", "lefthook.toml",  ".lefthook.toml",
					      "lefthook.json",  ".lefthook.json", NULL };
static const char *const framework_files[] = { ".pre-commit-config.yaml", ".pre-commit-config.yml",
					       NULL };

/*
 * Return true if the configuration file of a tool calls git-klineage for this event. A file of the
 * pre-commit framework refers to us by hook ids, some of which serve two events.
 */
static bool calls_us(const char *text, const char *owner, const char *event)
{
	KL_AUTO(kl_freep) char *command = kl_asprintf("klineage hooks run %s", event);
	const char *id = !strcmp(event, "pre-push")  ? "id: klineage-push" :
			 !strncmp(event, "post-", 5) ? "id: klineage-note" :
						       "id: klineage-gate";

	return strstr(text, command) || (!strcmp(owner, "pre-commit") && strstr(text, id));
}

static void set_hook(struct kl_hook *hook, char *path, enum kl_hook_state state)
{
	free(hook->path);
	hook->path = path;
	hook->state = state;
}

/*
 * Read the state of all hooks from the configuration file of a tool: KL_HOOK_CALLED for each event
 * for which the tool calls git-klineage, otherwise KL_HOOK_ABSENT.
 */
static int by_tool(struct kl_hooks *hooks, const char *owner, const char *file)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, file, MAX_HOOK);

	if (err < 0)
		return err;
	hooks->way = KL_HOOKS_BY_HAND;
	hooks->owner = owner;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		bool called = calls_us(text.ptr, owner, event_names[i]);

		set_hook(&hooks->hook[i], kl_strdup(file),
			 called ? KL_HOOK_CALLED : KL_HOOK_ABSENT);
	}
	return 0;
}

/*
 * Return the directory where the user writes hooks. For husky this is `.husky` and not `.husky/_`,
 * whose hooks only call those in `.husky`. The caller frees it.
 */
static char *written_dir(const char *dir)
{
	size_t n = strlen(dir);

	return kl_strndup(dir, n > 2 && !strcmp(dir + n - 2, "/_") ? n - 2 : n);
}

/* Read the state of the hooks in the user's own hooks directory, which core.hooksPath names. */
static void by_directory(struct kl_hooks *hooks, const struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = written_dir(hooks->dir);
	const char *husky = strstr(hooks->dir, "/.husky");

	hooks->way = KL_HOOKS_BY_HAND;
	hooks->owner = husky && (!husky[7] || husky[7] == '/') ? "husky" : "core.hooksPath";
	hooks->outside = !is_below(hooks->dir, repo->worktree);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(dir, event_names[i]);

		set_hook(&hooks->hook[i], path, state_of(path, event_names[i]));
	}
}

/* Read the state of the hook files in `hooks->ours`. Returns true if any of them is ours. */
static bool by_files(struct kl_hooks *hooks)
{
	bool ours = false;

	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(hooks->ours, event_names[i]);

		set_hook(&hooks->hook[i], path, state_of(path, event_names[i]));
		ours |= hooks->hook[i].state == KL_HOOK_OURS ||
			hooks->hook[i].state == KL_HOOK_CHAINED;
	}
	return ours;
}

static char *config_key(const char *event, const char *leaf)
{
	return kl_asprintf("hook.klineage-%s.%s", event, leaf);
}

/*
 * For an event without a config entry, find another caller of git-klineage: a hook file, of an
 * older install or written by the user, or the configuration file of a tool.
 */
static int called_otherwise(struct kl_hook *hook, const struct kl_hooks *hooks,
			    struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = written_dir(hooks->dir);
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, hook->event);
	KL_AUTO(kl_freep) char *lefthook = top_file(repo, lefthook_files);
	KL_AUTO(kl_freep) char *framework = top_file(repo, framework_files);
	enum kl_hook_state state = state_of(path, hook->event);

	if (state == KL_HOOK_OURS || state == KL_HOOK_CHAINED || state == KL_HOOK_CALLED) {
		set_hook(hook, kl_steal(&path), state);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		const char *file = i ? framework : lefthook;
		int err = file ? kl_fs_read(&text, file, MAX_HOOK) : 0;

		if (err < 0)
			return err;
		if (file && calls_us(text.ptr, i ? "pre-commit" : "lefthook", hook->event))
			set_hook(hook, kl_strdup(file), KL_HOOK_CALLED);
	}
	return 0;
}

static int by_config(struct kl_hooks *hooks, struct kl_repo *repo)
{
	int err = 0;

	hooks->way = KL_HOOKS_CONFIG;
	free(hooks->ours);
	hooks->ours = kl_fs_join(repo->common_dir, "klineage/hooks");
	by_files(hooks);
	for (size_t i = 0; i < KL_HOOKS_EVENTS && !err; i++) {
		KL_AUTO(kl_freep) char *key = config_key(event_names[i], "command");

		if (!kl_repo_config(repo, key) && hooks->hook[i].state == KL_HOOK_OURS)
			hooks->hook[i].state = KL_HOOK_ABSENT;
		if (hooks->hook[i].state == KL_HOOK_ABSENT)
			err = called_otherwise(&hooks->hook[i], hooks, repo);
	}
	return err;
}

int kl_hooks_look(struct kl_hooks *out, struct kl_repo *repo, bool files)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks hooks = { 0 };
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_freep) char *tool = NULL;
	bool config;
	int err;

	if (!repo->worktree)
		return kl_error_hint(kl_error(KL_EINVALID,
					      "hooks need a worktree: this is a bare repository "
					      "or a git directory"),
				     "install them in a clone in which commits are made");
	if ((err = git_has_config_hooks(&config, repo)) < 0 || (err = hooks_path(&path, repo)) < 0)
		return err;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		hooks.hook[i].event = event_names[i];
	hooks.dir = path ? kl_steal(&path) : kl_fs_join(repo->common_dir, "hooks");
	hooks.ours = kl_strdup(hooks.dir);
	if (config)
		err = by_config(&hooks, repo);
	else if (!is_below(hooks.dir, repo->common_dir))
		by_directory(&hooks, repo);
	else if (by_files(&hooks) || files)
		;
	else if ((tool = top_file(repo, lefthook_files)))
		err = by_tool(&hooks, "lefthook", tool);
	else if ((tool = top_file(repo, framework_files)))
		err = by_tool(&hooks, "pre-commit", tool);
	if (err < 0)
		return err;
	*out = hooks;
	hooks = (struct kl_hooks){ 0 };
	return 0;
}

/* --- installing --------------------------------------------------------------------- */

static int same_bytes(bool *out, const char *left, const char *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf left_text = KL_BUF_INIT, right_text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_read(&left_text, left, MAX_HOOK)) < 0 ||
	    (err = kl_fs_read(&right_text, right, MAX_HOOK)) < 0)
		return err;
	*out = left_text.len == right_text.len &&
	       !memcmp(left_text.ptr, right_text.ptr, left_text.len);
	return 0;
}

/*
 * Check that the hook can be installed without losing an existing one. Called for all hooks before
 * anything is written.
 */
static int may_install(const struct kl_hook *hook, bool chain)
{
	KL_AUTO(kl_freep) char *before = chained_path(hook->path);
	bool same = false;
	int err;

	if (hook->state == KL_HOOK_EDITED) {
		err = kl_error(KL_EEXISTS, "'%s' was modified after it was installed", hook->path);
		return kl_error_hint(
			err, "move your changes to a hook of your own, then remove this file");
	}
	if (hook->state != KL_HOOK_FOREIGN)
		return 0;
	if (!chain) {
		err = kl_error(KL_EEXISTS, "hook '%s' already exists", hook->path);
		kl_error_hint(
			err,
			"use --chain to keep that hook and call it first, or add this line to it: "
			"git klineage hooks run %s -- \"$@\"",
			hook->event);
		return err;
	}
	if (!is_there(before))
		return 0;
	if ((err = same_bytes(&same, hook->path, before)) < 0 || same)
		return err;
	err = kl_error(KL_EEXISTS, "cannot chain '%s': '%s' already exists", hook->path, before);
	return kl_error_hint(err, "name the hook that you want to keep '%s' and remove the other",
			     hook->path);
}

/*
 * Keep the foreign hook under a second name, as a hard link or, if that is not possible, as a copy.
 * Our hook then replaces it under the first name.
 */
static int keep_foreign(const char *path)
{
	KL_AUTO(kl_freep) char *before = chained_path(path);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct stat st;
	int err;

	if (link(path, before) == 0 || errno == EEXIST)
		return 0;
	if (stat(path, &st) < 0)
		return kl_error_errno("cannot keep '%s'", path);
	err = kl_fs_read(&text, path, MAX_HOOK);
	return err < 0 ? err : kl_fs_write_mode(before, text.ptr, text.len, st.st_mode & 0777);
}

static int write_hook(struct kl_hook *hook, const struct kl_buf *file)
{
	bool foreign = hook->state == KL_HOOK_FOREIGN;
	int err;

	if (hook->state == KL_HOOK_CALLED)
		return 0;
	if ((err = KL_FAULT("hook-keep")) < 0 ||
	    (foreign && (err = keep_foreign(hook->path)) < 0) ||
	    (err = KL_FAULT("hook-kept")) < 0 ||
	    (err = kl_fs_write_mode(hook->path, file->ptr, file->len, 0777)) < 0 ||
	    (err = KL_FAULT("hook-written")) < 0)
		return err;
	if (hook->state != KL_HOOK_CHAINED)
		hook->state = foreign ? KL_HOOK_CHAINED : KL_HOOK_OURS;
	return 0;
}

static int set_config(struct kl_repo *repo, const char *event)
{
	KL_AUTO(kl_freep) char *command = config_key(event, "command");
	KL_AUTO(kl_freep) char *on = config_key(event, "event");
	/* the command finds the directory at each run, so that the repository can be moved */
	KL_AUTO(kl_freep) char *line = kl_asprintf(
		"\"$(git rev-parse --git-common-dir)\"/klineage/hooks/%s", event);
	struct kl_git_call call = { .args = KL_ARGS("config", "--local", "--replace-all", command,
						    line) };
	int err = kl_git_do(repo, &call);

	call.args = KL_ARGS("config", "--local", "--replace-all", on, event);
	return err < 0 ? err : kl_git_do(repo, &call);
}

static int clear_dir(const char *dir, bool remove);
static int unset_config(struct kl_repo *repo, const char *event);

/*
 * Remove what an install with another version of git left: our hook files, if we now use config
 * entries, or our config entries, if we now use files. If `remove` is false, only check that none
 * of the files was edited.
 */
static int drop_other_way(const struct kl_hooks *hooks, struct kl_repo *repo, bool remove)
{
	KL_AUTO(kl_freep) char *git_hooks = kl_fs_join(repo->common_dir, "hooks");
	KL_AUTO(kl_freep) char *own_hooks = kl_fs_join(repo->common_dir, "klineage/hooks");
	int err = 0;

	if (hooks->way == KL_HOOKS_CONFIG) {
		err = clear_dir(git_hooks, remove);
		return err < 0 || !is_below(hooks->dir, repo->common_dir) ?
			       err :
			       clear_dir(hooks->dir, remove);
	}
	for (size_t i = 0; remove && i < KL_HOOKS_EVENTS && !err; i++)
		err = unset_config(repo, event_names[i]);
	if (!err)
		err = clear_dir(own_hooks, remove);
	if (!err && remove)
		rmdir(own_hooks);
	return err;
}

/*
 * If we use config entries, install the files in our own directory, even if an older install is
 * elsewhere. An event whose hook already calls us is left alone.
 */
static void to_entries(struct kl_hooks *hooks)
{
	for (size_t i = 0; hooks->way == KL_HOOKS_CONFIG && i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(hooks->ours, event_names[i]);

		if (hooks->hook[i].state == KL_HOOK_CALLED)
			free(path);
		else
			set_hook(&hooks->hook[i], path, state_of(path, event_names[i]));
	}
}

int kl_hooks_install(struct kl_hooks *hooks, struct kl_repo *repo, bool chain)
{
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	int err = 0;

	if (hooks->way == KL_HOOKS_BY_HAND)
		KL_BUG("hooks managed by another tool cannot be installed");
	to_entries(hooks);
	for (size_t i = 0; i < KL_HOOKS_EVENTS && !err; i++)
		err = may_install(&hooks->hook[i], chain);
	if (err < 0 || (err = drop_other_way(hooks, repo, false)) < 0 ||
	    (err = make_file(&file)) < 0 || (err = kl_fs_mkdir(hooks->ours)) < 0)
		return err;
	for (size_t i = 0; i < KL_HOOKS_EVENTS && !err; i++) {
		err = write_hook(&hooks->hook[i], &file);
		if (!err && hooks->way == KL_HOOKS_CONFIG && hooks->hook[i].state != KL_HOOK_CALLED)
			err = set_config(repo, hooks->hook[i].event);
	}
	return err < 0 ? err : drop_other_way(hooks, repo, true);
}

/* --- uninstalling ---------------------------------------------------------------------- */

/*
 * Remove our hook. If it chained a foreign hook, a single rename(2) puts the foreign hook back in
 * its place.
 */
static int take_away(const char *path, enum kl_hook_state state)
{
	KL_AUTO(kl_freep) char *before = chained_path(path);
	int err = KL_FAULT("hook-away");

	if (err < 0)
		return err;
	if (state == KL_HOOK_CHAINED && rename(before, path) < 0)
		return kl_error_errno("cannot rename '%s' to '%s'", before, path);
	if (state != KL_HOOK_CHAINED && unlink(path) < 0)
		return kl_error_errno("cannot remove '%s'", path);
	return KL_FAULT("hook-gone");
}

static int unset_config(struct kl_repo *repo, const char *event)
{
	KL_AUTO(kl_freep) char *section = kl_asprintf("hook.klineage-%s", event);
	KL_AUTO(kl_freep) char *key = config_key(event, "command");
	struct kl_git_call call = { .args = KL_ARGS("config", "--local", "--remove-section",
						    section) };

	return kl_repo_config(repo, key) ? kl_git_do(repo, &call) : 0;
}

/*
 * Remove what a crash during an install left: a second name or a copy of a foreign hook that is
 * still in its place.
 */
static int drop_second(const char *path)
{
	KL_AUTO(kl_freep) char *before = chained_path(path);
	bool same;
	int err;

	if (!is_there(before))
		return 0;
	err = same_bytes(&same, path, before);
	if (!err && same && unlink(before) < 0)
		return kl_error_errno("cannot remove '%s'", before);
	return err;
}

/*
 * Remove our hook files from a directory. If `remove` is false, only check that none of them was
 * edited.
 */
static int clear_dir(const char *dir, bool remove)
{
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, event_names[i]);
		enum kl_hook_state state = state_of(path, event_names[i]);
		int err;

		if (state == KL_HOOK_EDITED)
			return kl_error(KL_EEXISTS,
					"'%s' was modified after it was installed: remove it "
					"manually",
					path);
		if (remove && (state == KL_HOOK_OURS || state == KL_HOOK_CHAINED) &&
		    (err = take_away(path, state)) < 0)
			return err;
		if (remove && state == KL_HOOK_FOREIGN && (err = drop_second(path)) < 0)
			return err;
	}
	return 0;
}

/*
 * Clear every directory that we may have written to, even with another version of git or another
 * core.hooksPath.
 */
int kl_hooks_uninstall(struct kl_hooks *hooks, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *git_hooks = kl_fs_join(repo->common_dir, "hooks");
	KL_AUTO(kl_freep) char *own_hooks = kl_fs_join(repo->common_dir, "klineage/hooks");
	const char *dirs[] = { own_hooks, git_hooks,
			       is_below(hooks->dir, repo->common_dir) ? hooks->dir : git_hooks };
	int err = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(dirs) && !err; i++)
		err = clear_dir(dirs[i], false);
	for (size_t i = 0; i < KL_HOOKS_EVENTS && !err; i++)
		err = unset_config(repo, event_names[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(dirs) && !err; i++)
		err = clear_dir(dirs[i], true);
	if (!err)
		rmdir(own_hooks); /* it is no error if the directory is absent or not empty */
	return err;
}
