/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_OUT_H
#define KL_CMD_OUT_H

#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/term.h"

/*
 * out - stdout and stderr as streams that let no control character of data through.
 *
 * main() puts a stream of ours in the place of `stdout` and of `stderr`. What verbs print with
 * printf() and its like goes through kl_printable_part() (base/printable.h), so a verb that prints
 * data for people need not think of it.
 *
 * Our own colours pass: kl_out_paint() replaces the codes of a terminal by marks with a random key,
 * which the stream turns into the codes again. Data that contain the codes of a colour do not have
 * the key. What a program reads byte for byte is written with kl_out_exact().
 */
struct kl_out;

/** Replace `stdout` or `stderr`, whose descriptor is `fd`. The caller owns the result. */
struct kl_out *kl_out_guard(int fd);
/** Put the former stream back in its place. What kl_out_finish() has not written can be lost. */
void kl_out_end(struct kl_out *out);
KL_DEFINE_CLEANUP(struct kl_out *, kl_out_end)
/** Let the colours of `term` pass through this stream; `term` must have just been opened. */
void kl_out_paint(struct kl_out *out, struct kl_term *term);
/** Write all that is left. -1: a write failed, now or before; errno says why. */
int kl_out_finish(struct kl_out *out);

/**
 * Write bytes to stdout unfiltered: for -z, a patch, a page, or a card for a file. If stdout is a
 * terminal or a pager, they are filtered like any other text.
 */
void kl_out_exact(const void *data, size_t n);
/** Print data as part of one line: newlines and tabs are replaced as well. */
void kl_out_line(FILE *to, const char *text);
/** Print a label, each word after a blank, and the end of the line; nothing without words. */
void kl_out_words(const char *label, const struct kl_strvec *words);

#endif
