/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_WRITE_H
#define KL_TEXT_YAML_WRITE_H

#include "base/buf.h"
#include "text/yaml.h"

/*
 * yaml_write - builds YAML trees and writes them in a canonical form.
 *
 * Parsing the output and writing it again gives the same bytes.
 *
 *	struct kl_yaml *m = kl_yaml_new_map();
 *	kl_yaml_put(m, "intent", kl_yaml_new_text("overlap copies with compute"));
 *	kl_yaml_put(m, "step", kl_yaml_new_plain("5"));
 *	kl_yaml_emit(&out, m);
 *
 * The form does not depend on a library, since the next version of one could break lines
 * differently (and libyaml quotes source with tabs). A text is plain only if every YAML reader
 * takes it for a string, folded or literal only if that preserves it, and otherwise in double
 * quotes. Maps and lists are in block style unless `flow` is set. Texts must be UTF-8.
 */
struct kl_yaml *kl_yaml_new_map(void);
struct kl_yaml *kl_yaml_new_seq(void);
/** A string; it is quoted if it looks like another type. `text` is copied. */
struct kl_yaml *kl_yaml_new_text(const char *text);
/** A number, true, false or null, written unquoted. `text` is copied. */
struct kl_yaml *kl_yaml_new_plain(const char *text);
/** Append to a map or a list. `value` is taken, `key` is copied. */
void kl_yaml_put(struct kl_yaml *map, const char *key, struct kl_yaml *value);
void kl_yaml_push(struct kl_yaml *seq, struct kl_yaml *value);

void kl_yaml_emit(struct kl_buf *out, const struct kl_yaml *node);

#endif
