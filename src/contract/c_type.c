/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/c_type.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

#define DEEPEST 8 /* longest chain of typedefs and aliases that is followed */

/* clang-format off */
static const struct { const char *type, *dtype; } names[] = {
	{ "_Float16", "f16" }, { "__fp16", "f16" }, { "__half", "f16" }, { "half", "f16" },
	{ "__bf16", "bf16" }, { "__nv_bfloat16", "bf16" }, { "nv_bfloat16", "bf16" },
	{ "bool", "bool" }, { "_Bool", "bool" },
	{ "int8_t", "i8" }, { "int16_t", "i16" }, { "int32_t", "i32" }, { "int64_t", "i64" },
	{ "uint8_t", "u8" }, { "uint16_t", "u16" }, { "uint32_t", "u32" }, { "uint64_t", "u64" },
	{ "ptrdiff_t", "i64" }, { "ssize_t", "i64" }, { "intptr_t", "i64" },
	{ "size_t", "u64" }, { "uintptr_t", "u64" },
	{ "i8", "i8" }, { "i16", "i16" }, { "i32", "i32" }, { "i64", "i64" },
	{ "s8", "i8" }, { "s16", "i16" }, { "s32", "i32" }, { "s64", "i64" },
	{ "u8", "u8" }, { "u16", "u16" }, { "u32", "u32" }, { "u64", "u64" },
	{ "U8", "u8" }, { "U16", "u16" }, { "U32", "u32" }, { "U64", "u64" },
	{ "f32", "f32" }, { "f64", "f64" }, { "uchar", "u8" }, { "ushort", "u16" },
	{ "uint", "u32" },
};
/* clang-format on */

/* How often each word of a basic type occurs. */
struct basic {
	int is_unsigned, is_signed, shorts, longs, ints, chars, floats, doubles, others;
};

static void count_word(struct basic *basic, const char *word)
{
	int *const at[] = {
		&basic->is_unsigned, &basic->is_signed, &basic->shorts, &basic->longs,
		&basic->ints,        &basic->chars,     &basic->floats, &basic->doubles
	};
	static const char *const words[] = { "unsigned", "signed", "short", "long",
					     "int",      "char",   "float", "double" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i])) {
			++*at[i];
			return;
		}
	}
	basic->others++;
}

/* Return the element type of a type of C itself, whose words can be in any order. */
static const char *basic_dtype(const struct kl_strvec *words)
{
	struct basic basic = { 0 };

	for (size_t i = 0; i < words->n; i++)
		count_word(&basic, words->v[i]);
	if (!words->n || basic.others)
		return NULL;
	if (basic.floats || basic.doubles)
		return words->n > 1 ? NULL : basic.floats ? "f32" : "f64";
	if (basic.chars)
		return basic.is_unsigned ? "u8" : "i8";
	if (basic.shorts)
		return basic.is_unsigned ? "u16" : "i16";
	if (basic.longs)
		return basic.is_unsigned ? "u64" : "i64";
	return basic.is_unsigned ? "u32" : "i32";
}

static bool is_ignored(const char *word)
{
	static const char *const ignored[] = { "const", "volatile", "__const", NULL };

	for (size_t i = 0; ignored[i]; i++)
		if (!strcmp(word, ignored[i]))
			return true;
	return false;
}

/*
 * Collect the words of the type in a simple typedef of `name`, such as "typedef unsigned int u32",
 * into `out`. Return false if the source has no such typedef. Typedefs of arrays, pointers and
 * struct definitions are not simple.
 */
static bool find_typedef(struct kl_strvec *out, const struct kl_tokens *tokens, const char *name)
{
	for (size_t i = 0; i < tokens->n; i++) {
		size_t end = i + 1;

		if (!kl_token_is(tokens, i, "typedef"))
			continue;
		while (end < tokens->n && tokens->t[end].kind == KL_TOKEN_WORD)
			end++;
		if (!kl_token_is(tokens, end, ";") || !kl_token_is(tokens, end - 1, name))
			continue;
		for (size_t k = i + 1; k + 1 < end; k++) {
			char *word = kl_strndup(tokens->t[k].s, tokens->t[k].n);

			if (is_ignored(word))
				free(word);
			else
				kl_strvec_take(out, word);
		}
		return true;
	}
	return false;
}

/*
 * Collect the words after "using name =" or "#define name" into `out`. Return false if the source
 * has neither, or if something other than words follows.
 */
static bool find_alias(struct kl_strvec *out, const struct kl_tokens *tokens, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i + 3 < tokens->n; i++) {
		if (!kl_token_is(tokens, i, "using") || !kl_token_is(tokens, i + 1, name) ||
		    !kl_token_is(tokens, i + 2, "="))
			continue;
		for (i += 3; i < tokens->n && tokens->t[i].kind == KL_TOKEN_WORD; i++)
			kl_strvec_take(out, kl_strndup(tokens->t[i].s, tokens->t[i].n));
		return kl_token_is(tokens, i, ";");
	}
	for (size_t i = 0; i < tokens->macros.n; i++) {
		KL_AUTO(kl_tokens_release) struct kl_tokens text = { 0 };
		const char *macro = tokens->macros.v[i];

		if (strncmp(macro, name, n) != 0 || !isspace((unsigned char)macro[n]))
			continue;
		kl_lexer_read(&text, macro + n, strlen(macro + n));
		for (size_t k = 0; k < text.n && text.t[k].kind == KL_TOKEN_WORD; k++)
			kl_strvec_take(out, kl_strndup(text.t[k].s, text.t[k].n));
		return out->n && out->n == text.n;
	}
	return false;
}

static const char *dtype_at(const struct kl_tokens *tokens, const struct kl_strvec *words,
			    int depth)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec meant = KL_STRVEC_INIT;
	const char *basic = basic_dtype(words);

	if (basic)
		return basic;
	/* by default, an enumeration has the size of an int */
	if (words->n == 2 && !strcmp(words->v[0], "enum"))
		return "i32";
	if (words->n != 1)
		return NULL;
	if (depth < DEEPEST &&
	    (find_typedef(&meant, tokens, words->v[0]) || find_alias(&meant, tokens, words->v[0])))
		return dtype_at(tokens, &meant, depth + 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].type, words->v[0]))
			return names[i].dtype;
	return NULL;
}

bool kl_c_type_is_standard(const struct kl_strvec *words)
{
	static const char *const known[] = { "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", NULL };
	const char *word = words->n == 1 ? words->v[0] : "";
	size_t len = strlen(word);

	if (basic_dtype(words))
		return true;
	for (size_t i = 0; known[i]; i++)
		if (!strcmp(word, known[i]))
			return true;
	/* the types int8_t to uint64_t */
	return len > 4 && !strcmp(word + len - 2, "_t") &&
	       (!strncmp(word, "int", 3) || !strncmp(word, "uint", 4));
}

const char *kl_c_type_name(const char *dtype)
{
	/* clang-format off */
	static const struct { const char *dtype, *name; } known[] = {
		{ "f64", "double" }, { "f32", "float" }, { "bool", "_Bool" },
		{ "i64", "int64_t" }, { "i32", "int32_t" }, { "i16", "int16_t" }, { "i8", "int8_t" },
		{ "u64", "uint64_t" }, { "u32", "uint32_t" }, { "u16", "uint16_t" }, { "u8", "uint8_t" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].dtype, dtype))
			return known[i].name;
	return "uint16_t"; /* f16 and bf16 are stored as uint16_t */
}

bool kl_c_type_is_macro(const char *word)
{
	if (!isupper((unsigned char)word[0]) || !word[1])
		return false;
	for (; *word; word++)
		if (!isupper((unsigned char)*word) && !isdigit((unsigned char)*word) &&
		    *word != '_')
			return false;
	return true;
}

const char *kl_c_type_dtype(const struct kl_tokens *tokens, const struct kl_strvec *words)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec rest = KL_STRVEC_INIT;
	const char *dtype = dtype_at(tokens, words, 0);

	for (size_t i = 0; !dtype && i < words->n; i++)
		if (!kl_c_type_is_macro(words->v[i]))
			kl_strvec_push(&rest, words->v[i]);
	return dtype ? dtype : dtype_at(tokens, &rest, 0);
}
