/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_TERM_H
#define KL_CMD_CLI_TERM_H

#include <stdbool.h>
#include <sys/types.h>

#include "event/vocabulary.h"
#include "repo/repo.h"

/*
 * term - terminal colours, pager and width, as in git's own commands. Colours follow
 * color.klineage, else color.ui. Verbs with KL_PAGES get a pager, unless git has already started
 * one (`git -p klineage`, pager.klineage).
 *
 *	printf("%s%s%s\n", kl_paint(t, KL_PAINT_FAIL), word, kl_paint(t, KL_PAINT_RESET));
 */
enum kl_paint {
	KL_PAINT_RESET,
	KL_PAINT_HEAD, /* color.klineage.head: headings */
	KL_PAINT_PASS, /* .pass */
	KL_PAINT_FAIL, /* .fail */
	KL_PAINT_WARN, /* .warn: neither pass nor fail */
	KL_PAINT_OLD,  /* .old, .new, .frag: a diff */
	KL_PAINT_NEW,
	KL_PAINT_FRAG,
	KL_PAINTS
};

struct kl_term {
	char code[KL_PAINTS][40]; /* escape sequences; all empty: no colours */
	int width;                /* columns, at least 20; 80 if unknown */
	pid_t pager;              /* process id; 0: we started none */
	int saved;                /* a copy of stdout, to restore after the pager */
};

/**
 * Detect colours and width, and start the pager. `when`: the value of --color, or NULL. `pages`:
 * start a pager if stdout is a terminal, git has not started one, and klineage.pager.<verb> is not
 * false. `repo` may be NULL: no colours, no pager. KL_EINVALID: `when` or color.klineage is neither
 * always, never, auto nor a boolean, klineage.pager.<verb> is not a boolean, or a colour is
 * invalid.
 */
int kl_term_open(struct kl_term *term, struct kl_repo *repo, const char *when, const char *verb,
		 bool pages);
/** Wait until the user has left the pager, and restore stdout. */
void kl_term_close(struct kl_term *term);

const char *kl_paint(const struct kl_term *term, enum kl_paint what);
/** The colour of a verdict: pass, fail, or warn for others. */
enum kl_paint kl_paint_verdict(enum kl_verdict verdict);

#endif
