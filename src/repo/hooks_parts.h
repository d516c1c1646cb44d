/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_HOOKS_PARTS_H
#define KL_REPO_HOOKS_PARTS_H

#include "repo/hooks.h"

/*
 * hooks_parts - declarations shared by hooks.c and hooks_install.c. For use inside src/repo only.
 */
#define KL_HOOKS_MARK "# written by git klineage hooks install: "
#define KL_HOOKS_MAX_FILE ((size_t)1 << 20)

extern const char *const kl_hooks_event_names[KL_HOOKS_EVENTS];

/** Return the path of the foreign hook that our hook at `path` calls first. */
char *kl_hooks_chained_path(const char *path);
/** Return the key of our config entry for an event: "hook.klineage-<event>.<leaf>". */
char *kl_hooks_config_key(const char *event, const char *leaf);
/** Return true if `path` exists; a dangling symlink counts as existing. */
bool kl_hooks_is_there(const char *path);
/** Return true if the real path is `dir` or below it. */
bool kl_hooks_is_below(const char *path, const char *dir);
/** Read the state of a hook from its file. */
enum kl_hook_state kl_hooks_state_of(const char *path, const char *event);
/** Set the path and the state of a hook; takes ownership of `path`. */
void kl_hooks_set_hook(struct kl_hook *hook, char *path, enum kl_hook_state state);

#endif
