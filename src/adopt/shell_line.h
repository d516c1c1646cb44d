/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_SHELL_LINE_H
#define KL_ADOPT_SHELL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/vec.h"

/*
 * shell_line - splits a line into commands and words as a shell does, and runs nothing.
 *
 * Quotes and backslashes are resolved. A command ends at ; & | ( ) or a newline; redirections and
 * comments are left out. The value of a word with a variable or a command substitution depends on
 * the shell, so such a word is left out, and its text is added to `unknown`.
 */
#define KL_SHELL_MAX_LINE ((size_t)1 << 20)

struct kl_shell_line {
	struct kl_strvec *v; /* the words of each command; no command is empty */
	size_t n, alloc;
	struct kl_strvec unknown;
};

/**
 * Split a line. Return KL_EINVALID if a quote or a substitution does not end, or the line is too
 * long.
 */
int kl_shell_split(struct kl_shell_line *out, const char *text, size_t len);
void kl_shell_release(struct kl_shell_line *line);

#endif
