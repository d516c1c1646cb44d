/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SIGNING_LIB_H
#define KL_SIGNING_LIB_H

/* signing_lib - a repository, keys of two signers and of one who is not listed. */
#include "event/signature.h"
#include "event_lib.h"
#include "scratch.h"

/** Make a repository with the keys alice, bob and mallory, of which the list names two. */
static inline char *signing_repo(const char *name)
{
	char *dir = scratch_repo(name);

	if (try_sh(NULL, dir, "command -v ssh-keygen"))
		skip();
	sh(dir,
	   "for name in alice bob mallory; do ssh-keygen -q -t ed25519 -N '' -C $name -f $name "
	   "|| exit 1; done; for name in alice bob; do echo \"$name $(cat $name.pub)\"; done >list; "
	   "git config gpg.ssh.allowedSignersFile \"$PWD/list\"");
	return dir;
}

/** Sign an event with one of the keys; NULL: do not. */
static inline void sign_as(const char *dir, struct kl_event *event, const char *name)
{
	KL_AUTO(kl_freep) char *sig = NULL;
	KL_AUTO(kl_freep) char *whole = NULL;

	if (!name)
		return;
	sig = sh_text(dir,
		      "printf %%s %s | ssh-keygen -q -Y sign -n klineage-gate -f %s 2>/dev/null",
		      event->id, name);
	whole = kl_asprintf("%s\n", sig);
	event->sig = kl_event_keep(event, whole);
}

#endif
