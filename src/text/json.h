/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_JSON_H
#define KL_TEXT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

/*
 * json - jansson behind our errors. json_t is vocabulary and may travel; the
 * library's header comes in through this file alone.
 *
 * Numbers in what git-klineage stores are integers (ns, ppm).
 */
/* cleanup of an owned json_t: KL_AUTO(json_decrefp), which jansson brings */

/** Parse one document; duplicate keys and trailing bytes are KL_EINVALID, with line and column. */
int kl_json_parse(json_t **out, const char *text, size_t len);

/** Compact, keys sorted, ASCII only: the form that is hashed and stored. */
void kl_json_canonical(struct kl_buf *out, const json_t *value);
/** Two-space indented, for people. */
void kl_json_pretty(struct kl_buf *out, const json_t *value);

/** Sorted, with decimals as people write them (15 digits): for what is to be read, not hashed. */
void kl_json_decimal(struct kl_buf *out, const json_t *value, bool pretty);

/* Typed members: KL_EINVALID names the key; `out` is untouched on failure. */
int kl_json_str(const char **out, const json_t *obj, const char *key);
int kl_json_int(int64_t *out, const json_t *obj, const char *key);
int kl_json_obj(json_t **out, const json_t *obj, const char *key); /* borrowed */
int kl_json_arr(json_t **out, const json_t *obj, const char *key); /* borrowed */
/** Absent or of another type: the default. */
const char *kl_json_str_or(const json_t *obj, const char *key, const char *dflt);
/** Push the strings of an array; what is no string, or no array, is left out. */
void kl_json_strings(struct kl_strvec *out, const json_t *list);
int64_t kl_json_int_or(const json_t *obj, const char *key, int64_t dflt);
bool kl_json_bool_or(const json_t *obj, const char *key, bool dflt);
double kl_json_num_or(const json_t *obj, const char *key, double dflt);

/* Setters that cannot fail; KL_BUG on a bad string. */
void kl_json_set_str(json_t *obj, const char *key, const char *value); /* NULL value: null */
void kl_json_set_int(json_t *obj, const char *key, int64_t value);
void kl_json_set_bool(json_t *obj, const char *key, bool value);
void kl_json_set_num(json_t *obj, const char *key, double value);
/** Takes the reference. */
void kl_json_set(json_t *obj, const char *key, json_t *value);

#endif
