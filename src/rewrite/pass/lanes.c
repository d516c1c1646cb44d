/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/lanes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "rewrite/pass/lanes_table.h"

#define MAX_WORD 64
#define MAX_STATEMENTS 16

const char *kl_lanes_type(const char *word)
{
	static const struct {
		const char *prefix, *type;
	} width[] = { { "__m128", "kl_lanes128" },
		      { "__m256", "kl_lanes256" },
		      { "__m512", "kl_lanes512" } };
	static const char *const kind[] = { "", "i", "d", "_u", "i_u", "d_u" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(width); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(kind); k++)
			if (kl_prefix_has(word, width[i].prefix) && !strcmp(word + 6, kind[k]))
				return width[i].type;
	return NULL;
}

/*
 * Return the width in bits of the vectors of an intrinsic, or 0 if it has none. Set *rest to the
 * part of the name after the prefix.
 */
static int read_width(const char **rest, const char *word)
{
	static const struct {
		const char *prefix;
		int width;
	} known[] = { { "_mm256_", 256 }, { "_mm512_", 512 }, { "_mm_", 128 } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (kl_prefix_has(word, known[i].prefix)) {
			*rest = word + strlen(known[i].prefix);
			return known[i].width;
		}
	return 0;
}

bool kl_lanes_intrinsic(const char *word)
{
	/* these have neither a vector operand nor a vector result */
	static const char *const other[] = { "prefetch", "pause",  "sfence", "lfence",
					     "mfence",   "malloc", "free",   "popcnt",
					     "crc32",    "getcsr", "setcsr", "clflush" };
	const char *rest;

	if (!read_width(&rest, word))
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(other); i++)
		if (kl_prefix_has(rest, other[i]))
			return false;
	return true;
}

void kl_lanes_types(struct kl_buf *out, const char *used)
{
	for (int width = 128; width <= 512; width *= 2) {
		KL_AUTO(kl_freep) char *name = kl_asprintf("kl_lanes%d", width);

		if (!strstr(used, name))
			continue;
		kl_buf_addf(out,
			    "typedef union {\n\tfloat f32[%d];\n\tdouble f64[%d];\n"
			    "\tint8_t i8[%d];\n\tuint8_t u8[%d];\n\tint16_t i16[%d];\n"
			    "\tuint16_t u16[%d];\n\tint32_t i32[%d];\n\tuint32_t u32[%d];\n"
			    "\tint64_t i64[%d];\n\tuint64_t u64[%d];\n} %s;\n\n",
			    width / 32, width / 64, width / 8, width / 8, width / 16, width / 16,
			    width / 32, width / 32, width / 64, width / 64, name);
	}
}

/* --- functions ---------------------------------------------------------------------------- */

/* What the words of a row stand for. */
struct meaning {
	int width;
	const struct kl_lane_kind *kind;
};

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

/*
 * Append `text` with its words replaced: '@' by the array of the kind, '%' by the array of unsigned
 * numbers of its size, '#' by the number of its elements, and "i" by `lane` unless that is -1.
 */
static void add_words(struct kl_buf *out, const char *text, const struct meaning *meaning, int lane)
{
	const struct kl_lane_kind *kind = meaning->kind;

	for (const char *start = text; *text; text++) {
		if (lane >= 0 && *text == 'i' && !is_word(text[1]) &&
		    (text == start || !(is_word(text[-1]) || text[-1] == '.')))
			kl_buf_addf(out, "%d", lane);
		else if (*text == '@')
			kl_buf_adds(out, kind->array);
		else if (*text == '%' && text > start && text[-1] == '.')
			kl_buf_addf(out, "u%d", kind->bits);
		else if (*text == '#')
			kl_buf_addf(out, "%d", meaning->width / kind->bits);
		else
			kl_buf_addch(out, *text);
	}
}

/* Append the type of parameter or result `code`. */
static void add_type(struct kl_buf *out, char code, const struct meaning *meaning)
{
	switch (code) {
	case 'v':
		kl_buf_addf(out, "kl_lanes%d ", meaning->width);
		break;
	case 'h':
		kl_buf_addf(out, "kl_lanes%d ", meaning->width / 2);
		break;
	case 'w':
		kl_buf_addf(out, "kl_lanes%d ", meaning->width * 2);
		break;
	case 'x':
		kl_buf_adds(out, "kl_lanes128 ");
		break;
	case 'e':
		kl_buf_addf(out, "%s ", meaning->kind->type);
		break;
	case 'p':
		kl_buf_adds(out, "const void *");
		break;
	case 'P':
		kl_buf_adds(out, "void *");
		break;
	case 'm':
		kl_buf_adds(out, "uint64_t ");
		break;
	case 'q':
		kl_buf_adds(out, "long long ");
		break;
	case 'f':
		kl_buf_adds(out, "float ");
		break;
	case 'd':
		kl_buf_adds(out, "double ");
		break;
	case '0':
		kl_buf_adds(out, "void ");
		break;
	default:
		kl_buf_adds(out, "int ");
	}
}

/* Append a function with a parameter for each element, in the order of lanes or reversed. */
static void add_setter(struct kl_buf *out, const char *name, const struct meaning *meaning,
		       bool reversed)
{
	int count = meaning->width / meaning->kind->bits;

	kl_buf_addf(out, "static inline kl_lanes%d %s(", meaning->width, name);
	for (int i = 0; i < count; i++)
		kl_buf_addf(out, "%s%s e%d", i ? ", " : "", meaning->kind->type,
			    reversed ? count - 1 - i : i);
	kl_buf_addf(out, ")\n{\n\tkl_lanes%d r;\n\n", meaning->width);
	for (int i = 0; i < count; i++)
		kl_buf_addf(out, "\tr.%s[%d] = e%d;\n", meaning->kind->array, i, i);
	kl_buf_adds(out, "\treturn r;\n}\n\n");
}

/*
 * Append the statement of each lane, one after the other: a loop would keep the compiler from
 * holding the elements in registers. Only long vectors get a loop.
 */
static void add_lanes(struct kl_buf *out, const char *each, const struct meaning *meaning)
{
	int count = meaning->width / meaning->kind->bits;

	if (count > MAX_STATEMENTS)
		add_words(out, "\tfor (int i = 0; i < #; i++)\n\t", meaning, -1);
	for (int i = 0; i < count && (i == 0 || count <= MAX_STATEMENTS); i++) {
		kl_buf_addch(out, '\t');
		add_words(out, each, meaning, count > MAX_STATEMENTS ? -1 : i);
		kl_buf_adds(out, ";\n");
	}
}

static void add_function(struct kl_buf *out, const char *name, const struct kl_lane_row *row,
			 const struct meaning *meaning)
{
	kl_buf_adds(out, "static inline ");
	add_type(out, row->result, meaning);
	kl_buf_addf(out, "%s(", name);
	for (size_t i = 0; row->params[i]; i++) {
		kl_buf_adds(out, i ? ", " : "");
		add_type(out, row->params[i], meaning);
		kl_buf_addch(out, (char)('a' + i));
	}
	kl_buf_adds(out, *row->params ? ")\n{\n" : "void)\n{\n");
	if (strchr("vhwx", row->result)) {
		kl_buf_addch(out, '\t');
		add_type(out, row->result, meaning);
		kl_buf_adds(out, "r;\n\n");
	}
	if (row->each)
		add_lanes(out, row->each, meaning);
	if (row->code) {
		kl_buf_addch(out, '\t');
		add_words(out, row->code, meaning, -1);
		kl_buf_addch(out, '\n');
	}
	kl_buf_adds(out, strchr("vhwx", row->result) ? "\treturn r;\n}\n\n" : "}\n\n");
}

/* Check that the row's list of kinds has `kind`. */
static bool lists(const char *kinds, const char *kind)
{
	size_t n = strlen(kind);

	for (const char *at = kinds; (at = strstr(at, kind)); at += n)
		if ((at == kinds || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* Check that `rest` is "op_kind" of this row or, in a row without kinds, exactly "op". */
static const struct kl_lane_kind *match_row(const struct kl_lane_row *row, const char *rest)
{
	size_t n = strlen(row->op);

	if (strncmp(rest, row->op, n) != 0)
		return NULL;
	if (!*row->kinds)
		return rest[n] ? NULL : kl_lane_kind_find("si");
	return rest[n] == '_' && lists(row->kinds, rest + n + 1) ? kl_lane_kind_find(rest + n + 1) :
								   NULL;
}

bool kl_lanes_function(struct kl_buf *out, char **name, const char *word)
{
	struct meaning meaning = { 0 };
	const char *rest;

	if (strlen(word) > MAX_WORD || !(meaning.width = read_width(&rest, word)))
		return false;
	for (size_t i = 0; i < kl_lane_rows_n; i++) {
		const struct kl_lane_row *row = &kl_lane_rows[i];

		if ((row->width && row->width != meaning.width) ||
		    !(meaning.kind = match_row(row, rest)))
			continue;
		*name = kl_asprintf("lanes%d_%s", meaning.width, rest);
		if (row->setter)
			add_setter(out, *name, &meaning, row->setter < 0);
		else
			add_function(out, *name, row, &meaning);
		return true;
	}
	return false;
}
