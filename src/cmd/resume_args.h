/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_RESUME_ARGS_H
#define KL_CMD_RESUME_ARGS_H

#include "text/json.h"

/*
 * resume_args - stores the options that started an operation or a run, for --continue. They are a
 * JSON object of strings in a file of the git directory (docs/formats.md), which is trusted like
 * the configuration beside it. They are never stored in a git object, so a clone or fetch cannot
 * bring in a command or a budget.
 *
 *	kl_said_load(&said, path);			(json_object() at the start of a run)
 *	exec = kl_said_word(said, "exec", exec);	(for each option)
 *	kl_said_keep(said, path);
 */

/**
 * Load the options; the caller owns `*out`. If there is no file, `*out` is an empty object.
 * KL_EINVALID: the file is malformed.
 */
int kl_said_load(json_t **out, const char *path);
/** Replace the file atomically; if `said` is empty, remove the file. */
int kl_said_keep(const json_t *said, const char *path);
/**
 * Return the value of an option, borrowed from `said`; NULL: the option has no value. If `now` is
 * not NULL, first store it in `said` as the value.
 */
const char *kl_said_word(json_t *said, const char *key, const char *now);

#endif
