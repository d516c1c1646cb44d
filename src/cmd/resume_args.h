/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_RESUME_ARGS_H
#define KL_CMD_RESUME_ARGS_H

#include "text/json.h"

/*
 * resume_args - the command line that began an operation or a run, kept for --continue: an object
 * of strings in a file of the git directory (docs/formats.md), as trusted as the configuration
 * beside it and in no object, so that no clone or fetch brings a command or a budget along.
 *
 *	kl_said_load(&said, path);			(or json_object(), at the beginning)
 *	exec = kl_said_word(said, "exec", exec);	(of each option)
 *	kl_said_keep(said, path);
 */

/**
 * `*out` is the caller's; an empty object where there is no file. KL_EINVALID: it is no such file.
 */
int kl_said_load(json_t **out, const char *path);
/** Written whole; where nothing was said, the file goes. */
int kl_said_keep(const json_t *said, const char *path);
/**
 * What holds: `now` (which is then part of `said`) unless it is NULL, else what was said before, or
 * NULL.
 */
const char *kl_said_word(json_t *said, const char *key, const char *now);

#endif
