/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_NAME_H
#define KL_TEXT_NAME_H

#include <stdbool.h>

/* name - checks the form of names. */

/**
 * Check that `text` matches [a-z0-9][a-z0-9._-]*, has at most 64 bytes, and is a valid part of a
 * ref's name.
 */
bool kl_name_is_slug(const char *text);
/** Check that `text` is a C identifier of at most 63 bytes. Keywords of C are accepted. */
bool kl_name_is_ident(const char *text);

#endif
