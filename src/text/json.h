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
 * json - JSON with the error codes of base/error.h, based on jansson.
 *
 * json_t can be used everywhere, but only this file includes jansson's header. Numbers that
 * git-klineage stores are integers (ns, ppm).
 */
/* use KL_AUTO(json_decrefp), of jansson, to free a json_t at the end of its scope */

/**
 * Parse one document; the caller owns *out. Return KL_EINVALID if it is malformed, has a duplicate
 * key or is followed by other bytes. The message gives line and column.
 */
int kl_json_parse(json_t **out, const char *text, size_t len);

/**
 * Like kl_json_parse(), but for a document from a foreign service: if a key occurs more than once,
 * the last value is taken; strings can contain NUL characters (see json_string_length()); and if an
 * integer needs more than 64 bits, all numbers are read as real numbers.
 */
int kl_json_parse_lenient(json_t **out, const char *text, size_t len);

/** Append the canonical form, which is hashed and stored: compact, keys sorted, ASCII only. */
void kl_json_canonical(struct kl_buf *out, const json_t *value);
/** Append a readable form: indented by two spaces, with a newline at the end. */
void kl_json_pretty(struct kl_buf *out, const json_t *value);

/**
 * Append a form for readers, not for hashing: keys are sorted, and real numbers have at most 15
 * digits. If `pretty` is true, the form is indented by two spaces.
 */
void kl_json_decimal(struct kl_buf *out, const json_t *value, bool pretty);

/*
 * Get a member of a given type. Return KL_EINVALID if the member is absent or of another type. The
 * message names the key, and `*out` is unchanged. A string, object or array is borrowed.
 */
int kl_json_str(const char **out, const json_t *obj, const char *key);
int kl_json_int(int64_t *out, const json_t *obj, const char *key);
/** Get an integer from 0 to `most`. */
int kl_json_count(int64_t *out, const json_t *obj, const char *key, int64_t most);
int kl_json_obj(json_t **out, const json_t *obj, const char *key); /* borrowed */
int kl_json_arr(json_t **out, const json_t *obj, const char *key); /* borrowed */
/** Like kl_json_str(), but return `dflt` if the member is absent or of another type. */
const char *kl_json_str_or(const json_t *obj, const char *key, const char *dflt);
/**
 * Push copies of the strings in an array. Elements of other types are skipped. If `list` is NULL or
 * not an array, nothing is pushed.
 */
void kl_json_strings(struct kl_strvec *out, const json_t *list);
int64_t kl_json_int_or(const json_t *obj, const char *key, int64_t dflt);
bool kl_json_bool_or(const json_t *obj, const char *key, bool dflt);
double kl_json_num_or(const json_t *obj, const char *key, double dflt);

/*
 * Set a member. If this fails, there is a bug, and the function aborts (KL_BUG). If a string is not
 * valid UTF-8, each of its non-ASCII bytes becomes '?'.
 */
/* if `value` is NULL, set null */
void kl_json_set_str(json_t *obj, const char *key, const char *value);
void kl_json_set_int(json_t *obj, const char *key, int64_t value);
void kl_json_set_bool(json_t *obj, const char *key, bool value);
void kl_json_set_num(json_t *obj, const char *key, double value);
/** Set a member and take over the caller's reference to `value`. */
void kl_json_set(json_t *obj, const char *key, json_t *value);

#endif
