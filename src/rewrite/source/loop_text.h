/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LOOP_TEXT_H
#define KL_REWRITE_LOOP_TEXT_H

#include "rewrite/source/loop.h"

/*
 * loop_text - writes code that replaces a loop, in the indentation of the loop.
 *
 *	kl_loop_text_init(&text, loops, loop);
 *	kl_loop_text_line(&text, 0, "for (...) {");	depth 0: as the loop itself
 *	kl_loop_text_stmt(&text, 1, stmt, NULL, 0);	a statement, as it is
 *	kl_loop_text_line(&text, 0, "}");
 *	kl_loop_text_replace(cedits, &text, loop);
 *	kl_loop_text_release(&text);
 */
struct kl_loop_text {
	struct kl_buf buf;
	const struct kl_loops *loops;
	char *indent, *unit; /* white space before the loop, and of one level of indentation */
	size_t lines;        /* number of lines at depth 0 that begin a statement */
};

/** A name, and the text that replaces it in a copy of code. */
struct kl_rename {
	const char *from, *to;
};

void kl_loop_text_init(struct kl_loop_text *text, const struct kl_loops *loops,
		       const struct kl_loop *loop);
void kl_loop_text_release(struct kl_loop_text *text);
/** Add a line, `depth` levels deeper than the loop. */
void kl_loop_text_line(struct kl_loop_text *text, int depth, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Add code that is indented as the loop is, one level deeper. */
void kl_loop_text_code(struct kl_loop_text *text, const char *code);
/** Add a copy of a statement with names replaced. A copy without renames also has the comments. */
void kl_loop_text_stmt(struct kl_loop_text *text, int depth, const struct kl_cstmt *stmt,
		       const struct kl_rename *rename, size_t n);
/** Add copies of all statements. */
void kl_loop_text_stmts(struct kl_loop_text *text, int depth, const struct kl_cstmts *stmts,
			const struct kl_rename *rename, size_t n);
/** Replace the loop by the text, in braces if the surrounding code needs them. */
void kl_loop_text_replace(struct kl_cedits *cedits, struct kl_loop_text *text,
			  const struct kl_loop *loop);

/** Append tokens first ... last on one line, without comments and with names replaced. */
void kl_ctokens_copy(struct kl_buf *out, const struct kl_ctokens *tokens, size_t first, size_t last,
		     const struct kl_rename *rename, size_t n);
/** Return the text that kl_ctokens_copy() would append; the caller frees it. */
char *kl_ctokens_text(const struct kl_ctokens *tokens, size_t first, size_t last,
		      const struct kl_rename *rename, size_t n);

/*
 * Return the text in the parentheses of a loop that takes `width` rounds at once, and of the loop
 * that does the remaining rounds: "int64_t i = 0; i + 4 <= n; i += 4" and
 * "int64_t i = n / 4 * 4; i < n; i++". If threads share the rounds, the first is
 * "int64_t i = 0; i < n / 4 * 4; i += 4". The caller frees them.
 */
char *kl_loop_wide_head(const struct kl_loops *loops, const struct kl_loop *loop, int64_t width);
char *kl_loop_rest_head(const struct kl_loops *loops, const struct kl_loop *loop, int64_t width);
/** Return the text in the parentheses of the loop itself. */
char *kl_loop_head(const struct kl_loops *loops, const struct kl_loop *loop);
/** Return the bound, in parentheses if it is not a single name or number. */
char *kl_loop_bound(const struct kl_loops *loops, const struct kl_loop *loop);

#endif
