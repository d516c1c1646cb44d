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
 * json - JSON with our error handling, based on jansson.
 *
 * json_t can be used everywhere, but only this file includes jansson's header. Numbers that
 * git-klineage stores are integers (ns, ppm).
 */
/* cleanup of an owned json_t: KL_AUTO(json_decrefp), which jansson provides */

/**
 * Parse one document; the caller owns *out. Errors are KL_EINVALID with line and column; duplicate
 * keys and trailing bytes are errors.
 */
int kl_json_parse(json_t **out, const char *text, size_t len);

/**
 * The same for a document of a foreign service: of duplicate keys the last one is taken, strings
 * can have NUL characters (json_string_length()), and an integer of more than 64 bits makes all
 * numbers real.
 */
int kl_json_parse_lenient(json_t **out, const char *text, size_t len);

/** Append the form that is hashed and stored: compact, keys sorted, ASCII only. */
void kl_json_canonical(struct kl_buf *out, const json_t *value);
/** Append a readable form: indented by two spaces, with a newline at the end. */
void kl_json_pretty(struct kl_buf *out, const json_t *value);

/** Append with keys sorted and real numbers at 15 digits: for reading, not for hashing. */
void kl_json_decimal(struct kl_buf *out, const json_t *value, bool pretty);

/* Typed members: KL_EINVALID names the key; `out` is untouched on failure. */
int kl_json_str(const char **out, const json_t *obj, const char *key);
int kl_json_int(int64_t *out, const json_t *obj, const char *key);
/** An integer from 0 to `most`. */
int kl_json_count(int64_t *out, const json_t *obj, const char *key, int64_t most);
int kl_json_obj(json_t **out, const json_t *obj, const char *key); /* borrowed */
int kl_json_arr(json_t **out, const json_t *obj, const char *key); /* borrowed */
/** The same, but a member that is absent or of another type is `dflt`. */
const char *kl_json_str_or(const json_t *obj, const char *key, const char *dflt);
/** Push the strings of an array. Other elements are skipped; `list` can be NULL or not an array. */
void kl_json_strings(struct kl_strvec *out, const json_t *list);
int64_t kl_json_int_or(const json_t *obj, const char *key, int64_t dflt);
bool kl_json_bool_or(const json_t *obj, const char *key, bool dflt);
double kl_json_num_or(const json_t *obj, const char *key, double dflt);

/*
 * Setters. They do not fail, except by KL_BUG. If a string is not UTF-8, its non-ASCII bytes become
 * '?'.
 */
void kl_json_set_str(json_t *obj, const char *key, const char *value); /* NULL value: null */
void kl_json_set_int(json_t *obj, const char *key, int64_t value);
void kl_json_set_bool(json_t *obj, const char *key, bool value);
void kl_json_set_num(json_t *obj, const char *key, double value);
/** Set a member, taking the reference to `value`. */
void kl_json_set(json_t *obj, const char *key, json_t *value);

#endif
