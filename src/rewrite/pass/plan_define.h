/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PLAN_DEFINE_H
#define KL_REWRITE_PLAN_DEFINE_H

#include <stdbool.h>
#include <stddef.h>

/* plan_define - finds the constants that a launch plan defines: "define: {STAGES: 4, GROUP: 8}". */

struct kl_plan_define {
	char *name;
	long value;
	size_t off, len; /* of the value in the text, in bytes */
};
struct kl_plan_defines {
	struct kl_plan_define *v;
	size_t n, alloc;
};

/** Find the constants of the plan that are integers from 2 to 2^20; the caller releases `out`. */
void kl_plan_defines_find(struct kl_plan_defines *out, const char *text, size_t len);
void kl_plan_defines_release(struct kl_plan_defines *defines);

#endif
