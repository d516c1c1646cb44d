/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "repo/hooks_parts.h"
#include "repo/internal.h"
#include "text/digest.h"

const char *const kl_hooks_event_names[KL_HOOKS_EVENTS] = {
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

/* --- the owner of a hook file --------------------------------------------------- */

char *kl_hooks_chained_path(const char *path)
{
	return kl_asprintf("%s.klineage-chained", path);
}

/*
 * Return whose hook this is. The digest in the last line shows whether the hook is ours, and
 * whether it was edited. A hook without a digest is foreign, or KL_HOOK_CALLED if it contains our
 * command.
 */
static enum kl_hook_state hook_owner(const char *text, size_t len, const char *event)
{
	KL_AUTO(kl_freep) char *command = kl_asprintf("klineage hooks run %s", event);
	const char *mark = NULL;
	char hex[KL_DIGEST_HEX];

	for (const char *at = text; (at = strstr(at, KL_HOOKS_MARK)); at++)
		mark = at;
	if (!mark)
		return strstr(text, command) ? KL_HOOK_CALLED : KL_HOOK_FOREIGN;
	kl_digest_hex(hex, text, (size_t)(mark - text));
	mark += strlen(KL_HOOKS_MARK);
	if (strlen(mark) == KL_DIGEST_HEX && !strncmp(mark, hex, KL_DIGEST_HEX - 1) &&
	    text + len == mark + KL_DIGEST_HEX)
		return KL_HOOK_OURS;
	return KL_HOOK_EDITED;
}

bool kl_hooks_is_there(const char *path)
{
	struct stat st;

	/* a dangling symlink counts, because it belongs to the user */
	return lstat(path, &st) == 0;
}

enum kl_hook_state kl_hooks_state_of(const char *path, const char *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *before = kl_hooks_chained_path(path);
	enum kl_hook_state state = KL_HOOK_FOREIGN;

	if (!kl_hooks_is_there(path))
		return KL_HOOK_ABSENT;
	if (kl_fs_read(&text, path, KL_HOOKS_MAX_FILE) == 0)
		state = hook_owner(text.ptr, text.len, event);
	kl_error_clear();
	return state == KL_HOOK_OURS && kl_hooks_is_there(before) ? KL_HOOK_CHAINED : state;
}

/* --- reading the state of the hooks of the user and of other tools --------------- */

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

bool kl_hooks_is_below(const char *path, const char *dir)
{
	KL_AUTO(kl_freep) char *real_file = real_path(path);
	KL_AUTO(kl_freep) char *real_dir = real_path(dir);
	size_t n = strlen(real_dir);

	return !strncmp(real_file, real_dir, n) && (!real_file[n] || real_file[n] == '/');
}

/*
 * Read core.hooksPath as git does: expand "~", and take a relative path as relative to the top of
 * the worktree. Set `*out` to NULL if core.hooksPath is not set.
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

void kl_hooks_set_hook(struct kl_hook *hook, char *path, enum kl_hook_state state)
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
	int err = kl_fs_read(&text, file, KL_HOOKS_MAX_FILE);

	if (err < 0)
		return err;
	hooks->way = KL_HOOKS_BY_HAND;
	hooks->owner = owner;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		bool called = calls_us(text.ptr, owner, kl_hooks_event_names[i]);

		kl_hooks_set_hook(&hooks->hook[i], kl_strdup(file),
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
	hooks->outside = !kl_hooks_is_below(hooks->dir, repo->worktree);
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(dir, kl_hooks_event_names[i]);

		kl_hooks_set_hook(&hooks->hook[i], path,
				  kl_hooks_state_of(path, kl_hooks_event_names[i]));
	}
}

/*
 * Read the state of the hook files in `hooks->ours`. Return true if at least one of them is ours.
 */
static bool by_files(struct kl_hooks *hooks)
{
	bool ours = false;

	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++) {
		char *path = kl_fs_join(hooks->ours, kl_hooks_event_names[i]);

		kl_hooks_set_hook(&hooks->hook[i], path,
				  kl_hooks_state_of(path, kl_hooks_event_names[i]));
		ours |= hooks->hook[i].state == KL_HOOK_OURS ||
			hooks->hook[i].state == KL_HOOK_CHAINED;
	}
	return ours;
}

char *kl_hooks_config_key(const char *event, const char *leaf)
{
	return kl_asprintf("hook.klineage-%s.%s", event, leaf);
}

/*
 * If an event has no config entry, find another caller of git-klineage: a hook file that an older
 * install left or that the user wrote, or the configuration file of a tool.
 */
static int called_otherwise(struct kl_hook *hook, const struct kl_hooks *hooks,
			    struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = written_dir(hooks->dir);
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, hook->event);
	KL_AUTO(kl_freep) char *lefthook = top_file(repo, lefthook_files);
	KL_AUTO(kl_freep) char *framework = top_file(repo, framework_files);
	enum kl_hook_state state = kl_hooks_state_of(path, hook->event);

	if (state == KL_HOOK_OURS || state == KL_HOOK_CHAINED || state == KL_HOOK_CALLED) {
		kl_hooks_set_hook(hook, kl_steal(&path), state);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		const char *file = i ? framework : lefthook;
		int err = file ? kl_fs_read(&text, file, KL_HOOKS_MAX_FILE) : 0;

		if (err < 0)
			return err;
		if (file && calls_us(text.ptr, i ? "pre-commit" : "lefthook", hook->event))
			kl_hooks_set_hook(hook, kl_strdup(file), KL_HOOK_CALLED);
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
		KL_AUTO(kl_freep) char *key = kl_hooks_config_key(kl_hooks_event_names[i],
								  "command");

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
		hooks.hook[i].event = kl_hooks_event_names[i];
	hooks.dir = path ? kl_steal(&path) : kl_fs_join(repo->common_dir, "hooks");
	hooks.ours = kl_strdup(hooks.dir);
	if (config)
		err = by_config(&hooks, repo);
	else if (!kl_hooks_is_below(hooks.dir, repo->common_dir))
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
