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
 *		KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, offsetof(struct pass, name),
 *				&kl_string_slug),
 *		KL_SET_FIELD("languages", 0, offsetof(struct pass, languages),
 *			     &kl_string_slug, 1, 8),
 *		KL_FIELDS_END
 *	};
 *	static const struct kl_schema schema = { "a pass", sizeof(struct pass), fields };
 *
 *	kl_schema_clear(&pass, &schema);
 *	err = kl_schema_read(&pass, &schema, "passes.yaml", node);
 *	kl_schema_release(&pass, &schema);
 *
 * Fields are read in the order of the table, whatever their order in the file, so that the reader
 * of a field can use the fields before it.
 *
 * A list is any structure { T *v; size_t n, alloc; }; its elements are called rows. Other
 * directories of src define more string types, and value types for values that are not strings.
 */
struct kl_field;

/** A string type: which strings are valid. */
struct kl_string_type {
	const char *must_be; /* describes a valid string in messages: "a commit (40 hex digits)" */
	bool (*is_valid)(const char *text, size_t len);
	/**
	 * If not NULL, this function is called instead of is_valid(), to set a more specific error
	 * by kl_yaml_error().
	 */
	int (*check)(const char *file, const struct kl_yaml *node, const char *key);
};

extern const struct kl_string_type kl_string_line; /* one line without control characters */
/** Return true if a text is one that kl_string_line accepts. */
bool kl_string_is_line(const char *text);
/* lines of text; tabs and newlines are allowed */
extern const struct kl_string_type kl_string_text;
extern const struct kl_string_type kl_string_slug;  /* [a-z0-9][a-z0-9._-]*, at most 64 bytes */
extern const struct kl_string_type kl_string_ident; /* a C identifier of at most 63 bytes */
extern const struct kl_string_type kl_string_path;  /* slugs joined by '/', at most 200 bytes */
extern const struct kl_string_type kl_string_time;  /* a time in UTC such as 2026-11-20T10:00:00Z */

/** A type of value that no kind of field covers, given by the functions that handle the value. */
struct kl_value_type {
	int (*read)(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node);
	/**
	 * Returns NULL if the value is absent. This function and the functions below can be NULL if
	 * values are only read.
	 */
	struct kl_yaml *(*write)(const void *at, const struct kl_field *field);
	void (*release)(void *at);
	/** Overwrites `to` by a deep copy of `from`, without releasing `to` first. */
	void (*copy)(void *to, const void *from);
	/** Brings the value into its normal form. NULL if each value has only one form. */
	void (*normalize)(void *at);
	/** Orders two values. NULL if a value of this type cannot be a key. */
	int (*compare)(const void *left, const void *right);
};

/**
 * The type of a key whose value chooses the table. kl_schema_peek() has already read the value, so
 * the function read() of this type does nothing.
 */
extern const struct kl_value_type kl_value_known;

/** A map from names to lines of text, such as {rows: "output axis"}, in the order of the file. */
struct kl_texts {
	struct kl_text {
		char *name, *text;
	} * v;
	size_t n, alloc;
};
extern const struct kl_value_type kl_texts_value;
/** Return the index of a name, or -1 if it is absent. */
int kl_texts_find(const struct kl_texts *texts, const char *name);

enum kl_field_kind {
	KL_FIELD_STRING, /* char *; `string` describes its form; NULL if absent */
	/* struct kl_strvec; `string` describes each entry; kl_schema_normalize() sorts it */
	KL_FIELD_SET,
	KL_FIELD_INT,     /* int64_t within [min, max]; min - 1 if absent */
	KL_FIELD_DECIMAL, /* int64_t in millionths, with bounds as for INT */
	/*
	 * double within [low, high]; if both are 0, any number, .inf and .nan. No value means
	 * absent.
	 */
	KL_FIELD_DOUBLE,
	KL_FIELD_BOOL, /* bool; false is written only if KL_NEEDED is set */
	KL_FIELD_WORD, /* enum (int): index into `words` */
	KL_FIELD_LIST, /* list of rows that `sub` describes */
	/* list of rows that `sub` describes; in YAML a map, whose keys are the rows' first field */
	KL_FIELD_MAP,
	KL_FIELD_GROUP, /* fields of the same structure that are in a nested map in YAML */
	/*
	 * optional nested structure; its first member is a bool, true if the structure is present
	 */
	KL_FIELD_PART,
	KL_FIELD_VALUE, /* a value that `value` handles */
};

enum kl_field_flags {
	KL_NEEDED = 1 << 0, /* it is an error if the field is missing */
	KL_NULL = 1 << 1,   /* an absent value is written as null; null is read as absent */
	KL_KEY = 1 << 2,    /* the field is part of the key that identifies a row */
	/*
	 * list, set: a merge keeps the entries of both sides; without this flag the merge is
	 * three-way
	 */
	KL_UNION = 1 << 3,
	KL_ORDER = 1 << 4, /* rows are sorted by these fields first, then by their keys */
	KL_WEAK = 1 << 5,  /* bool: true after a merge only if it is true in both versions */
	KL_LOOSE = 1 << 6, /* accept the text "null" and numbers like 007, as old contracts have */
};

struct kl_schema;

struct kl_field {
	const char *key; /* NULL at the end of the table */
	enum kl_field_kind kind;
	int flags;
	size_t at; /* offset of the member in the structure */
	/* bounds of the number, or of the number of entries; if both are 0, the default applies */
	int64_t min, max;
	double low, high;                    /* DOUBLE: bounds of the number */
	const struct kl_string_type *string; /* STRING, SET: form of the string or of each entry */
	const char *const *words;            /* WORD: the valid words; ends with NULL */
	const struct kl_schema *sub;       /* LIST, MAP, GROUP, PART: table of the rows or fields */
	const struct kl_value_type *value; /* VALUE: its type */
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
/* for a list or a map that a value type reads by kl_schema_check_list() or kl_schema_check_map() */
#define KL_VALUES_FIELD(name, flag, offset, type, least, most) \
	{ .key = (name), .kind = KL_FIELD_VALUE, .flags = (flag), .at = (offset), .value = (type), \
	  .min = (least), .max = (most) }
#define KL_FIELDS_END { .key = NULL }
/* clang-format on */

struct kl_schema {
	const char *what;             /* name of a structure in messages: "a pass" */
	size_t size;                  /* size of the structure in bytes */
	const struct kl_field *field; /* ends with KL_FIELDS_END */
	/**
	 * Called after all fields were read, for further checks; sets errors by kl_yaml_error().
	 * Can be NULL.
	 */
	int (*check)(const void *obj, const char *file, const struct kl_yaml *at);
	/**
	 * If a row has the key `other_key`, it is read by the table `other`, which describes the
	 * same structure. Both can be NULL.
	 */
	const char *other_key;
	const struct kl_schema *other;
};

/** Any list { T *v; size_t n, alloc; }, with its rows treated as bytes. */
struct kl_list {
	char *v;
	size_t n, alloc;
};

/**
 * Read `obj` from `node`; kl_schema_clear() must have prepared `obj`. On KL_EINVALID, the message
 * is "<file>:<line>:<column>: ...". Fields that were read before the error remain in `obj`; the
 * caller must release `obj` in any case.
 */
int kl_schema_read(void *obj, const struct kl_schema *schema, const char *file,
		   const struct kl_yaml *node);
/**
 * Parse a text that contains one YAML document, and read `obj` from it. `file` is its name in
 * messages.
 */
int kl_schema_parse(void *obj, const struct kl_schema *schema, const char *file, const char *text,
		    size_t len);
/** Like kl_schema_parse(), but for the content of the file `path`. */
int kl_schema_load(void *obj, const struct kl_schema *schema, const char *path, size_t max_bytes);
/**
 * Read the value of one key of a map before the others, because this value chooses the table for
 * the map. In this table the key must have the type kl_value_known. `what` names the map in
 * messages.
 */
int kl_schema_peek(void *obj, const char *what, const char *file, const struct kl_field *field,
		   const struct kl_yaml *node);
/**
 * Check that the table has all keys of `node`. kl_schema_read() does this last. Call this function
 * before kl_schema_read() if a misspelled key would cause misleading errors about later keys.
 */
int kl_schema_check_keys(const struct kl_schema *schema, const char *file,
			 const struct kl_yaml *node);
struct kl_yaml *kl_schema_write(const void *obj, const struct kl_schema *schema);
/** Make all fields absent. `obj` must be zeroed memory. */
void kl_schema_clear(void *obj, const struct kl_schema *schema);
/** Release one field and make it absent; a value type must have a function that releases it. */
void kl_schema_clear_field(void *obj, const struct kl_field *field);
void kl_schema_release(void *obj, const struct kl_schema *schema);
/** Overwrite `to` by a deep copy of `from`, without releasing `to` first. */
void kl_schema_copy(void *to, const void *from, const struct kl_schema *schema);
/** Sort lists and sets, and remove duplicates. */
void kl_schema_normalize(void *obj, const struct kl_schema *schema);
/**
 * Order two rows: by their KL_ORDER fields, then by their keys, then by their written form. Returns
 * a number below, equal to or above 0.
 */
int kl_schema_compare(const void *left, const void *right, const struct kl_schema *schema);
/** Check whether two rows have the same key, or are equal if they have no key. */
bool kl_schema_same_key(const void *left, const void *right, const struct kl_schema *schema);
/**
 * Merge two versions of a row. `into` becomes the version with the longer written form or, if both
 * forms are equally long, the version whose form sorts last. KL_UNION sets get the entries of both
 * versions, and KL_WEAK members stay true only if they are true in both. `from` is released.
 */
void kl_schema_unite(void *into, void *from, const struct kl_schema *schema);
/** Check whether two rows have the same written form. */
bool kl_schema_equal(const void *left, const void *right, const struct kl_schema *schema);
/**
 * Append the bytes of a row to a list, which then owns the data that the row points to. Return the
 * new row.
 */
void *kl_schema_push(void *list, const void *row, const struct kl_schema *schema);
/**
 * Call `fn` for every string of type `type` in `obj` and in its nested rows and parts. The entries
 * of sets are included.
 */
void kl_schema_each(const void *obj, const struct kl_schema *schema,
		    const struct kl_string_type *type, void (*fn)(const char *text, void *payload),
		    void *payload);

/** Return the table that describes a row: `schema` or schema->other. */
const struct kl_schema *kl_schema_of(const void *obj, const struct kl_schema *schema);

/* --- functions for the readers and writers of value types ------------------------------ */

/** Return the structure that contains `field`, from the address `at` of that field. */
static inline void *kl_schema_owner(void *at, const struct kl_field *field)
{
	return (char *)at - field->at;
}

/**
 * Read one value as `field` describes it. The field need not be in a table: the value can be an
 * entry of a list.
 */
int kl_schema_read_value(void *out, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node);
/** Read a scalar, which must not be empty, as text. *out is borrowed from `node`. */
int kl_schema_read_text(const char **out, const char *file, const struct kl_field *field,
			const struct kl_yaml *node);
/**
 * Check that `node` is a list (or a map), and that the number of its entries is within the bounds
 * of `field`.
 */
int kl_schema_check_list(const char *file, const struct kl_field *field,
			 const struct kl_yaml *node);
int kl_schema_check_map(const char *file, const struct kl_field *field, const struct kl_yaml *node);
/** Read a whole number, which must be unquoted and within the bounds of `field`. */
int kl_schema_read_int(int64_t *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
/** Read a set as for a field of kind SET. */
int kl_schema_read_set(struct kl_strvec *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node);
struct kl_yaml *kl_schema_write_set(const struct kl_strvec *set);
struct kl_yaml *kl_schema_write_int(int64_t value);

#endif
