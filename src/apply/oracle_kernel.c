/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/oracle_kernel.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/launch.h"
#include "rewrite/source/ctoken.h"

#define MAX_DEPTH 16 /* most levels of nested includes */
#define MAX_TEXT ((size_t)4 << 20)
#define NOTHING "/* nothing: the oracle is in one file */\n"

struct maker {
	const struct kl_surface *surface;
	/*
	 * replacements of the words of the oracle's header in this language; NULL if the language
	 * is not supported
	 */
	const struct kl_oracle_words *words;
	const char *real; /* type that replaces kl_real: "float" or "double" */
	struct kl_buf text;
	size_t depth;
};

static int refuse_oracle(const struct maker *maker, const char *why)
{
	return kl_error(KL_EINVALID, "the oracle of '%s' cannot be a kernel: %s",
			maker->surface->contract->workload, why);
}

/* Check that the file's suffix marks a source in text form in the contract's language. */
static bool is_main(const struct maker *maker, const char *path)
{
	const struct kl_language *language = maker->surface->contract->language;

	return kl_suffix_in(path, language->mains) && kl_suffix_in(path, language->texts);
}

/* --- names that are replaced ------------------------------------------------------------------ */

/*
 * Translate a word of the oracle's header to the kernel's word. Return false if the word stays as
 * it is.
 */
static bool rename_word(char to[32], const struct maker *maker, const char *word, size_t n)
{
	static const char *const math[] = { "exp", "log",  "sqrt", "fabs",
					    "pow", "tanh", "fma",  "floor" };
	const char *suffix = strcmp(maker->real, "float") ? "" : maker->words->float_suffix;
	const char *kernel = maker->words->kernel;

	if (n == 7 && !memcmp(word, "kl_real", n)) {
		snprintf(to, 32, "%s", maker->real);
		return true;
	}
	if (kernel && n == 9 && !memcmp(word, "KL_ORACLE", n)) {
		snprintf(to, 32, "%s", kernel);
		return true;
	}
	for (size_t i = 0; n > 3 && !memcmp(word, "kl_", 3) && i < KL_ARRAY_SIZE(math); i++)
		if (strlen(math[i]) == n - 3 && !memcmp(math[i], word + 3, n - 3)) {
			snprintf(to, 32, "%s%s", math[i], suffix);
			return true;
		}
	return false;
}

static int add_word(struct maker *maker, const char *word, size_t n)
{
	const struct kl_contract *contract = maker->surface->contract;
	KL_AUTO(kl_freep) char *why = NULL;
	char to[32];

	if (rename_word(to, maker, word, n)) {
		kl_buf_adds(&maker->text, to);
	} else if (contract->entry && strlen(contract->oracle_entry) == n &&
		   !memcmp(contract->oracle_entry, word, n)) {
		kl_buf_adds(&maker->text, contract->entry);
	} else if (n > 3 && (!memcmp(word, "kl_", 3) || !memcmp(word, "KL_", 3))) {
		why = kl_asprintf("the oracle uses '%.*s', which kernels cannot use", (int)n, word);
		return refuse_oracle(maker, why);
	} else {
		kl_buf_add(&maker->text, word, n);
	}
	return 0;
}

/* --- including files -------------------------------------------------------------------------- */

static int add_file(struct maker *maker, const struct kl_file *file);

static void add_header(struct maker *maker)
{
	const char *between = "";

	for (const char *const *name = maker->words->includes; *name; name++) {
		KL_AUTO(kl_freep) char *line = kl_asprintf("#include <%s.h>\n", *name);

		if (strstr(maker->text.ptr, line))
			continue;
		kl_buf_addf(&maker->text, "%s#include <%s.h>", between, *name);
		between = "\n";
	}
}

/*
 * Find an included file as the compiler does: first beside the file that includes it, then in the
 * oracle's root.
 */
static const struct kl_file *find_included(const struct maker *maker, const char *from,
					   const char *name)
{
	const char *slash = strrchr(from, '/');
	KL_AUTO(kl_freep) char *beside = slash ? kl_asprintf("%.*s/%s", (int)(slash - from), from,
							     name) :
						 kl_strdup(name);

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < maker->surface->noracle; i++)
			if (!strcmp(maker->surface->oracle[i].path, pass ? name : beside))
				return &maker->surface->oracle[i];
	return NULL;
}

static int add_included(struct maker *maker, const char *from, const char *name)
{
	const struct kl_file *file = find_included(maker, from, name);
	KL_AUTO(kl_freep) char *why = NULL;
	int err;

	if (!file && !strcmp(name, maker->words->header)) {
		add_header(maker);
		return 0;
	}
	if (!file || maker->depth == MAX_DEPTH) {
		why = kl_asprintf("the oracle includes '%s', which is %s", name,
				  file ? "nested too deeply" : "not one of its files");
		return refuse_oracle(maker, why);
	}
	maker->depth++;
	err = add_file(maker, file);
	maker->depth--;
	return err;
}

/*
 * Copy "x.h" of `# include "x.h"`. Return NULL for any other directive. The caller frees the name.
 */
static char *included_name(const struct kl_ctokens *tokens)
{
	if (tokens->n < 2 || !kl_ctoken_is(tokens, 0, "include") ||
	    tokens->t[1].kind != KL_CT_STRING || tokens->t[1].len < 2)
		return NULL;
	return kl_strndup(tokens->text + tokens->t[1].off + 1, tokens->t[1].len - 2);
}

static int add_tokens(struct maker *maker, const char *path, const char *text, size_t len);

static int add_directive(struct maker *maker, const char *path, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *name = NULL;
	struct kl_ctokens tokens;

	kl_ctoken_lex(&tokens, text + 1, len - 1);
	name = included_name(&tokens);
	kl_ctokens_release(&tokens);
	if (name)
		return add_included(maker, path, name);
	kl_buf_addch(&maker->text, '#');
	return add_tokens(maker, path, text + 1, len - 1);
}

static int add_tokens(struct maker *maker, const char *path, const char *text, size_t len)
{
	struct kl_ctokens tokens;
	size_t at = 0;
	int err = 0;

	kl_ctoken_lex(&tokens, text, len);
	for (size_t i = 0; !err && i < tokens.n && maker->text.len <= MAX_TEXT; i++) {
		const char *word = text + tokens.t[i].off;

		kl_buf_add(&maker->text, text + at, tokens.t[i].off - at);
		at = tokens.t[i].off + tokens.t[i].len;
		if (tokens.t[i].kind == KL_CT_DIRECTIVE)
			err = add_directive(maker, path, word, tokens.t[i].len);
		else if (tokens.t[i].kind == KL_CT_IDENT)
			err = add_word(maker, word, tokens.t[i].len);
		else
			kl_buf_add(&maker->text, word, tokens.t[i].len);
	}
	kl_ctokens_release(&tokens);
	kl_buf_add(&maker->text, text + at, len - at);
	return err;
}

static int add_file(struct maker *maker, const struct kl_file *file)
{
	return add_tokens(maker, file->path, file->data, file->len);
}

/* --- types and files that the oracle may use -------------------------------------------------- */

static int find_real(struct maker *maker)
{
	const struct kl_contract *contract = maker->surface->contract;
	const struct kl_arg *first = NULL;
	KL_AUTO(kl_freep) char *why = NULL;

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (arg->kind == KL_ARG_DIM || !kl_dtype_is_float(arg->dtype) ||
		    (!maker->words->real_scalars && arg->kind == KL_ARG_SCALAR))
			continue;
		if (arg->dtype != KL_F32 && arg->dtype != KL_F64)
			why = kl_asprintf(
				"'%s' is %s, but the oracle reads and writes wider floats",
				arg->name, kl_dtype_name(arg->dtype));
		else if (first && arg->dtype != first->dtype)
			why = kl_asprintf(
				"'%s' is %s but other arguments are %s, and the oracle uses one "
				"float type for all",
				arg->name, kl_dtype_name(arg->dtype), kl_dtype_name(first->dtype));
		if (why)
			return refuse_oracle(maker, why);
		first = arg;
	}
	maker->real = first && first->dtype == KL_F64 ? "double" : "float";
	return 0;
}

/* Find the only file of the oracle that is compiled. */
static int find_main(const struct kl_file **out, const struct maker *maker)
{
	*out = NULL;
	for (size_t i = 0; i < maker->surface->noracle; i++) {
		if (!is_main(maker, maker->surface->oracle[i].path))
			continue;
		if (*out)
			return refuse_oracle(
				maker, "the oracle has several files that are compiled separately");
		*out = &maker->surface->oracle[i];
	}
	return *out ? 0 : refuse_oracle(maker, "the oracle has no source file");
}

static const char *find_place(const struct maker *maker)
{
	const struct kl_strvec *sources = &maker->surface->contract->sources;

	for (size_t i = 0; i < sources->n; i++)
		if (is_main(maker, sources->v[i]))
			return sources->v[i];
	return NULL;
}

/* --- making the kernel ------------------------------------------------------------------------ */

static const struct kl_file *find_plan(const struct kl_surface *surface)
{
	for (size_t i = 0; i < surface->noracle; i++)
		if (!strcmp(surface->oracle[i].path, surface->contract->oracle_launch))
			return &surface->oracle[i];
	return NULL;
}

static int put_in(struct kl_surface **out, const struct maker *maker, const char *place)
{
	const struct kl_surface *surface = maker->surface;
	const struct kl_file *plan = surface->contract->oracle_launch ? find_plan(surface) : NULL;
	struct kl_file *edit = kl_calloc(surface->nfile, sizeof(*edit));
	int err;

	for (size_t i = 0; i < surface->nfile; i++) {
		edit[i] = (struct kl_file){ .path = surface->file[i].path,
					    .data = (char *)NOTHING,
					    .len = strlen(NOTHING) };
		if (!strcmp(edit[i].path, place)) {
			edit[i].data = maker->text.ptr;
			edit[i].len = maker->text.len;
		} else if (plan && !strcmp(edit[i].path, surface->contract->launch)) {
			edit[i].data = plan->data;
			edit[i].len = plan->len;
		}
	}
	err = kl_surface_with(out, surface, edit, surface->nfile);
	free(edit);
	return err;
}

static int check_plan(const struct kl_surface *surface)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	int err = kl_launch_read(&launch, surface, false, NULL);

	return err < 0 ? kl_error_in(err, "the oracle's launch plan, used for the kernel") : 0;
}

static int refuse_language(const struct maker *maker)
{
	const struct kl_language *language = maker->surface->contract->language;
	KL_AUTO(kl_freep) char *why = NULL;

	why = language->variant ? kl_asprintf("not supported for %s (%s: true)", language->title,
					      language->variant) :
				  kl_asprintf("not supported for %s", language->title);
	return refuse_oracle(maker, why);
}

static int make_kernel(struct kl_surface **out, struct maker *maker)
{
	const struct kl_contract *contract = maker->surface->contract;
	const struct kl_file *from;
	const char *place = find_place(maker);
	int err;

	if (!maker->words)
		return refuse_language(maker);
	if (contract->adapters.n)
		return refuse_oracle(
			maker,
			"the contract has an adapter, so the arguments of its function differ "
			"from those of the oracle");
	if (!place)
		return refuse_oracle(maker,
				     "the surface has no source that can contain the oracle");
	if ((err = kl_oracle_filled(maker->surface)) < 0 || (err = find_real(maker)) < 0 ||
	    (err = find_main(&from, maker)) < 0)
		return err;
	kl_buf_addf(&maker->text, "/* The oracle of %s over %s, as a kernel to begin with. */\n",
		    contract->workload, maker->real);
	if ((err = add_file(maker, from)) < 0)
		return err;
	return put_in(out, maker, place);
}

int kl_reference_make(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		      const char *dir)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *bare = NULL, *made = NULL;
	struct maker maker = { .text = KL_BUF_INIT };
	int err = kl_surface_bare(&bare, repo, tree, dir);

	if (err < 0)
		return err;
	maker.surface = bare;
	maker.words = kl_backend_of(bare->contract)->words;
	err = make_kernel(&made, &maker);
	kl_buf_release(&maker.text);
	if (err < 0 || (made->contract->launch && (err = check_plan(made)) < 0))
		return err;
	*out = kl_steal(&made);
	return 0;
}
