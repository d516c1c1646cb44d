/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_WRITE_H
#define KL_TEXT_YAML_WRITE_H

#include "base/buf.h"
#include "text/json.h"
#include "text/yaml.h"

/*
 * yaml_write - makes trees of YAML, and writes them in one canonical way: reading what was written
 * and writing it again gives the same bytes.
 *
 *	struct kl_yaml *m = kl_yaml_new_map();
 *	kl_yaml_put(m, "intent", kl_yaml_new_text("overlap copies with compute"));
 *	kl_yaml_put(m, "step", kl_yaml_new_plain("5"));
 *	kl_yaml_emit(&out, m);
 *
 * The form is this file's own and not that of a library, whose next version may break lines
 * elsewhere (and libyaml would put source with tabs in quotes). A text is plain only where no
 * reader of YAML could take it for anything else, folded or literal only where that cannot change
 * it, and in double quotes everywhere else. Maps and lists are blocks unless `flow` is set. Texts
 * must be UTF-8.
 */
struct kl_yaml *kl_yaml_new_map(void);
struct kl_yaml *kl_yaml_new_seq(void);
/** A string, whatever it looks like. */
struct kl_yaml *kl_yaml_new_text(const char *text);
/** A number, true, false, null: written as it is. */
struct kl_yaml *kl_yaml_new_plain(const char *text);
/** Both take `value`; `key` is copied. */
void kl_yaml_put(struct kl_yaml *map, const char *key, struct kl_yaml *value);
void kl_yaml_push(struct kl_yaml *seq, struct kl_yaml *value);

void kl_yaml_emit(struct kl_buf *out, const struct kl_yaml *node);

/* --- JSON ------------------------------------------------------------------- */

/** Plain scalars that are numbers, true, false or null become such, the rest strings. Owned. */
json_t *kl_yaml_to_json(const struct kl_yaml *node);
/**
 * A tree without lines; a number that is no integer gets at most six places. KL_EINVALID: too deep.
 */
int kl_yaml_from_json(struct kl_yaml **out, const json_t *value);

#endif
