/* SPDX-License-Identifier: Apache-2.0 */
/* hooks_install - installs and removes our hooks, as files or as config entries */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fs.h"
#include "repo/hooks_parts.h"
#include "repo/internal.h"
#include "text/digest.h"

#define TEMPLATE "hooks/klineage-hook"

/* --- our hook file ------------------------------------------------------------- */

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
		err = kl_fs_read(&text, path, KL_HOOKS_MAX_FILE);
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
	kl_buf_addf(out, "%s%s\n", KL_HOOKS_MARK, hex);
	return 0;
}

/* --- installing --------------------------------------------------------------------- */

static int same_bytes(bool *out, const char *left, const char *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf left_text = KL_BUF_INIT, right_text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_read(&left_text, left, KL_HOOKS_MAX_FILE)) < 0 ||
	    (err = kl_fs_read(&right_text, right, KL_HOOKS_MAX_FILE)) < 0)
		return err;
	*out = left_text.len == right_text.len &&
	       !memcmp(left_text.ptr, right_text.ptr, left_text.len);
	return 0;
}

/*
 * Check that the hook can be installed without losing an existing hook. Called for all hooks before
 * anything is written.
 */
static int may_install(const struct kl_hook *hook, bool chain)
{
	KL_AUTO(kl_freep) char *before = kl_hooks_chained_path(hook->path);
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
	if (!kl_hooks_is_there(before))
		return 0;
	if ((err = same_bytes(&same, hook->path, before)) < 0 || same)
		return err;
	err = kl_error(KL_EEXISTS, "cannot chain '%s': '%s' already exists", hook->path, before);
	return kl_error_hint(err, "keep only one of these hooks, under the name '%s'", hook->path);
}

/*
 * Keep the foreign hook under a second name, as a hard link or, if that is not possible, as a copy.
 * Our hook then replaces it under the first name.
 */
static int keep_foreign(const char *path)
{
	KL_AUTO(kl_freep) char *before = kl_hooks_chained_path(path);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct stat st;
	int err;

	if (link(path, before) == 0 || errno == EEXIST)
		return 0;
	if (stat(path, &st) < 0)
		return kl_error_errno("cannot keep '%s'", path);
	err = kl_fs_read(&text, path, KL_HOOKS_MAX_FILE);
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
	KL_AUTO(kl_freep) char *command = kl_hooks_config_key(event, "command");
	KL_AUTO(kl_freep) char *on = kl_hooks_config_key(event, "event");
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
 * Remove the hooks of an install with another version of git: our hook files, if we now use config
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
		return err < 0 || !kl_hooks_is_below(hooks->dir, repo->common_dir) ?
			       err :
			       clear_dir(hooks->dir, remove);
	}
	for (size_t i = 0; remove && i < KL_HOOKS_EVENTS && !err; i++)
		err = unset_config(repo, kl_hooks_event_names[i]);
	if (!err)
		err = clear_dir(own_hooks, remove);
	if (!err && remove)
		rmdir(own_hooks);
	return err;
}

/*
 * If config entries are used, set the path of each hook to a file in our own directory, even if an
 * older install put the hook elsewhere. Leave a hook alone that already calls git-klineage.
 */
static void to_entries(struct kl_hooks *hooks)
{
	for (size_t i = 0; hooks->way == KL_HOOKS_CONFIG && i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(hooks->ours, kl_hooks_event_names[i]);

		if (hooks->hook[i].state == KL_HOOK_CALLED)
			free(path);
		else
			kl_hooks_set_hook(&hooks->hook[i], path,
					  kl_hooks_state_of(path, kl_hooks_event_names[i]));
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
	KL_AUTO(kl_freep) char *before = kl_hooks_chained_path(path);
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
	KL_AUTO(kl_freep) char *key = kl_hooks_config_key(event, "command");
	struct kl_git_call call = { .args = KL_ARGS("config", "--local", "--remove-section",
						    section) };

	return kl_repo_config(repo, key) ? kl_git_do(repo, &call) : 0;
}

/*
 * Remove the remains of an install that crashed: the second name, or the copy, of a foreign hook
 * that is still in its place.
 */
static int drop_second(const char *path)
{
	KL_AUTO(kl_freep) char *before = kl_hooks_chained_path(path);
	bool same;
	int err;

	if (!kl_hooks_is_there(before))
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
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, kl_hooks_event_names[i]);
		enum kl_hook_state state = kl_hooks_state_of(path, kl_hooks_event_names[i]);
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
			       kl_hooks_is_below(hooks->dir, repo->common_dir) ? hooks->dir :
										 git_hooks };
	int err = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(dirs) && !err; i++)
		err = clear_dir(dirs[i], false);
	for (size_t i = 0; i < KL_HOOKS_EVENTS && !err; i++)
		err = unset_config(repo, kl_hooks_event_names[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(dirs) && !err; i++)
		err = clear_dir(dirs[i], true);
	if (!err)
		rmdir(own_hooks); /* it is no error if the directory is absent or not empty */
	return err;
}
