/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/naming/naming_constants.h"

#include <ctype.h>
#include <string.h>

#include "rewrite/naming/shape_parts.h"

#define MAX_TILE 64 /* maximum number of rounds of an innermost loop that is kept in registers */

/* A number that differs between two sources. */
struct change {
	char *word;   /* the macro that is defined as the number, or NULL */
	size_t token; /* in the faster source, if there is no macro */
	char *fast, *plain;
};

struct changes {
	struct change *v;
	size_t n, alloc;
};

static void changes_release(struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		free(changes->v[i].word);
		free(changes->v[i].fast);
		free(changes->v[i].plain);
	}
	free(changes->v);
}

static void add_change(struct changes *out, char *word, size_t token, char *fast, char *plain)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = (struct change){ word, token, fast, plain };
}

/* Return the end of "#define NAME " if the rest is a number, else 0. */
static size_t value_at(const char *line)
{
	size_t at = strspn(line, "# \t");

	if (strncmp(line + at, "define", 6))
		return 0;
	at += 6;
	at += strspn(line + at, " \t");
	at += strspn(line + at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
	at += strspn(line + at, " \t(");
	return isdigit((unsigned char)line[at]) ? at : 0;
}

static bool differ_in_value(struct changes *out, char *fast, char *plain)
{
	size_t at = value_at(fast), other = value_at(plain), start, end;

	if (!at || at != other || strncmp(fast, plain, at))
		return false;
	start = strcspn(fast, "d") + 6;
	start += strspn(fast + start, " \t");
	end = start + strcspn(fast + start, " \t(");
	add_change(out, kl_strndup(fast + start, end - start), 0,
		   kl_strndup(fast + at, strcspn(fast + at, " \t\r\n)/")),
		   kl_strndup(plain + at, strcspn(plain + at, " \t\r\n)/")));
	return true;
}

/* Compare two sources token by token; false if they differ in more than numbers. */
static bool compare_sources(struct changes *out, const struct kl_ctokens *fast,
			    const struct kl_ctokens *plain)
{
	if (fast->n != plain->n)
		return false;
	for (size_t i = 0; i < fast->n; i++) {
		KL_AUTO(kl_freep) char *one = kl_shape_text(fast, i, i + 1);
		KL_AUTO(kl_freep) char *two = kl_shape_text(plain, i, i + 1);

		if (fast->t[i].kind != plain->t[i].kind)
			return false;
		if (!strcmp(one, two))
			continue;
		if (fast->t[i].kind == KL_CT_NUMBER)
			add_change(out, NULL, i, kl_steal(&one), kl_steal(&two));
		else if (fast->t[i].kind != KL_CT_DIRECTIVE || !differ_in_value(out, one, two))
			return false;
	}
	return true;
}

/* Check that the step or the bound of the loop is the changed number. */
static bool has_change(const struct kl_ctokens *tokens, const struct kl_nest_loop *loop,
		       const struct change *change, bool same_file)
{
	for (size_t i = loop->open; i < loop->first; i++)
		if (change->word ? tokens->t[i].len == strlen(change->word) &&
					   !memcmp(tokens->text + tokens->t[i].off, change->word,
						   tokens->t[i].len) :
				   same_file && i == change->token)
			return true;
	return false;
}

/* Check that the loop adds to local arrays or variables, so that the results stay in registers. */
static bool adds_locally(const struct kl_shape_reader *reader, const struct kl_shape_source *source,
			 const struct kl_nest_loop *loop)
{
	bool adds = false;

	for (size_t i = loop->first; i < loop->last; i++) {
		struct kl_shape_assignment one;

		if (kl_shape_assignment(&one, reader, source, i) && one.adds)
			adds |= one.array && !one.array->shared;
	}
	return adds;
}

/* Return the mechanism that the changed constant is a parameter of, or NULL. */
static const char *mechanism_of(const struct kl_shape_reader *reader,
				const struct kl_shape_source *source, const struct change *change,
				bool same_file)
{
	const char *name = NULL;

	for (size_t k = 0; k < source->nest.n; k++) {
		const struct kl_nest_loop *loop = &source->nest.v[k];

		if (!has_change(&source->tokens, loop, change, same_file))
			continue;
		if (!loop->inside && adds_locally(reader, source, loop) &&
		    strtol(change->fast, NULL, 0) <= MAX_TILE)
			return "register-tile";
		if (loop->step_at >= 0 && (loop->inside || loop->up < 0))
			name = "cache-block";
	}
	return name;
}

/* Find the mechanism of all changes of one file. */
static void name_changes(const char **name, bool *several, struct kl_buf *evidence,
			 const struct kl_shape_reader *reader, size_t at,
			 const struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		const struct change *change = &changes->v[i];
		const char *found = NULL;

		for (size_t k = 0; k < reader->n && !found; k++)
			found = mechanism_of(reader, &reader->source[k], change, k == at);
		*several |= found && *name && strcmp(found, *name);
		if (found)
			*name = found;
		kl_buf_addf(evidence, "%s%s%s%s -> %s", evidence->len ? ", " : "",
			    change->word ? change->word : "", change->word ? " " : "",
			    change->plain, change->fast);
	}
}

bool kl_naming_constants(const char **name, struct kl_buf *evidence,
			 const struct kl_naming_sides *sides)
{
	KL_AUTO(kl_shape_reader_release) struct kl_shape_reader reader = { 0 };
	bool only = sides->nfast == sides->nplain, several = false;

	*name = NULL;
	reader.constants.free_value = free;
	reader.source = kl_calloc(sides->nfast + 1, sizeof(*reader.source));
	for (; only && reader.n < sides->nfast; reader.n++) {
		struct kl_shape_source *source = &reader.source[reader.n];

		kl_ctoken_lex(&source->tokens, sides->fast[reader.n].data,
			      sides->fast[reader.n].len);
		kl_nest_find(&source->nest, &source->tokens);
	}
	kl_shape_declare(&reader);
	for (size_t i = 0; only && i < reader.n; i++) {
		KL_AUTO(changes_release) struct changes changes = { 0 };
		struct kl_ctokens plain;

		kl_ctoken_lex(&plain, sides->plain[i].data, sides->plain[i].len);
		only = compare_sources(&changes, &reader.source[i].tokens, &plain);
		kl_ctokens_release(&plain);
		if (only)
			name_changes(name, &several, evidence, &reader, i, &changes);
	}
	if (several)
		*name = NULL;
	return only && evidence->len;
}
