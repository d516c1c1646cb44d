/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_OUT_H
#define KL_CMD_CLI_OUT_H

#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cli/term.h"

/*
 * out - makes stdout and stderr replace the control characters of data. main() replaces `stdout`
 * and `stderr` by streams of our own. These streams filter all that printf() and similar functions
 * print by kl_printable_part() (base/printable.h), so a verb need not check data before it prints
 * them for people. Our own colours are kept: kl_out_paint() replaces each colour code in `term` by
 * a mark with a random key, and the stream turns the marks back into colour codes. Data cannot
 * contain such a mark, because the key is secret. Use kl_out_exact() to write bytes for programs.
 */
struct kl_out;

/** Replace `stdout` or `stderr`, whose descriptor is `fd`. The caller owns the result. */
struct kl_out *kl_out_guard(int fd);
/** Restore the original stream. Output that kl_out_finish() has not written can be lost. */
void kl_out_end(struct kl_out *out);
KL_DEFINE_CLEANUP(struct kl_out *, kl_out_end)
/** Let the colours of `term` pass through this stream. Call this right after kl_term_open(). */
void kl_out_paint(struct kl_out *out, struct kl_term *term);
/** Write all buffered output. Return 0, or -1 with errno set if this or an earlier write failed. */
int kl_out_finish(struct kl_out *out);

/**
 * Write bytes to stdout unchanged: the output of -z, a patch, an HTML page, or the file of a card.
 * If stdout is a terminal or a pager, control characters are replaced as in any other text.
 */
void kl_out_exact(const void *data, size_t n);
/** Print data as part of a line; newlines and tabs are replaced like control characters. */
void kl_out_line(FILE *to, const char *text);
/**
 * Print text on stdout, folded between words to the room of stdout (kl_term_room()). `column` is
 * how many characters the line has already; further lines are indented by `indent`.
 */
void kl_out_fold(const char *text, int column, int indent);
/** Print a line: the label, then each word after a space. Print nothing if there are no words. */
void kl_out_words(const char *label, const struct kl_strvec *words);

#endif
