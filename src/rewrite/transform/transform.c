/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/transform/transform.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rewrite/source/reach.h"
#include "rewrite/transform/transform_parts.h"

/* most bytes of a source, because the work grows with its square */
#define MAX_SOURCE ((size_t)128 << 10)

struct kl_transform {
	const char *name;
	const char *language[2];
	const char *parameter; /* NULL if there is none */
	int64_t min, max;      /* range of its values */
	const char *role;      /* name in messages of the thing that it changes */
	bool hoists;           /* if its sums are in memory, they are first moved to variables */
	void (*edit)(struct kl_transforming *work);
};

static const struct kl_transform table[] = {
	{ .name = "restrict",
	  .language = { "c" },
	  .role = "pointer parameter of the contract's function that lacks 'restrict'",
	  .edit = kl_transform_restrict },
	{ .name = "restrict",
	  .language = { "cuda" },
	  .role = "pointer parameter of a launched kernel that lacks '__restrict__' and never "
		  "overlaps",
	  .edit = kl_transform_cuda_restrict },
	{ .name = "unroll",
	  .language = { "c", "cuda" },
	  .parameter = "factor",
	  .min = 2,
	  .max = KL_TRANSFORM_COPIES,
	  .role = "innermost loop with a floating-point sum",
	  .hoists = true,
	  .edit = kl_transform_unroll },
	{ .name = "unroll-jam",
	  .language = { "c", "cuda" },
	  .parameter = "factor",
	  .min = 2,
	  .max = KL_TRANSFORM_COPIES,
	  .role = "loop around an innermost loop whose copies can share that loop",
	  .edit = kl_transform_unroll_jam },
	{ .name = "vector-loop",
	  .language = { "c" },
	  .parameter = "vectors",
	  .min = 1,
	  .max = 8,
	  .role = "innermost loop over contiguous elements of one type",
	  .hoists = true,
	  .edit = kl_transform_vector },
	{ .name = "interchange",
	  .language = { "c" },
	  .role = "pair of loops that reads along the wrong axis",
	  .edit = kl_transform_interchange },
	{ .name = "cache-block",
	  .language = { "c" },
	  .parameter = "size",
	  .min = 8,
	  .max = 65536,
	  .role = "nest of three loops that reads one operand again and again",
	  .edit = kl_transform_cache_block },
	{ .name = "pack",
	  .language = { "c" },
	  .role = "nest of three loops whose innermost one reads an operand again and again with a "
		  "stride",
	  .edit = kl_transform_pack },
	{ .name = "hoist",
	  .language = { "c", "cuda" },
	  .role = "innermost loop with an element of memory that stays the same",
	  .edit = kl_transform_hoist },
	{ .name = "prefetch",
	  .language = { "c" },
	  .parameter = "distance",
	  .min = 1,
	  .max = 4096,
	  .role = "innermost loop that reads with a stride",
	  .edit = kl_transform_prefetch },
	{ .name = "ivdep",
	  .language = { "c" },
	  .role = "innermost loop whose rounds do not depend on each other",
	  .edit = kl_transform_ivdep },
	{ .name = "pragma-unroll",
	  .language = { "cuda" },
	  .parameter = "factor",
	  .min = 2,
	  .max = 64,
	  .role = "innermost loop without a directive",
	  .edit = kl_transform_pragma_unroll },
	{ .name = "launch-bounds",
	  .language = { "cuda" },
	  .role = "kernel without launch bounds whose block size is known",
	  .edit = kl_transform_launch_bounds },
};

/* --- the text of a carrier -------------------------------------------------------------------- */

static bool has_language(const struct kl_transform *transform, const char *language)
{
	return (transform->language[0] && !strcmp(transform->language[0], language)) ||
	       (transform->language[1] && !strcmp(transform->language[1], language));
}

static const struct kl_transform *find_transform(const char *name, size_t len, const char *language)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++)
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len) &&
		    has_language(&table[i], language))
			return &table[i];
	return NULL;
}

static int unknown_name(const char *name, size_t len, const char *language)
{
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++)
		if (has_language(&table[i], language))
			kl_buf_addf(&known, "%s%s", known.len ? ", " : "", table[i].name);
	if (!known.len)
		return kl_error(KL_EINVALID, "there are no transformations for '%s'", language);
	return kl_error(KL_EINVALID, "'%.*s' is not a transformation for %s: use one of %s",
			(int)(len < 64 ? len : 64), name, language, known.ptr);
}

static int read_value(int64_t *out, const char **at, const struct kl_transform *transform)
{
	size_t n = strspn(*at, "0123456789");

	*out = n && n < 7 ? strtoll(*at, NULL, 10) : -1;
	if (*out < transform->min || *out > transform->max)
		return kl_error(KL_EINVALID, "'%s': %s must be from %lld to %lld", transform->name,
				transform->parameter, (long long)transform->min,
				(long long)transform->max);
	*at += n;
	return 0;
}

static int read_values(struct kl_transform_use *out, const char *at)
{
	const struct kl_transform *transform = out->transform;
	size_t n = strlen(transform->parameter);

	if (strncmp(at, transform->parameter, n) || at[n] != '=')
		return kl_error(KL_EINVALID, "'%s' must be followed by '%s=' and its values",
				transform->name, transform->parameter);
	for (at += n;;) {
		int err;

		if (out->n == KL_TRANSFORM_VALUES)
			return kl_error(KL_EINVALID, "'%s' has more than %d values of %s",
					transform->name, KL_TRANSFORM_VALUES, transform->parameter);
		at++;
		if ((err = read_value(&out->value[out->n++], &at, transform)) < 0)
			return err;
		if (*at != ',')
			break;
	}
	return at[*at == '\n'] ? kl_error(KL_EINVALID, "'%s': unexpected '%.16s' after the values",
					  transform->name, at) :
				 0;
}

int kl_transform_parse(struct kl_transform_use *out, const char *text, const char *language)
{
	size_t n = strcspn(text, " \n");

	*out = (struct kl_transform_use){ .transform = find_transform(text, n, language) };
	if (!out->transform)
		return unknown_name(text, n, language);
	text += n;
	if (out->transform->parameter)
		return read_values(out, text + (*text == ' '));
	return text[*text == '\n'] ?
		       kl_error(KL_EINVALID, "'%s' has no parameter", out->transform->name) :
		       0;
}

size_t kl_transform_variants(const struct kl_transform_use *use)
{
	return use->n ? use->n : 1;
}

char *kl_transform_name(const struct kl_transform_use *use, size_t variant)
{
	const struct kl_transform *transform = use->transform;

	return use->n ? kl_asprintf("%s %s=%lld", transform->name, transform->parameter,
				    (long long)use->value[variant]) :
			kl_strdup(transform->name);
}

/* --- applying --------------------------------------------------------------------------------- */

/* Check that an edit is in a function that the kernel reaches, or outside of functions. */
static bool is_in_scope(const struct kl_cedit *cedit, void *payload)
{
	const bool *reached = payload;

	return cedit->fn < 0 || reached[cedit->fn];
}

/* Write the edited source to `out`. Return false if there is nothing to edit. */
static bool edit_source(struct kl_buf *out, void (*edit)(struct kl_transforming *work),
			const struct kl_transform_source *source, int64_t value)
{
	struct kl_ctokens tokens;
	struct kl_loops loops;
	struct kl_transforming work = {
		.tokens = &tokens, .loops = &loops, .source = source, .value = value
	};
	KL_AUTO(kl_freep) bool *reached = NULL;
	bool any = false;

	kl_ctoken_lex(&tokens, source->text, source->len);
	kl_loops_find(&loops, &tokens);
	reached = kl_reach_mark(&tokens, source->entries);
	kl_loops_keep(&loops, reached);
	edit(&work);
	for (size_t i = 0; i < work.edits.n; i++)
		any |= is_in_scope(&work.edits.e[i], reached);
	if (any)
		kl_cedits_apply(out, &tokens, &work.edits, is_in_scope, reached);
	kl_cedits_release(&work.edits);
	kl_strvec_release(&work.reserved);
	kl_loops_release(&loops);
	kl_ctokens_release(&tokens);
	return any;
}

/* Edit a source whose sums are in memory ("y[i] += ..."), after moving them to variables. */
static bool edit_hoisted(struct kl_buf *out, const struct kl_transform *transform,
			 const struct kl_transform_source *source, int64_t value)
{
	KL_AUTO(kl_buf_release) struct kl_buf hoisted = KL_BUF_INIT;
	struct kl_transform_source next = *source;

	if (!transform->hoists || !edit_source(&hoisted, kl_transform_hoist, source, 0))
		return false;
	next.text = hoisted.ptr;
	next.len = hoisted.len;
	return edit_source(out, transform->edit, &next, value);
}

int kl_transform_apply(struct kl_buf *out, const struct kl_transform_use *use, size_t variant,
		       const struct kl_transform_source *source)
{
	const struct kl_transform *transform = use->transform;
	int64_t value = use->n ? use->value[variant] : 0;

	if (source->len > MAX_SOURCE)
		return kl_error(KL_ENO, "a source has more than %zu bytes", MAX_SOURCE);
	if (edit_source(out, transform->edit, source, value) ||
	    edit_hoisted(out, transform, source, value))
		return 0;
	return kl_error(KL_ENO, "there is no %s", transform->role);
}

/* --- shared by the transformations ------------------------------------------------------------ */

char *kl_transform_fresh(const struct kl_transforming *work, const char *base, int64_t number)
{
	KL_AUTO(kl_freep)
	char *name = kl_asprintf("%s_%lld", base, (long long)(number + work->offset));

	while (work->tokens->n && kl_transform_count(work->tokens, 0, work->tokens->n - 1, name)) {
		char *longer = kl_asprintf("%s_", name);

		free(name);
		name = longer;
	}
	return kl_steal(&name);
}

void kl_transform_reserve(struct kl_transforming *work, const char *base)
{
	int64_t offset = 0;

	for (size_t i = 0; i < work->reserved.n; i++)
		offset += strcmp(work->reserved.v[i], base) ? 0 : KL_TRANSFORM_COPIES;
	if (offset > work->offset)
		work->offset = offset;
	kl_strvec_push(&work->reserved, base);
}

size_t kl_transform_rename(struct kl_rename *out, const struct kl_transforming *work,
			   const struct kl_cstmts *stmts, int64_t number)
{
	size_t n = 0;

	for (size_t i = 0; i < stmts->n; i++) {
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, stmts->v[i].name);

		if (stmts->v[i].kind == KL_CSTMT_DECLARE && var) {
			out[n].from = var->name;
			out[n++].to = kl_transform_fresh(work, var->name, number);
		}
	}
	return n;
}

void kl_transform_free_renames(struct kl_rename *rename, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)rename[i].to);
	free(rename);
}

bool kl_transform_has_disjoint(const struct kl_transforming *work, int fn)
{
	const struct kl_cfn *cfn = &work->tokens->fn[fn];

	for (const char *const *at = work->source->disjoint; at && *at; at++)
		if (strlen(*at) == cfn->name_len &&
		    !memcmp(*at, work->tokens->text + cfn->name_off, cfn->name_len))
			return true;
	return false;
}

static bool is_alone(const struct kl_transforming *work, const struct kl_cvar *var)
{
	return var->array || var->allocated || var->restricted ||
	       kl_transform_has_disjoint(work, var->fn);
}

/* Check that two roots of accesses never overlap. */
static bool is_disjoint(const struct kl_transforming *work, const struct kl_cvar *left,
			const struct kl_cvar *right)
{
	/* it suffices that the elements of one of them are reached through no other pointer */
	return left != right && (is_alone(work, left) || is_alone(work, right));
}

/*
 * Check that two elements of an array are never the same in rounds of the loop. Their indices are
 * one element a round apart from a multiple of the number of rounds: y[i * n + j] and
 * y[(i + 1) * n + j] for j from 0 to n - 1 are in different rows.
 */
static bool is_other_row(const struct kl_transforming *work, const struct kl_loop *loop,
			 const struct kl_affine *left, const struct kl_affine *right)
{
	struct kl_affine bound, apart = *left, stride;
	int64_t rows;

	if (!loop || !loop->from_zero || loop->step != 1 ||
	    !kl_affine_read(&bound, work->tokens, loop->bound_first, loop->bound_last) ||
	    !bound.n || !kl_affine_stride(&stride, left, loop->counter) ||
	    !kl_affine_is(&stride, 1) || !kl_affine_stride(&stride, right, loop->counter) ||
	    !kl_affine_is(&stride, 1) || !kl_affine_add(&apart, right, -1) || apart.n != bound.n)
		return false;
	rows = apart.term[0].factor / bound.term[0].factor;
	return rows && kl_affine_add(&apart, &bound, -rows) && !apart.n;
}

bool kl_transform_is_independent(const struct kl_transforming *work,
				 const struct kl_accesses *accesses, const struct kl_loop *loop)
{
	for (size_t i = 0; i < accesses->n; i++)
		for (size_t k = 0; k < accesses->n; k++) {
			const struct kl_access *left = &accesses->v[i], *right = &accesses->v[k];

			if (!left->write || i == k)
				continue;
			if (left->root == right->root ?
				    !kl_affine_equal(&left->index, &right->index) &&
					    !is_other_row(work, loop, &left->index, &right->index) :
				    !is_disjoint(work, left->root, right->root))
				return false;
		}
	return true;
}

size_t kl_transform_count(const struct kl_ctokens *tokens, size_t first, size_t last,
			  const char *name)
{
	size_t n = 0;

	for (size_t i = first; i <= last; i++)
		n += kl_ctoken_is(tokens, i, name);
	return n;
}

bool kl_transform_is_plain(const struct kl_loop *loop)
{
	return loop->step == 1 && !loop->hinted && !loop->remainder &&
	       (loop->from_zero || (loop->type[0] != 'u' && strcmp(loop->type, "size_t")));
}
