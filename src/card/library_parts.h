/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_LIBRARY_PARTS_H
#define KL_CARD_LIBRARY_PARTS_H

#include "card/library.h"

/* library_parts - what the files of the library share. Inside src/card only. */
struct kl_library {
	struct kl_repo *repo; /* borrowed */
	char *ref;
	git_oid tip, tree;     /* zero: empty */
	struct kl_blobs cards; /* below cards/, by file name */
	/* same index; not sorted as ids: '.' is in the file names */
	struct kl_strvec ids;
	bool fixed; /* open at a commit */
};

/** Read at another commit (zero: empty). */
int kl_library_read(struct kl_library *library, const git_oid *commit);
void kl_library_forget(struct kl_library *library);
/** "evidence/<xx>/<id>.json" */
void kl_library_event_path(char path[96], const char *id);

#endif
