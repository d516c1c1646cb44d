/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_OPTIONS_H
#define KL_ADOPT_OPTIONS_H

#include "adopt/command.h"

/*
 * options - takes from a compiler's command what matters for the kernel's code: includes, defines,
 * and the flags that a contract may have (contract/flags.h). Everything else is left out; of what
 * could change the code, the reason is kept.
 */
struct kl_options {
	struct kl_strvec include, iquote, isystem; /* directories, as absolute paths */
	struct kl_strvec outside;                  /* directories that may not be read */
	struct kl_strvec preinclude;               /* as the command writes them */
	struct kl_strvec define, undefine, flags;  /* as in a contract */
	struct kl_strvec dropped;                  /* "<option>: <reason>" */
};

/** Read the options of a command; `out` is empty before. */
void kl_options_read(struct kl_options *out, const struct kl_command *command);
/**
 * Add the options of another unit of the same kernel: includes, defines and undefines that are
 * missing. Its macros that differ and its flags that `to` lacks are added to `dropped` instead, with
 * a reason.
 */
void kl_options_merge(struct kl_options *to, const struct kl_options *from, const char *unit);
void kl_options_copy(struct kl_options *to, const struct kl_options *from);
void kl_options_release(struct kl_options *options);

#endif
