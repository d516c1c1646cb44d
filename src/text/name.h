/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_NAME_H
#define KL_TEXT_NAME_H

#include <stdbool.h>

/* name - validates names. */

/** Is it [a-z0-9][a-z0-9._-]*, at most 64 bytes, and valid as a part of a ref's name? */
bool kl_name_is_slug(const char *text);
/** Is it a C identifier of at most 63 bytes? C's keywords are not excluded. */
bool kl_name_is_ident(const char *text);

#endif
