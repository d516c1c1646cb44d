/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_SHAPE_H
#define KL_CARD_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/yaml_write.h"

/*
 * shape - a C structure described by a table: how each of its fields is called, what may stand
 * there, and how it is written. One table reads, checks, writes, copies, compares and frees a row
 * of a card. Inside src/card only; card_table.c has the tables.
 *
 * A list is any structure { T *v; size_t n, alloc; }.
 */
enum kl_field_kind {
	KL_FIELD_LINE,      /* char *: text of one line */
	KL_FIELD_TEXT,      /* char *: text of several lines */
	KL_FIELD_SLUG,      /* char *: [a-z0-9][a-z0-9._-]* */
	KL_FIELD_PATH,      /* char *: slugs joined by '/' */
	KL_FIELD_COMMIT,    /* char *: 40 hex digits */
	KL_FIELD_EVENT,     /* char *: 64 hex digits */
	KL_FIELD_TIME,      /* char *: 2026-11-20T10:00:00Z */
	KL_FIELD_PREDICATE, /* char *: predicate.h */
	KL_FIELD_INT,       /* int64_t within [min, max]; min - 1: absent */
	KL_FIELD_DECIMAL,   /* int64_t, millionths; likewise */
	KL_FIELD_BOOL,      /* bool; false: absent, unless it is needed */
	KL_FIELD_WORD,      /* enum (int): index into words */
	KL_FIELD_FACTS,     /* struct kl_strvec: names of facts, a sorted set */
	KL_FIELD_SLUGS,     /* struct kl_strvec, likewise */
	KL_FIELD_EVENTS,    /* struct kl_strvec, likewise */
	KL_FIELD_PLATFORMS, /* struct kl_strvec of slugs joined by '/', likewise */
	KL_FIELD_LINES,     /* struct kl_strvec of short texts, likewise */
	KL_FIELD_DIMS,      /* struct kl_card_dims: {K: 64} */
	KL_FIELD_LIST,      /* list of `sub` */
	KL_FIELD_MAP,       /* list of `sub`, written as a map by its first field */
	KL_FIELD_GROUP,     /* further fields of the same structure, in a map of their own */
	KL_FIELD_PART,      /* a structure inside, with a bool `there` at its beginning */
	KL_FIELD_KIND,      /* struct kl_strvec as win | {enabler: [...]} */
};

enum kl_field_flags {
	KL_NEEDED = 1 << 0,
	KL_NULL = 1 << 1,  /* absent is written as null */
	KL_KEY = 1 << 2,   /* part of what a row is known by */
	KL_UNION = 1 << 3, /* list: merges keep every row; else three-way */
	KL_ORDER = 1 << 4, /* rows are sorted by these, then by their keys */
	KL_WEAK = 1 << 5,  /* bool: of two versions of a row both must say so */
};

struct kl_shape;

struct kl_field {
	const char *key;
	enum kl_field_kind kind;
	int flags;
	size_t at;        /* offset */
	int64_t min, max; /* numbers: bounds; lists, sets: entries; 0, 0: default */
	const char *const *words;
	const struct kl_shape *sub;
};

struct kl_shape {
	const char *what; /* for messages */
	size_t size;
	const struct kl_field *field; /* ends with a NULL key */
	/** What the table cannot say; errors by kl_yaml_error. May be NULL. */
	int (*check)(const void *obj, const char *name, const struct kl_yaml *at);
	/** A row that has this key is of another table over the same structure. */
	const char *other_key;
	const struct kl_shape *other;
};

struct kl_list {
	char *v;
	size_t n, alloc;
};

/** Fill `obj` (as kl_shape_clear left it); on an error what was read is in `obj`, to be freed. */
int kl_shape_read(void *obj, const struct kl_shape *shape, const char *name,
		  const struct kl_yaml *node);
struct kl_yaml *kl_shape_write(const void *obj, const struct kl_shape *shape);
/** Everything absent. */
void kl_shape_clear(void *obj, const struct kl_shape *shape);
void kl_shape_release(void *obj, const struct kl_shape *shape);
void kl_shape_copy(void *to, const void *from, const struct kl_shape *shape);
/** Lists and sets in order, doubles away. */
void kl_shape_normalize(void *obj, const struct kl_shape *shape);
/** Order of rows: by their keys, then by all they say. */
int kl_shape_compare(const void *left, const void *right, const struct kl_shape *shape);
/** The same row? */
bool kl_shape_same_key(const void *left, const void *right, const struct kl_shape *shape);
/** Of two versions of a row: `into` becomes the one that says more, `from` is released. */
void kl_shape_unite(void *into, void *from, const struct kl_shape *shape);
/** Bytewise equal when written? */
bool kl_shape_equal(const void *left, const void *right, const struct kl_shape *shape);
/** Append a row, taking what it owns. */
void *kl_shape_push(void *list, const void *row, const struct kl_shape *shape);
/** Call for every string of a kind below `obj`. */
void kl_shape_each(const void *obj, const struct kl_shape *shape, enum kl_field_kind kind,
		   void (*fn)(const char *s, void *payload), void *payload);

/** The table that a row follows. */
const struct kl_shape *kl_shape_of(const void *obj, const struct kl_shape *shape);

/* --- the card's (card_table.c) ------------------------------------------------ */

extern const struct kl_shape kl_shape_card, kl_shape_evidence, kl_shape_row, kl_shape_trial,
	kl_shape_risk, kl_shape_pre;

#endif
