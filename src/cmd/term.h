/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_TERM_H
#define KL_CMD_TERM_H

#include <stdbool.h>
#include <sys/types.h>

#include "event/vocabulary.h"
#include "repo/repo.h"

/*
 * term - the terminal as git's own commands treat it: colours by color.klineage, else color.ui; a
 * pager for the verbs that print pages, unless git has started one already (`git -p klineage`,
 * pager.klineage); how wide it is.
 *
 *	printf("%s%s%s\n", kl_paint(t, KL_PAINT_FAIL), word, kl_paint(t, KL_PAINT_RESET));
 */
enum kl_paint {
	KL_PAINT_RESET,
	KL_PAINT_HEAD, /* color.klineage.head: what a page is about */
	KL_PAINT_PASS, /* .pass */
	KL_PAINT_FAIL, /* .fail */
	KL_PAINT_WARN, /* .warn: neither */
	KL_PAINT_OLD,  /* .old, .new, .frag: a diff */
	KL_PAINT_NEW,
	KL_PAINT_FRAG,
	KL_PAINTS
};

struct kl_term {
	char code[KL_PAINTS][40]; /* all empty: no colours */
	int width;                /* columns, at least 20; 80 where nobody can tell */
	pid_t pager;              /* 0: none of ours */
	int saved;                /* stdout before it */
};

/**
 * `when`: what --color said, or NULL. `pages`: a pager for stdout, if it is a terminal and
 * klineage.pager.<verb> does not say no. `repo` may be NULL: no colours, no pager. KL_EINVALID: a
 * word that is neither always, never nor auto.
 */
int kl_term_open(struct kl_term *term, struct kl_repo *repo, const char *when, const char *verb,
		 bool pages);
/** Waits until the user has left the pager; stdout is as before. */
void kl_term_close(struct kl_term *term);

const char *kl_paint(const struct kl_term *term, enum kl_paint what);
/** A verdict's colour: pass, fail, else warn. */
enum kl_paint kl_paint_verdict(enum kl_verdict verdict);

#endif
