/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_NOTE_WRITER_H
#define KL_EVENT_NOTE_WRITER_H

#include "event/event.h"
#include "repo/notes.h"

/*
 * note_writer - writes events as notes: each learns its commit and tree, is signed where
 * klineage.sign asks for it, and all go into one notes commit.
 *
 *	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = repo };
 *	kl_noting_add(&n, &commit, event);
 *	kl_noting_write(&n);
 */
struct kl_noting {
	struct kl_repo *repo; /* borrowed */
	int sign;             /* 1: each, -1: none, 0: as klineage.sign says */
	struct kl_note_line *note;
	size_t n, alloc;
	struct kl_strvec texts;
};

/** `event` gets the members commit, tree and, if asked for, sig; its id is as before. */
int kl_noting_add(struct kl_noting *noting, const git_oid *commit, struct kl_event *event);
/**
 * Lines that are there already are skipped. KL_EINVALID with git's advice: no identity to commit
 * with.
 */
int kl_noting_write(struct kl_noting *noting);
void kl_noting_release(struct kl_noting *noting);

/**
 * Results of `--worktree` and `--staged` wait in the cache: those for what `commit` has, and its
 * first parent has not, go into its note. Events of the whole gate are preferred to those of the
 * quick stages, and those that compare with the first parent to others. `*noted` counts events.
 */
int kl_noting_waiting(size_t *noted, struct kl_repo *repo, const git_oid *commit);

#endif
