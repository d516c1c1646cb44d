/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_FINDING_H
#define KL_REVIEW_FINDING_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * finding - a finding of a review, with untrusted text quoted safely.
 *
 * Text that others wrote (cards, paths, messages) is untrusted: it could contain a mention, an
 * image or a control sequence. So a finding marks which of its parts are quoted, and each output
 * form quotes them in its own way: '...' in a terminal, a code span in Markdown.
 *
 * Texts are made by a format of their own:
 *
 *	%s	quoted text: cleaned, on one line, truncated if it is long
 *	%w	one of our own words, unquoted
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
	const char *code; /* static: the kind of finding, for programs */
	char *text;
};

struct kl_findings {
	struct kl_finding *v; /* in the order they were added */
	size_t n, alloc;
	size_t answers; /* how many are KL_ANSWER */
};

void kl_findings_add(struct kl_findings *findings, enum kl_weight weight, const char *code,
		     const char *fmt, ...);
void kl_findings_release(struct kl_findings *findings);

/** Append a text by the format above. */
void kl_finding_addf(struct kl_buf *out, const char *fmt, ...);
void kl_vsay(struct kl_buf *out, const char *fmt, va_list ap);

/** Append a text for terminals and JSON, with quotes. It contains no control sequences. */
void kl_finding_plain(struct kl_buf *out, const char *text);
/**
 * Append a text as Markdown: quoted parts become code spans, our own words are escaped. Nothing in
 * it becomes a link, a mention, an image or HTML.
 */
void kl_finding_markdown(struct kl_buf *out, const char *text);

#endif
