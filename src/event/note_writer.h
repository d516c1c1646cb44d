/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_NOTE_WRITER_H
#define KL_EVENT_NOTE_WRITER_H

#include "event/event.h"
#include "repo/notes.h"

/*
 * note_writer - writes events as notes. It sets the commit and tree of each event, signs the event
 * if klineage.sign is set, and writes all events in one notes commit.
 *
 *	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = repo };
 *	kl_noting_add(&n, &commit, event);
 *	kl_noting_write(&n);
 */
/* value of `sign`: the events are of others, so none is signed or recorded as made by this clone */
#define KL_NOTING_FOREIGN (-2)

struct kl_noting {
	struct kl_repo *repo; /* borrowed */
	/* 1 to sign all, -1 to sign none, 0 to sign if klineage.sign is set */
	int sign;
	struct kl_note_line *note;
	size_t n, alloc;
	struct kl_strvec texts;
};

/** Queue an event; sets its members commit, tree and, if signing, sig. The id does not change. */
int kl_noting_add(struct kl_noting *noting, const git_oid *commit, struct kl_event *event);
/**
 * Write the queued events; lines that a note already has are skipped. Return KL_EINVALID if no
 * identity is set. The message has git's advice.
 */
int kl_noting_write(struct kl_noting *noting);
void kl_noting_release(struct kl_noting *noting);

/**
 * Write notes for the cached results of `--worktree` and `--staged` runs on the kernels that
 * `commit` changes relative to its first parent. Prefers events of the whole gate to those of the
 * quick stages, and events that were compared with the first parent to other events. `*noted` is
 * set to the number of events written.
 */
int kl_noting_waiting(size_t *noted, struct kl_repo *repo, const git_oid *commit);

#endif
