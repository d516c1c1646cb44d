/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/token_digest.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "rewrite/source/ctoken.h"

/*
 * Operators with several bytes. kl_ctoken_lex() makes a token of each byte, but the digests of
 * "a+ +b" and "a++b" must differ.
 */
static const char *const operators[] = { "<<=", ">>=", "...", "->*", "++", "--", "<<", ">>",
					 "<=",  ">=",  "==",  "!=",  "&&", "||", "+=", "-=",
					 "*=",  "/=",  "%=",  "&=",  "|=", "^=", "->", "##",
					 "::",  "<:",  ":>",  "<%",  "%>", "%:", ".*" };

/* Return the number of bytes of the operator that begins at this byte. */
static size_t operator_length(const char *text, size_t len)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(operators); i++) {
		size_t n = strlen(operators[i]);

		if (n <= len && !memcmp(text, operators[i], n))
			return n;
	}
	return 1;
}

/* Return the number of bytes of a comment or of a backslash and newline; 0 if there is neither. */
static size_t blank_length(const char *text, size_t len)
{
	const char *end;

	if (len >= 2 && text[0] == '\\' && text[1] == '\n')
		return 2;
	if (len >= 3 && text[0] == '\\' && text[1] == '\r' && text[2] == '\n')
		return 3;
	if (len < 2 || text[0] != '/' || (text[1] != '*' && text[1] != '/'))
		return 0;
	end = text[1] == '/' ? NULL : memmem(text + 2, len - 2, "*/", 2);
	return end ? (size_t)(end + 2 - text) : len;
}

/* Append the quoted part of a directive that begins at `text`. Return its number of bytes. */
static size_t copy_quoted(struct kl_buf *out, const char *text, size_t len)
{
	size_t n = 1;

	while (n < len && text[n] != *text)
		n += text[n] == '\\' ? 2 : 1;
	n = n < len ? n + 1 : len;
	kl_buf_add(out, text, n);
	return n;
}

/* Append a directive without its comments, with one blank for each run of blanks. */
static void add_directive(struct kl_buf *out, const char *text, size_t len)
{
	bool gap = false;

	for (size_t i = 0, n; i < len; i += n) {
		n = blank_length(text + i, len - i);
		if (n || isspace((unsigned char)text[i])) {
			n = n ? n : 1;
			gap = true;
			continue;
		}
		if (gap)
			kl_buf_addch(out, ' ');
		gap = false;
		n = 1;
		if (text[i] == '"' || text[i] == '\'')
			n = copy_quoted(out, text + i, len - i);
		else
			kl_buf_addch(out, text[i]);
	}
}

/* --- the tokens of a file --------------------------------------------------------------------- */

/* A part of a file: a function, or the text between two functions. */
struct part {
	size_t from, to; /* the part's bytes in kl_token_file.plain */
	uint32_t name;   /* name of a function that may be left out; 0 if the part always counts */
	size_t first, n; /* the names that the part uses, in kl_token_file.used */
};

struct kl_token_file {
	struct kl_buf plain; /* the tokens, a line each */
	struct part *part;
	size_t nparts, parts_alloc;
	uint32_t *used; /* numbers of names */
	size_t nused, used_alloc;
};

void kl_token_file_free(struct kl_token_file *file)
{
	if (!file)
		return;
	kl_buf_release(&file->plain);
	free(file->part);
	free(file->used);
	free(file);
}

size_t kl_token_file_bytes(const struct kl_token_file *file)
{
	return sizeof(*file) + file->plain.len + file->nparts * sizeof(*file->part) +
	       file->nused * sizeof(*file->used);
}

/* Return the number of a name, from 1. */
static uint32_t number_of(struct kl_token_scope *scope, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(text, len);
	uint32_t *id = kl_map_get(&scope->ids, name);

	if (!id) {
		id = kl_malloc(sizeof(*id));
		*id = (uint32_t)scope->ids.n + 1;
		kl_map_put(&scope->ids, name, id);
	}
	return *id;
}

static bool is_word_char(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

/* Append the numbers of the names in a text to the last part. */
static void use_names(struct kl_token_file *file, struct kl_token_scope *scope, const char *text,
		      size_t len)
{
	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		for (n = 0; at + n < len && is_word_char(text[at + n]);)
			n++;
		if (!n || isdigit((unsigned char)text[at]))
			continue;
		KL_GROW(file->used, file->nused + 1, file->used_alloc);
		file->used[file->nused++] = number_of(scope, text + at, n);
		file->part[file->nparts - 1].n++;
	}
}

static void begin_part(struct kl_token_file *file, uint32_t name)
{
	KL_GROW(file->part, file->nparts + 1, file->parts_alloc);
	file->part[file->nparts++] = (struct part){
		.from = file->plain.len,
		.to = file->plain.len,
		.name = name,
		.first = file->nused,
	};
}

/*
 * Return true if the tokens certainly define a function with this name, and are not a macro that
 * defines another function. This is so if a type precedes the name and the name is not in capitals.
 */
static bool is_function(const struct kl_ctokens *tokens, const struct kl_cfn *fn)
{
	static const char *const other[] = { "static", "inline", "extern", NULL };
	bool small = false, typed = false;

	for (size_t i = 0; i < fn->name_len; i++)
		small |= islower((unsigned char)tokens->text[fn->name_off + i]) != 0;
	for (size_t i = fn->first; tokens->t[i].off < fn->name_off; i++) {
		bool type = tokens->t[i].kind == KL_CT_IDENT;

		for (const char *const *word = other; type && *word; word++)
			type = !kl_ctoken_is(tokens, i, *word);
		typed |= type;
	}
	return small && typed;
}

/*
 * Append the names by which token `i` can call a function, to the last part. Outside of functions
 * these are names in macros and in values, not those of prototypes.
 */
static void use_token(struct kl_token_file *file, struct kl_token_scope *scope,
		      const struct kl_ctokens *tokens, size_t i)
{
	const struct kl_ctok *token = &tokens->t[i];
	struct kl_cdefine macro;

	if (token->kind == KL_CT_DIRECTIVE) {
		if (kl_ctoken_define(&macro, tokens, i))
			use_names(file, scope, tokens->text + macro.body, macro.end - macro.body);
	} else if (token->kind == KL_CT_IDENT &&
		   (token->fn >= 0 || !kl_ctoken_is(tokens, i + 1, "("))) {
		use_names(file, scope, tokens->text + token->off, token->len);
	}
}

/* Append a token to the plain text. Return the number of tokens that it is made of. */
static size_t add_token(struct kl_buf *plain, const struct kl_ctokens *tokens, size_t i)
{
	const struct kl_ctok *token = &tokens->t[i];
	const char *text = tokens->text + token->off;
	size_t n = 1;

	if (token->kind == KL_CT_PUNCT)
		n = operator_length(text, tokens->len - token->off);
	if (token->kind == KL_CT_DIRECTIVE)
		add_directive(plain, text, token->len);
	else
		kl_buf_add(plain, text, token->kind == KL_CT_PUNCT ? n : token->len);
	kl_buf_addch(plain, '\n');
	return n;
}

struct kl_token_file *kl_token_file_read(struct kl_token_scope *scope, const char *text, size_t len)
{
	struct kl_token_file *file = kl_calloc(1, sizeof(*file));
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	int now = -1; /* function of the last part */

	kl_ctoken_lex(&tokens, text, len);
	begin_part(file, 0);
	for (size_t i = 0, n; i < tokens.n; i += n) {
		/* A directive in a function counts, too, because later code may depend on it. */
		int fn = tokens.t[i].kind == KL_CT_DIRECTIVE ? -1 : tokens.t[i].fn;

		if (fn >= 0 && (!scope->entry || !is_function(&tokens, &tokens.fn[fn])))
			fn = -1;
		if (fn != now)
			begin_part(file, fn < 0 ? 0 :
						  number_of(scope, text + tokens.fn[fn].name_off,
							    tokens.fn[fn].name_len));
		now = fn;
		if (scope->entry)
			use_token(file, scope, &tokens, i);
		n = add_token(&file->plain, &tokens, i);
		file->part[file->nparts - 1].to = file->plain.len;
	}
	return file;
}

/* --- the functions that count ----------------------------------------------------------------- */

void kl_token_scope_of(struct kl_token_scope *out, const struct kl_surface *surface)
{
	*out = (struct kl_token_scope){ .adapters = KL_STRVEC_INIT };
	out->ids.free_value = free;
	if (surface->contract->language != &kl_language_c)
		return;
	out->entry = kl_strdup(surface->contract->entry);
	for (size_t i = 0; i < surface->noracle; i++)
		if (kl_surface_is_adapter(surface, surface->oracle[i].path))
			kl_strvec_push(&out->adapters, surface->oracle[i].data);
}

void kl_token_scope_release(struct kl_token_scope *scope)
{
	free(scope->entry);
	kl_strvec_release(&scope->adapters);
	kl_map_release(&scope->ids);
	*scope = (struct kl_token_scope){ .entry = NULL };
}

/*
 * The functions of a state by their names, and the names that still have to be followed.
 */
struct counting {
	const struct kl_token_file *const *file;
	size_t nfiles;
	bool *seen; /* for each number of a name */
	uint32_t *todo;
	size_t ntodo;
};

static void count_name(struct counting *counting, uint32_t name)
{
	if (counting->seen[name])
		return;
	counting->seen[name] = true;
	counting->todo[counting->ntodo++] = name;
}

static void count_part(struct counting *counting, const struct kl_token_file *file,
		       const struct part *part)
{
	for (size_t i = 0; i < part->n; i++)
		count_name(counting, file->used[part->first + i]);
}

/*
 * A function of a state; `next` is the index of another one of the same name, SIZE_MAX if there is
 * none.
 */
struct named {
	const struct kl_token_file *file;
	const struct part *part;
	size_t next;
};

/* List the functions, and set first[name] to the index of the first of that name, from 1. */
static struct named *list_functions(size_t *first, const struct counting *counting)
{
	struct named *named = NULL;
	size_t n = 0, alloc = 0;

	for (size_t k = 0; k < counting->nfiles; k++)
		for (size_t i = 0; counting->file[k] && i < counting->file[k]->nparts; i++) {
			const struct part *part = &counting->file[k]->part[i];

			if (!part->name)
				continue;
			KL_GROW(named, n + 1, alloc);
			named[n] = (struct named){ counting->file[k], part, first[part->name] };
			first[part->name] = ++n;
		}
	return named;
}

/*
 * Mark in counting->seen the names of the functions that count. Return false if all functions
 * count.
 */
static bool count_functions(struct counting *counting, struct kl_token_scope *scope)
{
	uint32_t entry = scope->entry ? number_of(scope, scope->entry, strlen(scope->entry)) : 0;
	struct kl_token_file roots = { .plain = KL_BUF_INIT };
	KL_AUTO(kl_freep) size_t *first = NULL;
	KL_AUTO(kl_freep) struct named *named = NULL;
	bool defined;

	begin_part(&roots, 0);
	for (size_t i = 0; i < scope->adapters.n; i++)
		use_names(&roots, scope, scope->adapters.v[i], strlen(scope->adapters.v[i]));
	counting->seen = kl_calloc(scope->ids.n + 1, sizeof(*counting->seen));
	counting->todo = kl_calloc(scope->ids.n + 1, sizeof(*counting->todo));
	first = kl_calloc(scope->ids.n + 1, sizeof(*first));
	named = list_functions(first, counting);
	defined = entry && first[entry];
	count_name(counting, entry);
	count_part(counting, &roots, roots.part);
	for (size_t k = 0; k < counting->nfiles; k++)
		for (size_t i = 0; counting->file[k] && i < counting->file[k]->nparts; i++)
			if (!counting->file[k]->part[i].name)
				count_part(counting, counting->file[k],
					   &counting->file[k]->part[i]);
	while (counting->ntodo) {
		size_t at = first[counting->todo[--counting->ntodo]];

		for (; at; at = named[at - 1].next)
			count_part(counting, named[at - 1].file, named[at - 1].part);
	}
	free(roots.part);
	free(roots.used);
	return defined;
}

/* --- digests ---------------------------------------------------------------------------------- */

/* Digest the parts of a file that count. */
static void digest_file(char hex[KL_DIGEST_HEX], const struct kl_token_file *file, const bool *seen)
{
	struct kl_digest *digest = kl_digest_new();

	for (size_t i = 0; i < file->nparts; i++) {
		const struct part *part = &file->part[i];

		if (part->to > part->from && (!part->name || !seen || seen[part->name]))
			kl_digest_add(digest, file->plain.ptr + part->from, part->to - part->from);
	}
	kl_digest_end(digest, hex);
}

/* Digest the files of a state. If `seen` is NULL, all functions count. */
static void digest_files(char hex[KL_DIGEST_HEX], const struct kl_strvec *paths,
			 const struct kl_token_file *const *file, const bool *seen)
{
	struct kl_digest *digest = kl_digest_new();

	for (size_t i = 0; i < paths->n; i++) {
		char tokens[KL_DIGEST_HEX] = "-";

		if (file[i])
			digest_file(tokens, file[i], seen);
		kl_digest_adds(digest, paths->v[i]);
		kl_digest_adds(digest, tokens);
	}
	kl_digest_end(digest, hex);
}

void kl_token_state(struct kl_token_digests *out, struct kl_token_scope *scope,
		    const struct kl_strvec *paths, const struct kl_token_file *const *file)
{
	struct counting counting = { .file = file, .nfiles = paths->n };
	bool some = count_functions(&counting, scope);

	digest_files(out->whole, paths, file, NULL);
	digest_files(out->reached, paths, file, some ? counting.seen : NULL);
	free(counting.seen);
	free(counting.todo);
}

void kl_token_digest(struct kl_token_digests *out, const struct kl_surface *surface)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	const struct kl_token_file **file = kl_calloc(surface->nfile + 1,
						      sizeof(const struct kl_token_file *));
	struct kl_token_scope scope;

	kl_token_scope_of(&scope, surface);
	for (size_t i = 0; i < surface->nfile; i++) {
		kl_strvec_push(&paths, surface->file[i].path);
		file[i] = kl_token_file_read(&scope, surface->file[i].data, surface->file[i].len);
	}
	kl_token_state(out, &scope, &paths, file);
	for (size_t i = 0; i < surface->nfile; i++)
		kl_token_file_free((struct kl_token_file *)file[i]);
	free(file);
	kl_token_scope_release(&scope);
}
