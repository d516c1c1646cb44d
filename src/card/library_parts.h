/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_LIBRARY_PARTS_H
#define KL_CARD_LIBRARY_PARTS_H

#include "card/library.h"

/* library_parts - struct kl_library and declarations shared by its files. Inside src/card only. */
struct kl_library {
	struct kl_repo *repo; /* borrowed */
	char *ref;
	git_oid tip, tree;     /* zero if the library is empty */
	struct kl_blobs cards; /* files below cards/, by name */
	/*
	 * ids of `cards` in the same order: by file name ("<id>.yaml"), which is not always the
	 * order by id
	 */
	struct kl_strvec ids;
	bool fixed; /* read-only: opened at a commit or a tree */
};

/** Load the library at another commit (zero for an empty library). */
int kl_library_read(struct kl_library *library, const git_oid *commit);
void kl_library_forget(struct kl_library *library);
/** Write the path of an event in the library: "evidence/<xx>/<id>.json". */
void kl_library_event_path(char path[96], const char *id);

#endif
