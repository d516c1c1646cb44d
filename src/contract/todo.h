/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_TODO_H
#define KL_CONTRACT_TODO_H

#include "base/vec.h"

/*
 * todo - finds the word TODO in a contract, which marks values that are still to be filled in. The
 * word does not count in comments, since these only explain it.
 */
struct kl_todo {
	size_t n;              /* number of marks */
	struct kl_strvec line; /* lines with marks, as "7: case: {op: axpy, dims: {n: TODO}}" */
};

#define KL_TODO_INIT              \
	{                         \
		0, KL_STRVEC_INIT \
	}

void kl_todo_find(struct kl_todo *out, const char *text);
void kl_todo_release(struct kl_todo *todo);

#endif
