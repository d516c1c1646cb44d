/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_DISPATCH_H
#define KL_BACKEND_C_DISPATCH_H

#include "base/vec.h"
#include "contract/surface.h"

/*
 * dispatch - answers a source's questions about the processor that it runs on. A kernel is judged
 * for one level of x86-64, and may not identify the processor: otherwise it could behave in the
 * gate as it does nowhere else. If a source chooses among versions of its code, macros answer its
 * questions for the platform's level, and the compiler leaves out the other versions:
 *
 *	__builtin_cpu_supports("avx2")	1 if the level has it, else 0
 *	__builtin_cpu_is("intel")	0
 *	__builtin_cpu_init()		nothing
 *	target_clones(...)		no attribute: one version, for the level
 */

/** Return true if a source of the surface asks such a question. */
bool kl_dispatch_asks(const struct kl_file *file, size_t nfile);
/** Append the macros that answer for `level`, 1 to 4, as options of the compiler. */
void kl_dispatch_answer(struct kl_strvec *argv, int level);

#endif
