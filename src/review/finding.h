/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_FINDING_H
#define KL_REVIEW_FINDING_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * finding - one thing that a review says, and how it is said safely. What others wrote (cards,
 * paths, messages) is hostile wherever it is shown: it could be a mention, an image, a control
 * sequence. So a text keeps apart what is ours and what is quoted, and each form of output does
 * with quotes what is right there: ' ' in a terminal, a code span in Markdown.
 *
 * Texts are made by a small format of their own:
 *
 *	%s	quoted: cleaned, of one line, cut where it is long
 *	%w	a word of ours, as it is
 *	%d	int64_t
 *	%r	int64_t, millionths: "1.25"
 *	%%
 *
 *	kl_findings_add(&f, KL_ANSWER, "pre-dropped", "the precondition %s was dropped", pre->id);
 */
enum kl_weight {
	KL_ANSWER, /* somebody must say why it is right */
	KL_NOTE,   /* good to know */
};

struct kl_finding {
	enum kl_weight weight;
	const char *code; /* static: what kind it is, for programs */
	char *text;
};

struct kl_findings {
	struct kl_finding *v; /* in the order of finding */
	size_t n, alloc;
	size_t answers; /* of them KL_ANSWER */
};

void kl_findings_add(struct kl_findings *findings, enum kl_weight weight, const char *code,
		     const char *fmt, ...);
void kl_findings_release(struct kl_findings *findings);

/** A text by the format above. */
void kl_finding_addf(struct kl_buf *out, const char *fmt, ...);
void kl_vsay(struct kl_buf *out, const char *fmt, va_list ap);

/** With quotes: for terminals and JSON. Nothing in it can be a control sequence. */
void kl_finding_plain(struct kl_buf *out, const char *text);
/** With code spans, our own words escaped: nothing in it is a link, a mention, an image or HTML. */
void kl_finding_markdown(struct kl_buf *out, const char *text);

#endif
