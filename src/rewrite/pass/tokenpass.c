/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/tokenpass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "rewrite/pass/tokenpass_parts.h"

static bool is_one_of(const struct kl_ctokens *tokens, size_t i, const char *const *list)
{
	for (; *list; list++)
		if (kl_ctoken_is(tokens, i, *list))
			return true;
	return false;
}

/* --- hints to the compiler ------------------------------------------------ */

void kl_tokenpass_directive(struct kl_buf *out, const struct kl_ctokens *tokens, size_t i)
{
	for (size_t k = 0; k < tokens->t[i].len; k++) {
		char ch = tokens->text[tokens->t[i].off + k];

		if (!isspace((unsigned char)ch) && ch != '\\')
			kl_buf_addch(out, ch);
		else if (out->len > 1 && out->ptr[out->len - 1] != ' ')
			kl_buf_addch(out, ' ');
	}
}

bool kl_tokenpass_forbids_unroll(const char *words)
{
	static const char *const prefix[] = {
		"#pragma GCC unroll", "#pragma unroll", "#pragma clang loop unroll",
		"\"GCC unroll",       "\"unroll",       "\"clang loop unroll"
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(prefix); i++) {
		const char *at = words + strlen(prefix[i]);

		if (!kl_prefix_has(words, prefix[i]))
			continue;
		at += strspn(at, " (");
		if (kl_prefix_has(at, "disable"))
			return true;
		return (*at == '0' || *at == '1') && !at[1 + strspn(at + 1, " )\"")];
	}
	return false;
}

/*
 * Check for a pragma with one of the prefixes. A pragma that forbids unrolling is not dropped,
 * because the compiler would then unroll the loop again.
 */
static bool is_to_drop(const char *words, const char *const *prefix)
{
	for (; *prefix; prefix++)
		if (kl_prefix_has(words, *prefix))
			return !kl_tokenpass_forbids_unroll(words);
	return false;
}

static void drop_pragmas(struct kl_cedits *out, const struct kl_ctokens *tokens,
			 const char *const *pragma, const char *const *quoted)
{
	for (size_t i = 0; i < tokens->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

		if (tokens->t[i].kind == KL_CT_DIRECTIVE) {
			kl_tokenpass_directive(&words, tokens, i);
			if (is_to_drop(words.ptr, pragma))
				kl_cedits_tokens(out, tokens, i, i, "", out->nsite);
		} else if (kl_ctoken_is(tokens, i, "_Pragma") && i + 3 < tokens->n &&
			   tokens->t[i + 1].match == (int)i + 3) {
			kl_buf_add(&words, tokens->text + tokens->t[i + 2].off,
				   tokens->t[i + 2].len);
			if (is_to_drop(words.ptr, quoted))
				kl_cedits_tokens(out, tokens, i, i + 3, "", out->nsite);
		}
	}
}

static void drop_unroll(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const pragma[] = { "#pragma GCC unroll", "#pragma unroll",
					      "#pragma clang loop unroll", NULL };
	static const char *const quoted[] = { "\"GCC unroll", "\"unroll", "\"clang loop unroll",
					      NULL };

	drop_pragmas(out, tokens, pragma, quoted);
}

static void drop_ivdep(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const pragma[] = { "#pragma GCC ivdep", "#pragma omp simd",
					      "#pragma clang loop vectorize", NULL };
	static const char *const quoted[] = { "\"GCC ivdep", "\"omp simd", "\"clang loop vectorize",
					      NULL };

	drop_pragmas(out, tokens, pragma, quoted);
}

/*
 * Drop the `restrict` qualifiers. All qualifiers within one function are one site, so that they
 * are dropped together.
 */
static void drop_restrict(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const word[] = { "restrict", "__restrict", "__restrict__", NULL };
	int site = -1, fn = -2;

	for (size_t i = 0; i < tokens->n; i++) {
		if (!is_one_of(tokens, i, word))
			continue;
		if (site < 0 || tokens->t[i].fn != fn) {
			fn = tokens->t[i].fn;
			site = out->nsite;
		}
		kl_cedits_tokens(out, tokens, i, i, "", site);
	}
}

/* Drop an attribute list if all its attributes are hints. */
static void drop_attribute(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const hint[] = { "always_inline",
					    "hot",
					    "cold",
					    "flatten",
					    "noinline",
					    "optimize",
					    "aligned",
					    "const",
					    "pure",
					    "leaf",
					    "nothrow",
					    "artificial",
					    "__always_inline__",
					    "__hot__",
					    "__flatten__",
					    "__noinline__",
					    "__aligned__",
					    "__optimize__",
					    "__pure__",
					    "__const__",
					    NULL };

	for (size_t i = 0; i + 4 < tokens->n; i++) {
		bool only_hints = true;
		int end = tokens->t[i + 1].match;

		if (!kl_ctoken_is(tokens, i, "__attribute__") || end < 0 ||
		    !kl_ctoken_is(tokens, i + 2, "(") || tokens->t[i + 2].match != end - 1)
			continue;
		for (int k = (int)i + 3; k < end - 1; k++) {
			if (kl_ctoken_is(tokens, k, "(") && tokens->t[k].match > 0)
				k = tokens->t[k].match;
			else if (!kl_ctoken_is(tokens, k, ","))
				only_hints &= is_one_of(tokens, k, hint);
		}
		if (only_hints)
			kl_cedits_tokens(out, tokens, i, end, "", out->nsite);
	}
}

/* Replace each call of a function named in `name` by its first argument in parentheses. */
static void keep_first_argument(struct kl_cedits *out, const struct kl_ctokens *tokens,
				const char *const *name)
{
	for (size_t i = 0; i + 2 < tokens->n; i++) {
		int end = tokens->t[i + 1].match, comma = -1;

		if (!is_one_of(tokens, i, name) || !kl_ctoken_is(tokens, i + 1, "(") || end < 0)
			continue;
		for (int k = (int)i + 2; k < end && comma < 0; k++) {
			if (kl_ctoken_is(tokens, k, "(") && tokens->t[k].match > 0)
				k = tokens->t[k].match;
			else if (kl_ctoken_is(tokens, k, ","))
				comma = k;
		}
		if (comma < 0)
			continue;
		kl_cedits_tokens(out, tokens, comma, end - 1, "", out->nsite);
		kl_cedits_tokens(out, tokens, i, i, "", out->nsite - 1);
	}
}

static void drop_expect(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const name[] = { "__builtin_expect", "__builtin_assume_aligned",
					    "__builtin_expect_with_probability", NULL };

	keep_first_argument(out, tokens, name);
}

/* --- intrinsics ----------------------------------------------------------- */

static bool is_intrinsic(const struct kl_ctokens *tokens, size_t i)
{
	return tokens->t[i].kind == KL_CT_IDENT && tokens->t[i].len > 3 &&
	       !strncmp(tokens->text + tokens->t[i].off, "_mm", 3);
}

/*
 * Rename intrinsics: if `from` is "stream" and `to` is "storeu", _mm256_stream_ps becomes
 * _mm256_storeu_ps.
 */
static void rename_intrinsics(struct kl_cedits *out, const struct kl_ctokens *tokens,
			      const char *from, const char *to, const char *const *suffix)
{
	static const char *const prefix[] = { "_mm_", "_mm256_", "_mm512_", NULL };

	for (size_t i = 0; i < tokens->n; i++) {
		KL_AUTO(kl_freep) char *word = NULL;

		if (!is_intrinsic(tokens, i))
			continue;
		word = kl_strndup(tokens->text + tokens->t[i].off, tokens->t[i].len);
		for (const char *const *pre = prefix; *pre; pre++)
			for (const char *const *suf = suffix; *suf; suf++) {
				KL_AUTO(kl_freep) char *old = kl_asprintf("%s%s%s", *pre, from,
									  *suf);
				KL_AUTO(kl_freep) char *new = kl_asprintf("%s%s%s", *pre, to, *suf);

				if (!strcmp(word, old))
					kl_cedits_tokens(out, tokens, i, i, new, out->nsite);
			}
	}
}

static void plain_store(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const suffix[] = { "_ps", "_pd", "_si128", "_si256", "_si512", NULL };
	int first = out->nsite;

	rename_intrinsics(out, tokens, "stream", "storeu", suffix);
	if (out->nsite == first)
		return;
	/* the fences were only needed for the streaming stores */
	for (size_t i = 0; i + 3 < tokens->n; i++)
		if (kl_ctoken_is(tokens, i, "_mm_sfence") && kl_ctoken_is(tokens, i + 3, ";"))
			kl_cedits_tokens(out, tokens, i, i + 3, "", out->nsite);
}

static void drop_alignment(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const char *const suffix[] = { "_ps", "_pd", "_si128", "_si256", "_si512", NULL };

	rename_intrinsics(out, tokens, "load", "loadu", suffix);
	rename_intrinsics(out, tokens, "store", "storeu", suffix);
}

/*
 * Return "_mm256_add_ps(_mm256_mul_ps(" for "_mm256_fmadd_ps"; NULL if `word` is not the name of
 * such an intrinsic. Caller frees.
 */
static char *unfused_name(const char *word)
{
	static const char *const kind[] = { "ps", "pd", "ss", "sd", NULL };
	const char *op = strstr(word, "_fmadd_"), *sub = strstr(word, "_fmsub_");
	size_t prefix;

	if (!op)
		op = sub;
	prefix = op ? (size_t)(op - word) : 0;
	for (const char *const *k = kind; op && *k; k++)
		if (!strcmp(op + 7, *k))
			return kl_asprintf("%.*s_%s_%s(%.*s_mul_%s(", (int)prefix, word,
					   sub ? "sub" : "add", *k, (int)prefix, word, *k);
	return NULL;
}

/*
 * Return the index of the second comma in the parentheses at `open`, or -1 if they do not have
 * exactly two commas.
 */
static int second_comma(const struct kl_ctokens *tokens, size_t open)
{
	int commas = 0, second = -1;

	for (int i = (int)open + 1; i < tokens->t[open].match; i++) {
		if (kl_ctoken_is(tokens, i, "(") && tokens->t[i].match > 0)
			i = tokens->t[i].match;
		else if (kl_ctoken_is(tokens, i, ",") && ++commas == 2)
			second = i;
	}
	return commas == 2 ? second : -1;
}

/* Replace "_mm256_fmadd_ps(a, b, c)" by "_mm256_add_ps(_mm256_mul_ps(a, b), c)". */
static void split_fma(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i + 2 < tokens->n; i++) {
		KL_AUTO(kl_freep) char *word = NULL;
		KL_AUTO(kl_freep) char *head = NULL;
		int comma;

		if (!is_intrinsic(tokens, i) || !kl_ctoken_is(tokens, i + 1, "("))
			continue;
		word = kl_strndup(tokens->text + tokens->t[i].off, tokens->t[i].len);
		head = unfused_name(word);
		comma = head ? second_comma(tokens, i + 1) : -1;
		if (comma < 0)
			continue;
		kl_cedits_tokens(out, tokens, i, i + 1, head, out->nsite);
		kl_cedits_tokens(out, tokens, comma, comma, "),", out->nsite - 1);
	}
}

/* --- tile constants ------------------------------------------------------- */

static bool tile_name(const char *text, size_t n)
{
	if (n > 32)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isupper((unsigned char)text[i]) && text[i] != '_' &&
		    !isdigit((unsigned char)text[i]))
			return false;
	return n > 0;
}

/* Return the value of `text` if it is an integer in the range of a tile's size, else 0. */
static long tile_value(const char *text, size_t n)
{
	char digits[16] = "", *end;
	long value;

	while (n && (isspace((unsigned char)text[n - 1]) || strchr("uUlL", text[n - 1])))
		n--;
	while (n && (isspace((unsigned char)*text) || *text == '(')) {
		text++;
		n--;
	}
	while (n && text[n - 1] == ')')
		n--;
	if (!n || n >= sizeof(digits))
		return 0;
	memcpy(digits, text, n);
	value = strtol(digits, &end, 10);
	return !*end && value > 1 && value <= 1 << 20 ? value : 0;
}

/*
 * Check whether a function uses the constant as a size: in the head of a loop, as the dimension of
 * an array, or as a factor. A constant that is only added is no size.
 */
static bool is_size(const struct kl_ctokens *tokens, const char *name, size_t def)
{
	size_t head = 0; /* the end of the last head of a loop */

	for (size_t i = 1; i < tokens->n; i++) {
		if (kl_ctoken_is(tokens, i, "(") && tokens->t[i].match > (int)head &&
		    (kl_ctoken_is(tokens, i - 1, "for") || kl_ctoken_is(tokens, i - 1, "while")))
			head = (size_t)tokens->t[i].match;
		if (i == def || tokens->t[i].fn < 0 || !kl_ctoken_is(tokens, i, name))
			continue;
		if (i < head || kl_ctoken_is(tokens, i - 1, "[") ||
		    strchr("*/%", tokens->text[tokens->t[i - 1].off]) ||
		    (i + 1 < tokens->n && strchr("*/%", tokens->text[tokens->t[i + 1].off])))
			return true;
	}
	return false;
}

static void add_tile(struct kl_tiles *out, const struct kl_ctokens *tokens, size_t def,
		     const char *name, size_t len, long value)
{
	KL_AUTO(kl_freep) char *copy = kl_strndup(name, len);

	if (!value || !tile_name(name, len) || !is_size(tokens, copy, def))
		return;
	KL_GROW(out->t, out->n + 1, out->alloc);
	out->t[out->n++] = (struct kl_tile){ .name = kl_steal(&copy),
					     .value = value,
					     .line = tokens->t[def].line };
}

static void tile_of_define(struct kl_tiles *out, const struct kl_ctokens *tokens, size_t i)
{
	const char *text = tokens->text;
	struct kl_cdefine macro;
	size_t stop;

	if (!kl_ctoken_define(&macro, tokens, i) || macro.body == macro.end ||
	    text[macro.body] == '(')
		return;
	for (stop = macro.body; stop < macro.end; stop++)
		if (text[stop] == '/' && stop + 1 < macro.end &&
		    (text[stop + 1] == '*' || text[stop + 1] == '/'))
			break;
	add_tile(out, tokens, i, text + macro.name, macro.name_len,
		 tile_value(text + macro.body, stop - macro.body));
}

void kl_tokenpass_tiles(struct kl_tiles *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++) {
		if (tokens->t[i].kind == KL_CT_DIRECTIVE) {
			tile_of_define(out, tokens, i);
			continue;
		}
		/* "enum { NR = 16," and "static const int NR = 16;" */
		if (tokens->t[i].kind == KL_CT_IDENT && i > 0 && i + 3 < tokens->n &&
		    kl_ctoken_is(tokens, i + 1, "=") && tokens->t[i + 2].kind == KL_CT_NUMBER &&
		    (kl_ctoken_is(tokens, i + 3, ",") || kl_ctoken_is(tokens, i + 3, "}") ||
		     kl_ctoken_is(tokens, i + 3, ";")))
			add_tile(out, tokens, i, tokens->text + tokens->t[i].off, tokens->t[i].len,
				 tile_value(tokens->text + tokens->t[i + 2].off,
					    tokens->t[i + 2].len));
	}
}

void kl_tiles_release(struct kl_tiles *tiles)
{
	for (size_t i = 0; i < tiles->n; i++)
		free(tiles->t[i].name);
	free(tiles->t);
	*tiles = (struct kl_tiles){ 0 };
}

const struct kl_tokenpass *kl_tokenpass_find(const char *name)
{
	static const struct kl_tokenpass pass[] = {
		{ "drop-unroll", drop_unroll },
		{ "drop-ivdep", drop_ivdep },
		{ "drop-restrict", drop_restrict },
		{ "drop-attribute", drop_attribute },
		{ "drop-expect", drop_expect },
		{ "plain-store", plain_store },
		{ "unaligned", drop_alignment },
		{ "split-fma", split_fma },
		{ "scalar-lanes", kl_tokenpass_scalar_lanes },
		{ "drop-bounds", kl_tokenpass_drop_bounds },
		{ "roll-loop", kl_tokenpass_roll_loop },
		{ "even-registers", kl_tokenpass_even_registers },
		{ "plain-copy", kl_tokenpass_plain_copy },
		{ "plain-operand", kl_tokenpass_plain_operand },
		{ "scatter-store", kl_tokenpass_scatter_store },
		{ "scalar-product", kl_tokenpass_scalar_product },
		{ "scalar-group-product", kl_tokenpass_scalar_group_product },
		{ "drop-cache-hint", kl_tokenpass_drop_cache_hint },
		{ "copy-at-once", kl_tokenpass_copy_at_once },
		{ "exact-math", kl_tokenpass_exact_math },
		{ "no-guess", kl_tokenpass_no_guess },
		{ "rebranch", kl_tokenpass_rebranch },
		{ "reroll", kl_tokenpass_reroll },
		{ "count-by-loop", kl_tokenpass_count_by_loop },
		{ "unpad", kl_tokenpass_unpad },
		{ "drop-swizzle", kl_tokenpass_drop_swizzle },
		{ "unshuffle", kl_tokenpass_unshuffle },
		{ "unballot", kl_tokenpass_unballot },
		{ "scalar-load", kl_tokenpass_scalar_load },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(pass); i++)
		if (!strcmp(pass[i].name, name))
			return &pass[i];
	return NULL;
}
