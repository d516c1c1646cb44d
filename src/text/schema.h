/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_SCHEMA_H
#define KL_TEXT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "text/yaml_write.h"

/*
 * schema - reads, writes, copies and compares C structures that a table describes.
 *
 * The table gives for each field its key in YAML, its type and its bounds. One table is enough to
 * read, check, write, copy, compare and free a structure:
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
 * can use the fields above it.
 *
 * A list is any structure { T *v; size_t n, alloc; }. Other rooms add their own string types, and
 * value types for anything that is not a string.
 */
struct kl_field;

/** The valid forms of a string. */
struct kl_string_type {
	const char *must_be; /* for messages: "a commit (40 hex digits)" */
	bool (*is_valid)(const char *text, size_t len);
	/** Replaces both to give more specific errors, by kl_yaml_error(). Can be NULL. */
	int (*check)(const char *file, const struct kl_yaml *node, const char *key);
};

extern const struct kl_string_type kl_string_line;  /* one line without control characters */
extern const struct kl_string_type kl_string_text;  /* lines; tabs and newlines, too */
extern const struct kl_string_type kl_string_slug;  /* [a-z0-9][a-z0-9._-]*, at most 64 */
extern const struct kl_string_type kl_string_ident; /* C identifier, at most 63 */
extern const struct kl_string_type kl_string_path;  /* slugs joined by '/' */
extern const struct kl_string_type kl_string_time;  /* 2026-11-20T10:00:00Z */

/** Functions for a type of value that the table itself does not know. */
struct kl_value_type {
	int (*read)(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node);
	/**
	 * Returns NULL if the value is absent. The functions below can be NULL if values are only
	 * read.
	 */
	struct kl_yaml *(*write)(const void *at, const struct kl_field *field);
	void (*release)(void *at);
	/** Overwrites `to` without releasing it. */
	void (*copy)(void *to, const void *from);
	/** NULL if a value has only one form. */
	void (*normalize)(void *at);
	/** NULL if such a value cannot be a key. */
	int (*compare)(const void *left, const void *right);
};

/** Type of a key that kl_schema_peek() has read before, since it chose the table: does nothing. */
extern const struct kl_value_type kl_value_known;

/** A map of names to lines of text, in the order of the file: {rows: "output axis"}. */
struct kl_texts {
	struct kl_text {
		char *name, *text;
	} * v;
	size_t n, alloc;
};
extern const struct kl_value_type kl_texts_value;
/** Index of a name, or -1. */
int kl_texts_find(const struct kl_texts *texts, const char *name);

enum kl_field_kind {
	KL_FIELD_STRING,  /* char * of a string type; NULL: absent */
	KL_FIELD_SET,     /* struct kl_strvec of a string type; normalizing sorts it */
	KL_FIELD_INT,     /* int64_t within [min, max]; absent is min - 1 */
	KL_FIELD_DECIMAL, /* int64_t in millionths, otherwise as INT */
	KL_FIELD_DOUBLE,  /* double within [low, high]; there is no value for absent.
			     Both 0: any number, also .inf and .nan */
	KL_FIELD_BOOL,    /* bool; false: absent, unless it is needed */
	KL_FIELD_WORD,    /* enum (int): index into words */
	KL_FIELD_LIST,    /* list of `sub` */
	KL_FIELD_MAP,     /* list of `sub`, as a map whose keys are the first field, a string */
	KL_FIELD_GROUP,   /* more fields of the same structure, in a nested map */
	KL_FIELD_PART,    /* optional: a structure inside that begins with a bool `there` */
	KL_FIELD_VALUE,   /* a value type */
};

enum kl_field_flags {
	KL_NEEDED = 1 << 0,
	KL_NULL = 1 << 1,  /* absent is written as null */
	KL_KEY = 1 << 2,   /* part of the key that identifies a row */
	KL_UNION = 1 << 3, /* list, set: a merge keeps all entries; otherwise it is three-way */
	KL_ORDER = 1 << 4, /* rows are sorted by these fields first, then by their keys */
	KL_WEAK = 1 << 5,  /* bool: true after a merge only if both versions of a row have it */
	KL_LOOSE = 1 << 6, /* null is a text and 007 a number, as contracts have always allowed */
};

struct kl_schema;

struct kl_field {
	const char *key; /* NULL: end of the table */
	enum kl_field_kind kind;
	int flags;
	size_t at;        /* offset in the structure */
	int64_t min, max; /* bounds of the number or of the count of entries; 0, 0: the default */
	double low, high; /* DOUBLE */
	const struct kl_string_type *string; /* STRING, SET: type of each entry */
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
/* a list or a map; its value type calls kl_schema_check_list() or kl_schema_check_map() */
#define KL_VALUES_FIELD(name, flag, offset, type, least, most) \
	{ .key = (name), .kind = KL_FIELD_VALUE, .flags = (flag), .at = (offset), .value = (type), \
	  .min = (least), .max = (most) }
#define KL_FIELDS_END { .key = NULL }
/* clang-format on */

struct kl_schema {
	const char *what; /* for messages: "a pass" */
	size_t size;
	const struct kl_field *field; /* ends with KL_FIELDS_END */
	/** Further checks after reading; errors by kl_yaml_error(). Can be NULL. */
	int (*check)(const void *obj, const char *file, const struct kl_yaml *at);
	/** A row with this key follows the table `other`, for the same structure. */
	const char *other_key;
	const struct kl_schema *other;
};

/** Any list { T *v; size_t n, alloc; }, with its rows as bytes. */
struct kl_list {
	char *v;
	size_t n, alloc;
};

/**
 * Read `obj`, which kl_schema_clear() prepared. Errors are KL_EINVALID "<file>:<line>:<column>:
 * ..."; the fields read so far remain in `obj`, and the caller releases it in any case.
 */
int kl_schema_read(void *obj, const struct kl_schema *schema, const char *file,
		   const struct kl_yaml *node);
/** Parse a text with one document, and read `obj` from it. `file` is for messages. */
int kl_schema_parse(void *obj, const struct kl_schema *schema, const char *file, const char *text,
		    size_t len);
/** The same for the contents of a file. */
int kl_schema_load(void *obj, const struct kl_schema *schema, const char *path, size_t max_bytes);
/**
 * Read one key of a map before the others, because it chooses their table. In that table the key
 * has the type kl_value_known. `what` names the map in messages.
 */
int kl_schema_peek(void *obj, const char *what, const char *file, const struct kl_field *field,
		   const struct kl_yaml *node);
/**
 * Report a key that the table does not have. kl_schema_read() does so last; call this first where a
 * misspelled key would make the keys after it wrong.
 */
int kl_schema_check_keys(const struct kl_schema *schema, const char *file,
			 const struct kl_yaml *node);
struct kl_yaml *kl_schema_write(const void *obj, const struct kl_schema *schema);
/** Make all fields absent; `obj` is zeroed memory. */
void kl_schema_clear(void *obj, const struct kl_schema *schema);
void kl_schema_release(void *obj, const struct kl_schema *schema);
/** Overwrite `to` by a deep copy, without releasing it first. */
void kl_schema_copy(void *to, const void *from, const struct kl_schema *schema);
/** Sort lists and sets, and remove duplicates. */
void kl_schema_normalize(void *obj, const struct kl_schema *schema);
/** Order of rows: by KL_ORDER fields, then by keys, then by their written form. */
int kl_schema_compare(const void *left, const void *right, const struct kl_schema *schema);
/** True if two rows have the same key; rows without a key must be equal. */
bool kl_schema_same_key(const void *left, const void *right, const struct kl_schema *schema);
/**
 * Merge two versions of a row. `into` becomes the version whose written form is longer (if equally
 * long, greater), with KL_UNION sets united; `from` is released.
 */
void kl_schema_unite(void *into, void *from, const struct kl_schema *schema);
/** True if both are equal when written. */
bool kl_schema_equal(const void *left, const void *right, const struct kl_schema *schema);
/** Append the bytes of a row, taking ownership of what they refer to. Returns the new row. */
void *kl_schema_push(void *list, const void *row, const struct kl_schema *schema);
/** Call `fn` for every string of a type in `obj` and below it, including entries of sets. */
void kl_schema_each(const void *obj, const struct kl_schema *schema,
		    const struct kl_string_type *type, void (*fn)(const char *text, void *payload),
		    void *payload);

/** The table that a row follows: `schema` or schema->other. */
const struct kl_schema *kl_schema_of(const void *obj, const struct kl_schema *schema);

/* --- for value types ---------------------------------------------------------- */

/** The structure that contains the field which a value type reads at `at`. */
static inline void *kl_schema_owner(void *at, const struct kl_field *field)
{
	return (char *)at - field->at;
}

/** Read one value by a field that need not be in a table, such as an entry of a list. */
int kl_schema_read_value(void *out, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node);
/** Read a scalar that is not empty as text; borrowed. */
int kl_schema_read_text(const char **out, const char *file, const struct kl_field *field,
			const struct kl_yaml *node);
/**
 * Check that it is a list or a map, and that the number of entries is within the field's bounds.
 */
int kl_schema_check_list(const char *file, const struct kl_field *field,
			 const struct kl_yaml *node);
int kl_schema_check_map(const char *file, const struct kl_field *field, const struct kl_yaml *node);
/** Read a whole number, unquoted and within the field's bounds. */
int kl_schema_read_int(int64_t *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
/** Read a set, like a field of kind SET. */
int kl_schema_read_set(struct kl_strvec *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
struct kl_yaml *kl_schema_write_set(const struct kl_strvec *set);
struct kl_yaml *kl_schema_write_int(int64_t value);

#endif
