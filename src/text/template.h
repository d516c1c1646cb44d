/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_TEMPLATE_H
#define KL_TEXT_TEMPLATE_H

#include "base/buf.h"
#include "base/map.h"

/*
 * template - fills templates: text with placeholders of the form @NAME@.
 *
 * Values are inserted unchanged and are not searched for placeholders. Return KL_EINVALID if a
 * placeholder has no value. The message gives its line.
 */
int kl_template_fill(struct kl_buf *out, const char *text, const struct kl_map *values);

#endif
