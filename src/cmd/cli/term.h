/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_TERM_H
#define KL_CMD_CLI_TERM_H

#include <stdbool.h>
#include <sys/types.h>

#include "event/vocabulary.h"
#include "repo/repo.h"

/*
 * term - sets up terminal colours, pager and width like git's own commands. Colours follow
 * color.klineage; if it is not set, color.ui. Verbs with KL_PAGES or KL_SCROLLS get a pager, unless
 * git has already started one (`git -p klineage`, pager.klineage).
 *
 *	printf("%s%s%s\n", kl_paint(t, KL_PAINT_FAIL), word, kl_paint(t, KL_PAINT_RESET));
 */
enum kl_paint {
	KL_PAINT_RESET,
	KL_PAINT_HEAD, /* color.klineage.head: headings */
	KL_PAINT_PASS, /* color.klineage.pass */
	KL_PAINT_FAIL, /* color.klineage.fail */
	KL_PAINT_WARN, /* color.klineage.warn: verdicts other than pass and fail */
	KL_PAINT_OLD,  /* color.klineage.old: removed lines of a diff */
	KL_PAINT_NEW,  /* color.klineage.new: added lines of a diff */
	KL_PAINT_FRAG, /* color.klineage.frag: "@@" lines of a diff */
	KL_PAINTS
};

struct kl_term {
	char code[KL_PAINTS][40]; /* escape sequences; all empty: no colours */
	int width;                /* columns, at least 20; 80 if unknown */
	pid_t pager;              /* process id of the pager; 0: we started none */
	int saved;                /* descriptor of the stdout to restore after the pager */
};

/** What the user and the table of verbs ask of the terminal. */
struct kl_term_wish {
	const char *verb;
	const char *when; /* value of --color; NULL: not given */
	bool wide;        /* --wide: do not fit tables to the width */
	/*
	 * pages: start a pager if stdout is a terminal, git has not started one, and
	 * klineage.pager.<verb> is not false. scrolls: the pager does not fold long lines.
	 */
	bool pages, scrolls;
};

/**
 * Choose the colours, detect the width, and start the pager. `repo` NULL: no colours and no pager.
 * KL_EINVALID: `when`, color.klineage, klineage.pager.<verb> or a colour in the configuration is
 * invalid.
 */
int kl_term_open(struct kl_term *term, struct kl_repo *repo, const struct kl_term_wish *wish);
/** Wait until the user has left the pager, and restore stdout. */
void kl_term_close(struct kl_term *term);

/**
 * Return how many columns a line on stdout may have: the width of the terminal or pager. 0: any
 * number, because stdout is neither or the user gave --wide.
 */
int kl_term_room(void);

/** Return the escape sequence of a colour; "" without colours. */
const char *kl_paint(const struct kl_term *term, enum kl_paint what);
/**
 * Return the colour for a verdict: KL_PAINT_PASS, KL_PAINT_FAIL, or KL_PAINT_WARN for any other.
 */
enum kl_paint kl_paint_verdict(enum kl_verdict verdict);

#endif
