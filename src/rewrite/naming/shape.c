/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/naming/shape.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "rewrite/naming/shape_parts.h"

#define MAX_WORD 2000

void kl_shape_release(struct kl_shape *shape)
{
	kl_strvec_release(&shape->words);
	kl_strvec_release(&shape->paths);
	*shape = (struct kl_shape){ 0 };
}

const char *kl_shape_name(enum kl_shape_item item)
{
	static const char *const name[KL_SHAPE_ITEMS] = {
		[KL_SHAPE_LOOPS] = "loops",
		[KL_SHAPE_INNER] = "innermost loops",
		[KL_SHAPE_BLOCKS] = "loops over blocks",
		[KL_SHAPE_JAMS] = "unrolled outer loops",
		[KL_SHAPE_UNROLLED] = "unrolled innermost loops",
		[KL_SHAPE_ACCUMULATORS] = "accumulators",
		[KL_SHAPE_ZEROED] = "sums that begin at zero",
		[KL_SHAPE_MEMORY_SUMS] = "sums in memory",
		[KL_SHAPE_PARTIAL] = "partial sums",
		[KL_SHAPE_ASSIGNMENTS] = "assignments in innermost loops",
		[KL_SHAPE_ACCESSES] = "memory accesses in innermost loops",
		[KL_SHAPE_HOISTS] = "values computed before a loop",
		[KL_SHAPE_GUARDS] = "calls in the first round only",
		[KL_SHAPE_COPIES] = "copy loops",
		[KL_SHAPE_STAGES] = "copies to shared memory",
		[KL_SHAPE_WALKS] = "pointers that walk",
		[KL_SHAPE_DIVISIONS] = "divisions in loops",
		[KL_SHAPE_SHIFTS] = "shifts and masks in loops",
		[KL_SHAPE_BRANCHES] = "branches in loops",
		[KL_SHAPE_CHOICES] = "choices in loops",
		[KL_SHAPE_TABLES] = "constant tables",
		[KL_SHAPE_STATICS] = "static arrays",
		[KL_SHAPE_LOCALS] = "local arrays",
		[KL_SHAPE_THREADS] = "uses of the thread's index",
		[KL_SHAPE_SHARED] = "arrays in shared memory",
		[KL_SHAPE_PADDED] = "padded rows in shared memory",
		[KL_SHAPE_DOUBLED] = "arrays of several stages in shared memory",
		[KL_SHAPE_COALESCED] = "subscripts that end in the thread's x",
		[KL_SHAPE_STRIDED] = "subscripts that do not",
	};

	return name[item];
}

long kl_shape_words(const struct kl_shape *shape, const char *pattern)
{
	long n = 0;

	for (size_t i = 0; i < shape->words.n; i++)
		n += !fnmatch(pattern, shape->words.v[i], 0);
	return n;
}

bool kl_shape_same(const struct kl_ctokens *tokens, size_t left, size_t right)
{
	const struct kl_ctok *one = &tokens->t[left], *two = &tokens->t[right];

	return one->len == two->len &&
	       !memcmp(tokens->text + one->off, tokens->text + two->off, one->len);
}

char *kl_shape_text(const struct kl_ctokens *tokens, size_t first, size_t end)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = first; i < end && i < tokens->n; i++)
		kl_buf_add(&buf, tokens->text + tokens->t[i].off, tokens->t[i].len);
	return kl_buf_detach(&buf);
}

bool kl_shape_one_of(const struct kl_ctokens *tokens, size_t i, const char *list)
{
	for (size_t n; i < tokens->n && *list; list += n) {
		list += strspn(list, " ");
		n = strcspn(list, " ");
		if (n && n == tokens->t[i].len && !memcmp(tokens->text + tokens->t[i].off, list, n))
			return true;
	}
	return false;
}

static bool is_source(const char *path)
{
	static const char *const suffix[] = { ".c",  ".h",   ".cu",  ".cuh", ".inc",
					      ".cc", ".cpp", ".cxx", ".hh",  ".hpp" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < KL_ARRAY_SIZE(suffix); i++)
		if (!strcmp(dot, suffix[i]))
			return true;
	return false;
}

static void collect_words(struct kl_shape *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++) {
		const struct kl_ctok *token = &tokens->t[i];
		size_t n = token->len < MAX_WORD ? token->len : MAX_WORD;

		if (token->kind == KL_CT_IDENT || token->kind == KL_CT_STRING ||
		    token->kind == KL_CT_DIRECTIVE)
			kl_strvec_take(&out->words, kl_strndup(tokens->text + token->off, n));
	}
}

/* Append the conditions of a loop and of those around it, outermost first, without counters. */
static void collect_path(struct kl_shape *out, const struct kl_shape_source *source, int at)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec part = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf path = KL_BUF_INIT;

	for (; at >= 0; at = source->nest.v[at].up) {
		const struct kl_nest_loop *loop = &source->nest.v[at];
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		for (size_t i = loop->cond; i < loop->cond_end; i++)
			if (loop->counter < 0 ||
			    !kl_shape_same(&source->tokens, i, (size_t)loop->counter))
				kl_buf_add(&text, source->tokens.text + source->tokens.t[i].off,
					   source->tokens.t[i].len);
		kl_strvec_push(&part, text.ptr);
	}
	for (size_t i = part.n; i-- > 0;)
		kl_buf_addf(&path, "%s;", part.v[i]);
	kl_strvec_push(&out->paths, path.ptr);
}

void kl_shape_reader_release(struct kl_shape_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++) {
		kl_ctokens_release(&reader->source[i].tokens);
		kl_nest_release(&reader->source[i].nest);
		free(reader->source[i].array);
	}
	free(reader->source);
	kl_strvec_release(&reader->looped);
	kl_strvec_release(&reader->macros);
	kl_map_release(&reader->constants);
}

bool kl_shape_fits(const struct kl_file *file, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += is_source(file[i].path) ? file[i].len : 0;
	return len <= KL_SHAPE_MOST;
}

void kl_shape_read(struct kl_shape *out, const struct kl_file *file, size_t n)
{
	KL_AUTO(kl_shape_reader_release) struct kl_shape_reader reader = { .out = out };

	*out = (struct kl_shape){ 0 };
	reader.constants.free_value = free;
	reader.source = kl_calloc(n + 1, sizeof(*reader.source));
	for (size_t i = 0; i < n; i++) {
		struct kl_shape_source *source = &reader.source[reader.n];

		if (!is_source(file[i].path))
			continue;
		reader.n++;
		kl_ctoken_lex(&source->tokens, file[i].data, file[i].len);
		kl_nest_find(&source->nest, &source->tokens);
		collect_words(out, &source->tokens);
	}
	kl_shape_declare(&reader);
	for (size_t i = 0; i < reader.n; i++) {
		const struct kl_shape_source *source = &reader.source[i];

		kl_shape_count(&reader, source);
		kl_shape_count_threads(&reader, source);
		for (size_t k = 0; k < source->nest.n; k++)
			if (!source->nest.v[k].inside)
				collect_path(out, source, (int)k);
	}
}
