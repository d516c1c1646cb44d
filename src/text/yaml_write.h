/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_WRITE_H
#define KL_TEXT_YAML_WRITE_H

#include "base/buf.h"
#include "text/yaml.h"

/*
 * yaml_write - builds YAML trees and writes them in a canonical form.
 *
 * If the output is parsed and written again, the bytes are the same.
 *
 *	struct kl_yaml *m = kl_yaml_new_map();
 *	kl_yaml_put(m, "intent", kl_yaml_new_text("overlap copies with compute"));
 *	kl_yaml_put(m, "step", kl_yaml_new_plain("5"));
 *	kl_yaml_emit(&out, m);
 *
 * No library is used, since a later version of a library could break lines in other places (and
 * libyaml quotes source code that contains tabs). A text is written plain only if every YAML reader
 * takes it for a string, in folded or literal style only if that style preserves the text, and
 * otherwise in double quotes. Maps and lists are in block style unless `flow` is set. Texts must be
 * valid UTF-8.
 */
struct kl_yaml *kl_yaml_new_map(void);
struct kl_yaml *kl_yaml_new_seq(void);
/** Make a string. `text` is copied, and is quoted if it could be read as another type. */
struct kl_yaml *kl_yaml_new_text(const char *text);
/** Make a number, true, false or null, which is written unquoted. `text` is copied. */
struct kl_yaml *kl_yaml_new_plain(const char *text);
/** Append to a map or a list, which then owns `value`. `key` is copied. */
void kl_yaml_put(struct kl_yaml *map, const char *key, struct kl_yaml *value);
void kl_yaml_push(struct kl_yaml *seq, struct kl_yaml *value);

void kl_yaml_emit(struct kl_buf *out, const struct kl_yaml *node);

/**
 * Return true if `text` can be written without quotes in a list in flow style: every YAML reader
 * reads it as this text.
 */
bool kl_yaml_is_plain_item(const char *text);
/** Append a text, which must be valid UTF-8, in double quotes. */
void kl_yaml_quote(struct kl_buf *out, const char *text);

#endif
