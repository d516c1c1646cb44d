/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_OPTIONS_H
#define KL_ADOPT_OPTIONS_H

#include "adopt/command.h"
#include "contract/language.h"

/*
 * options - extracts from a compiler's command the options that matter for the kernel's code:
 * includes, defines, and the flags that a contract may have (contract/flags.h). All other options
 * are left out; if such an option could change the code, it is kept in `dropped` with the reason.
 */
struct kl_options {
	struct kl_strvec include, iquote, isystem; /* directories, as absolute paths */
	struct kl_strvec outside;                  /* directories that may not be read */
	struct kl_strvec preinclude;               /* as the command writes them */
	struct kl_strvec define, undefine, flags;  /* as in a contract */
	struct kl_strvec dropped;                  /* "<option>: <reason>" */
};

/**
 * Read the options of a command into `out`, which must be empty. The language of the contract
 * decides which flags are allowed.
 */
void kl_options_read(struct kl_options *out, const struct kl_command *command,
		     const struct kl_language *language);
/**
 * Add the options of another unit of the same kernel: the includes, defines and undefines that `to`
 * lacks. Macros of the unit that differ, and flags that `to` lacks, are added to `dropped` instead,
 * with a reason.
 */
void kl_options_merge(struct kl_options *to, const struct kl_options *from, const char *unit);
void kl_options_copy(struct kl_options *to, const struct kl_options *from);
void kl_options_release(struct kl_options *options);

#endif
