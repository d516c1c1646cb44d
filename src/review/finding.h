/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_FINDING_H
#define KL_REVIEW_FINDING_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * finding - a finding of a review, in which untrusted text is quoted safely.
 *
 * Text that others wrote (cards, paths, messages) is untrusted: it could contain a mention, an
 * image or a control sequence. So a finding marks which of its parts are quoted, and each output
 * form quotes them in its own way: '...' in a terminal, a code span in Markdown.
 *
 * The text of a finding is made from a format with these conversions:
 *
 *	%s	untrusted text, quoted: cleaned, on one line, truncated if it is long
 *	%w	text of our own, not quoted
 *	%d	int64_t
 *	%r	int64_t in millionths, printed as "1.25"
 *	%%	a percent sign
 *
 *	kl_findings_add(&f, KL_ANSWER, "pre-dropped", "the precondition %s was dropped", pre->id);
 */
enum kl_weight {
	KL_ANSWER, /* must be answered: the change needs a justification */
	KL_NOTE,   /* for information */
};

struct kl_finding {
	enum kl_weight weight;
	const char *code; /* the kind of the finding, for programs; a string constant */
	char *text;
};

struct kl_findings {
	struct kl_finding *v; /* in the order in which they were added */
	size_t n, alloc;
	size_t answers; /* number of findings with weight KL_ANSWER */
};

void kl_findings_add(struct kl_findings *findings, enum kl_weight weight, const char *code,
		     const char *fmt, ...);
void kl_findings_release(struct kl_findings *findings);

/** Append a text made from a format with the conversions above. */
void kl_finding_addf(struct kl_buf *out, const char *fmt, ...);
void kl_vsay(struct kl_buf *out, const char *fmt, va_list ap);

/**
 * Append the text of a finding for terminals and JSON, with '...' as quotes. The result has no
 * control sequences.
 */
void kl_finding_plain(struct kl_buf *out, const char *text);
/**
 * Append the text of a finding as Markdown: quoted parts become code spans, and the rest is
 * escaped. No part of the text becomes a link, a mention, an image or HTML.
 */
void kl_finding_markdown(struct kl_buf *out, const char *text);

#endif
