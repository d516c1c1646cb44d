/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_TEMPLATE_H
#define KL_TEXT_TEMPLATE_H

#include "base/buf.h"
#include "base/map.h"

/*
 * template - fills templates, which are text with @NAME@ places. An unknown name is KL_EINVALID
 * with its line; a value is inserted as it is, never read again.
 */
int kl_template_fill(struct kl_buf *out, const char *text, const struct kl_map *values);

#endif
