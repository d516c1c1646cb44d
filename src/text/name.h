/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_NAME_H
#define KL_TEXT_NAME_H

#include <stdbool.h>

/* name - checks the form of names. */

/**
 * Does `text` match [a-z0-9][a-z0-9._-]*, have at most 64 bytes, and form a valid part of a ref's
 * name?
 */
bool kl_name_is_slug(const char *text);
/** Is `text` a C identifier of at most 63 bytes? Keywords of C are accepted. */
bool kl_name_is_ident(const char *text);

#endif
