/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_SCHEMA_H
#define KL_TEXT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "text/yaml_write.h"

/*
 * schema - a C structure described by a table: what its fields are called in YAML, what each may
 * hold, and who owns it. One table reads, checks, writes, copies, compares and frees a structure:
 *
 *	static const struct kl_field fields[] = {
 *		KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, offsetof(struct pass, name), &kl_string_slug),
 *		KL_SET_FIELD("languages", 0, offsetof(struct pass, languages), &kl_string_slug, 1, 8),
 *		KL_FIELDS_END
 *	};
 *	static const struct kl_schema schema = { "a pass", sizeof(struct pass), fields };
 *
 *	kl_schema_clear(&pass, &schema);
 *	err = kl_schema_read(&pass, &schema, "passes.yaml", node);
 *	kl_schema_release(&pass, &schema);
 *
 * Fields are read in the order of the table, whatever the order of the file, so that a value type
 * can use what stands above it.
 *
 * A list is any structure { T *v; size_t n, alloc; }. What a room means by a text is a string type
 * of its own, any other kind of value a value type.
 */
struct kl_field;

/** What a text may be. */
struct kl_string_type {
	const char *must_be; /* for messages: "a commit (40 hex digits)" */
	bool (*is_valid)(const char *text, size_t len);
	/** Instead of both, where the message says more: errors by kl_yaml_error(). */
	int (*check)(const char *file, const struct kl_yaml *node, const char *key);
};

extern const struct kl_string_type kl_string_line; /* one line without control characters */
extern const struct kl_string_type kl_string_text; /* lines; tabs and newlines, too */
extern const struct kl_string_type kl_string_slug; /* [a-z0-9][a-z0-9._-]*, at most 64 */
extern const struct kl_string_type kl_string_path; /* slugs joined by '/' */
extern const struct kl_string_type kl_string_time; /* 2026-11-20T10:00:00Z */

/** A kind of value that a room adds. */
struct kl_value_type {
	int (*read)(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node);
	/** Returns NULL for an absent value. Where all is only read, the rest may be NULL. */
	struct kl_yaml *(*write)(const void *at, const struct kl_field *field);
	void (*release)(void *at);
	/** What is at `to` is not released. */
	void (*copy)(void *to, const void *from);
	/** NULL: there is one form only. */
	void (*normalize)(void *at);
	/** NULL: it cannot be a key. */
	int (*compare)(const void *left, const void *right);
};

/** A map of names to lines of text, in the order of the file: {rows: "output axis"}. */
struct kl_texts {
	struct kl_text {
		char *name, *text;
	} * v;
	size_t n, alloc;
};
extern const struct kl_value_type kl_texts_value;
/** Index of a name, -1. */
int kl_texts_find(const struct kl_texts *texts, const char *name);

enum kl_field_kind {
	KL_FIELD_STRING,  /* char * of a string type; NULL: absent */
	KL_FIELD_SET,     /* struct kl_strvec of a string type; sorted when it is normalized */
	KL_FIELD_INT,     /* int64_t within [min, max]; min - 1: absent */
	KL_FIELD_DECIMAL, /* int64_t, millionths; likewise */
	KL_FIELD_DOUBLE,  /* double within [low, high], decimal; nothing stands for absent */
	KL_FIELD_BOOL,    /* bool; false: absent, unless it is needed */
	KL_FIELD_WORD,    /* enum (int): index into words */
	KL_FIELD_LIST,    /* list of `sub` */
	KL_FIELD_MAP,     /* list of `sub`, written as a map by its first field, a string */
	KL_FIELD_GROUP,   /* further fields of the same structure, in a map of their own */
	KL_FIELD_PART,    /* a structure inside, with a bool `there` at its beginning */
	KL_FIELD_VALUE,   /* of a value type */
};

enum kl_field_flags {
	KL_NEEDED = 1 << 0,
	KL_NULL = 1 << 1,  /* absent is written as null */
	KL_KEY = 1 << 2,   /* part of what a row is known by */
	KL_UNION = 1 << 3, /* list: merges keep every row; else three-way */
	KL_ORDER = 1 << 4, /* rows are sorted by these, then by their keys */
	KL_WEAK = 1 << 5,  /* bool: of two versions of a row both must say so */
};

struct kl_schema;

struct kl_field {
	const char *key; /* NULL: the end of a table */
	enum kl_field_kind kind;
	int flags;
	size_t at;        /* offset */
	int64_t min, max; /* of a number, of a count of entries; 0, 0: the default */
	double low, high; /* DOUBLE */
	const struct kl_string_type *string; /* STRING; of each entry of a SET */
	const char *const *words;            /* WORD */
	const struct kl_schema *sub;         /* LIST, MAP, GROUP, PART */
	const struct kl_value_type *value;   /* VALUE */
};

/* clang-format off */
#define KL_STRING_FIELD(name, flag, offset, type) \
	{ .key = (name), .kind = KL_FIELD_STRING, .flags = (flag), .at = (offset), .string = (type) }
#define KL_SET_FIELD(name, flag, offset, type, least, most) \
	{ .key = (name), .kind = KL_FIELD_SET, .flags = (flag), .at = (offset), .string = (type), \
	  .min = (least), .max = (most) }
#define KL_INT_FIELD(name, flag, offset, least, most) \
	{ .key = (name), .kind = KL_FIELD_INT, .flags = (flag), .at = (offset), \
	  .min = (least), .max = (most) }
#define KL_DECIMAL_FIELD(name, flag, offset, least, most) \
	{ .key = (name), .kind = KL_FIELD_DECIMAL, .flags = (flag), .at = (offset), \
	  .min = (least), .max = (most) }
#define KL_DOUBLE_FIELD(name, flag, offset, least, most) \
	{ .key = (name), .kind = KL_FIELD_DOUBLE, .flags = (flag), .at = (offset), \
	  .low = (least), .high = (most) }
#define KL_BOOL_FIELD(name, flag, offset) \
	{ .key = (name), .kind = KL_FIELD_BOOL, .flags = (flag), .at = (offset) }
#define KL_WORD_FIELD(name, flag, offset, list) \
	{ .key = (name), .kind = KL_FIELD_WORD, .flags = (flag), .at = (offset), .words = (list) }
#define KL_LIST_FIELD(name, flag, offset, of, least, most) \
	{ .key = (name), .kind = KL_FIELD_LIST, .flags = (flag), .at = (offset), .sub = (of), \
	  .min = (least), .max = (most) }
#define KL_MAP_FIELD(name, flag, offset, of, least, most) \
	{ .key = (name), .kind = KL_FIELD_MAP, .flags = (flag), .at = (offset), .sub = (of), \
	  .min = (least), .max = (most) }
#define KL_GROUP_FIELD(name, flag, offset, of) \
	{ .key = (name), .kind = KL_FIELD_GROUP, .flags = (flag), .at = (offset), .sub = (of) }
#define KL_PART_FIELD(name, flag, offset, of) \
	{ .key = (name), .kind = KL_FIELD_PART, .flags = (flag), .at = (offset), .sub = (of) }
#define KL_VALUE_FIELD(name, flag, offset, type) \
	{ .key = (name), .kind = KL_FIELD_VALUE, .flags = (flag), .at = (offset), .value = (type) }
#define KL_FIELDS_END { .key = NULL }
/* clang-format on */

struct kl_schema {
	const char *what; /* for messages: "a pass" */
	size_t size;
	const struct kl_field *field; /* the last has no key */
	/** What the table cannot say; errors by kl_yaml_error(). May be NULL. */
	int (*check)(const void *obj, const char *file, const struct kl_yaml *at);
	/** A row that has this key is of another table over the same structure. */
	const char *other_key;
	const struct kl_schema *other;
};

struct kl_list {
	char *v;
	size_t n, alloc;
};

/**
 * Fill `obj` (as kl_schema_clear left it). KL_EINVALID "<file>:<line>:<column>: ..."; what was read
 * until then is in `obj`, to be released.
 */
int kl_schema_read(void *obj, const struct kl_schema *schema, const char *file,
		   const struct kl_yaml *node);
/** The same of a file's text, one document. */
int kl_schema_parse(void *obj, const struct kl_schema *schema, const char *file, const char *text,
		    size_t len);
/** The same of a file. */
int kl_schema_load(void *obj, const struct kl_schema *schema, const char *path, size_t max_bytes);
struct kl_yaml *kl_schema_write(const void *obj, const struct kl_schema *schema);
/** Everything absent, in zeroed memory. */
void kl_schema_clear(void *obj, const struct kl_schema *schema);
void kl_schema_release(void *obj, const struct kl_schema *schema);
void kl_schema_copy(void *to, const void *from, const struct kl_schema *schema);
/** Lists and sets in order, doubles away. */
void kl_schema_normalize(void *obj, const struct kl_schema *schema);
/** Order of rows: by their keys, then by all they say. */
int kl_schema_compare(const void *left, const void *right, const struct kl_schema *schema);
/** The same row? */
bool kl_schema_same_key(const void *left, const void *right, const struct kl_schema *schema);
/** Of two versions of a row: `into` becomes the one that says more, `from` is released. */
void kl_schema_unite(void *into, void *from, const struct kl_schema *schema);
/** Bytewise equal when written? */
bool kl_schema_equal(const void *left, const void *right, const struct kl_schema *schema);
/** Append a row, taking what it owns. */
void *kl_schema_push(void *list, const void *row, const struct kl_schema *schema);
/** Call for every string of a type below `obj`, of sets, too. */
void kl_schema_each(const void *obj, const struct kl_schema *schema,
		    const struct kl_string_type *type, void (*fn)(const char *text, void *payload),
		    void *payload);

/** The table that a row follows. */
const struct kl_schema *kl_schema_of(const void *obj, const struct kl_schema *schema);

/* --- for value types ---------------------------------------------------------- */

/** Whole, unquoted, within the field's bounds. */
int kl_schema_read_int(int64_t *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
/** As a field of kind SET. */
int kl_schema_read_set(struct kl_strvec *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
struct kl_yaml *kl_schema_write_set(const struct kl_strvec *set);
struct kl_yaml *kl_schema_write_int(int64_t value);

#endif
