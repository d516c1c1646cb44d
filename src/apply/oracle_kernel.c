/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/oracle_kernel.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/launch.h"
#include "rewrite/ctoken.h"

#define MAX_DEPTH 16 /* of includes */
#define MAX_TEXT ((size_t)4 << 20)
#define NOTHING "/* nothing: the oracle is in one file */\n"

struct maker {
	const struct kl_surface *s;
	const struct kl_oracle_words *words; /* of its language */
	const char *real;                    /* "float", "double" */
	struct kl_buf text;
	size_t depth;
};

static int refuse_oracle(const struct maker *m, const char *why)
{
	return kl_error(KL_EINVALID, "the oracle of '%s' is no kernel to begin with: %s",
			m->s->contract->workload, why);
}

/* Is the file one that the language's compiler takes by itself, as text? */
static bool is_main(const struct maker *m, const char *path)
{
	const struct kl_language *l = m->s->contract->language;

	return kl_suffix_in(path, l->mains) && kl_suffix_in(path, l->texts);
}

/* --- words -------------------------------------------------------------------------------- */

/* of the oracle's header as kernels say them */
static bool rename_word(char to[32], const struct maker *m, const char *w, size_t n)
{
	static const char *const math[] = { "exp", "log",  "sqrt", "fabs",
					    "pow", "tanh", "fma",  "floor" };
	const char *suffix = strcmp(m->real, "float") ? "" : m->words->float_suffix;
	const char *kernel = m->words->kernel;

	if (n == 7 && !memcmp(w, "kl_real", n)) {
		snprintf(to, 32, "%s", m->real);
		return true;
	}
	if (kernel && n == 9 && !memcmp(w, "KL_ORACLE", n)) {
		snprintf(to, 32, "%s", kernel);
		return true;
	}
	for (size_t i = 0; n > 3 && !memcmp(w, "kl_", 3) && i < KL_ARRAY_SIZE(math); i++)
		if (strlen(math[i]) == n - 3 && !memcmp(math[i], w + 3, n - 3)) {
			snprintf(to, 32, "%s%s", math[i], suffix);
			return true;
		}
	return false;
}

static int add_word(struct maker *m, const char *w, size_t n)
{
	const struct kl_contract *c = m->s->contract;
	KL_AUTO(kl_freep) char *why = NULL;
	char to[32];

	if (rename_word(to, m, w, n)) {
		kl_buf_adds(&m->text, to);
	} else if (c->entry && strlen(c->oracle_entry) == n && !memcmp(c->oracle_entry, w, n)) {
		kl_buf_adds(&m->text, c->entry);
	} else if (n > 3 && (!memcmp(w, "kl_", 3) || !memcmp(w, "KL_", 3))) {
		why = kl_asprintf("it uses '%.*s', for which kernels have no word", (int)n, w);
		return refuse_oracle(m, why);
	} else {
		kl_buf_add(&m->text, w, n);
	}
	return 0;
}

/* --- files -------------------------------------------------------------------------------- */

static int add_file(struct maker *m, const struct kl_file *f);

static void add_header(struct maker *m)
{
	const char *between = "";

	for (const char *const *h = m->words->includes; *h; h++) {
		KL_AUTO(kl_freep) char *line = kl_asprintf("#include <%s.h>\n", *h);

		if (strstr(m->text.ptr, line))
			continue;
		kl_buf_addf(&m->text, "%s#include <%s.h>", between, *h);
		between = "\n";
	}
}

/* as the compiler finds it: beside who includes it, or from the oracle's directory on */
static const struct kl_file *find_included(const struct maker *m, const char *from,
					   const char *name)
{
	const char *slash = strrchr(from, '/');
	KL_AUTO(kl_freep) char *beside = slash ? kl_asprintf("%.*s/%s", (int)(slash - from), from,
							     name) :
						 kl_strdup(name);

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < m->s->noracle; i++)
			if (!strcmp(m->s->oracle[i].path, pass ? name : beside))
				return &m->s->oracle[i];
	return NULL;
}

static int add_included(struct maker *m, const char *from, const char *name)
{
	const struct kl_file *f = find_included(m, from, name);
	KL_AUTO(kl_freep) char *why = NULL;
	int err;

	if (!f && !strcmp(name, m->words->header)) {
		add_header(m);
		return 0;
	}
	if (!f || m->depth == MAX_DEPTH) {
		why = kl_asprintf("it includes '%s', which is %s", name,
				  f ? "in itself" : "none of its files");
		return refuse_oracle(m, why);
	}
	m->depth++;
	err = add_file(m, f);
	m->depth--;
	return err;
}

/* "x.h" of `# include "x.h"`; NULL: it is something else. The caller's. */
static char *included_name(const struct kl_ctokens *c)
{
	if (c->n < 2 || !kl_ctoken_is(c, 0, "include") || c->t[1].kind != KL_CT_STRING ||
	    c->t[1].len < 2)
		return NULL;
	return kl_strndup(c->text + c->t[1].off + 1, c->t[1].len - 2);
}

static int add_tokens(struct maker *m, const char *path, const char *text, size_t len);

static int add_directive(struct maker *m, const char *path, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *name = NULL;
	struct kl_ctokens c;

	kl_ctoken_lex(&c, text + 1, len - 1);
	name = included_name(&c);
	kl_ctokens_release(&c);
	if (name)
		return add_included(m, path, name);
	kl_buf_addch(&m->text, '#');
	return add_tokens(m, path, text + 1, len - 1);
}

static int add_tokens(struct maker *m, const char *path, const char *text, size_t len)
{
	struct kl_ctokens c;
	size_t at = 0;
	int err = 0;

	kl_ctoken_lex(&c, text, len);
	for (size_t i = 0; !err && i < c.n && m->text.len <= MAX_TEXT; i++) {
		const char *w = text + c.t[i].off;

		kl_buf_add(&m->text, text + at, c.t[i].off - at);
		at = c.t[i].off + c.t[i].len;
		if (c.t[i].kind == KL_CT_DIRECTIVE)
			err = add_directive(m, path, w, c.t[i].len);
		else if (c.t[i].kind == KL_CT_IDENT)
			err = add_word(m, w, c.t[i].len);
		else
			kl_buf_add(&m->text, w, c.t[i].len);
	}
	kl_ctokens_release(&c);
	kl_buf_add(&m->text, text + at, len - at);
	return err;
}

static int add_file(struct maker *m, const struct kl_file *f)
{
	return add_tokens(m, f->path, f->data, f->len);
}

/* --- can it be? ------------------------------------------------------------------------------ */

static int find_real(struct maker *m)
{
	const struct kl_contract *c = m->s->contract;
	const char *dtype = NULL;
	KL_AUTO(kl_freep) char *why = NULL;

	for (size_t i = 0; i < c->nargs; i++) {
		const struct kl_arg *a = &c->arg[i];

		if (a->kind == KL_ARG_DIM || !kl_dtype_is_float(a->dtype) ||
		    (!m->words->real_scalars && a->kind == KL_ARG_SCALAR))
			continue;
		if (strcmp(a->dtype, "f32") && strcmp(a->dtype, "f64"))
			why = kl_asprintf("'%s' is %s, and it reads and writes wider floats",
					  a->name, a->dtype);
		else if (dtype && strcmp(a->dtype, dtype))
			why = kl_asprintf("'%s' is %s, others are %s, and it has one type for all",
					  a->name, a->dtype, dtype);
		if (why)
			return refuse_oracle(m, why);
		dtype = a->dtype;
	}
	m->real = dtype && !strcmp(dtype, "f64") ? "double" : "float";
	return 0;
}

/* the oracle's one file that is compiled */
static int find_main(const struct kl_file **out, const struct maker *m)
{
	*out = NULL;
	for (size_t i = 0; i < m->s->noracle; i++) {
		if (!is_main(m, m->s->oracle[i].path))
			continue;
		if (*out)
			return refuse_oracle(
				m, "it has several files that are compiled each by itself");
		*out = &m->s->oracle[i];
	}
	return *out ? 0 : refuse_oracle(m, "it has no source");
}

static const char *find_place(const struct maker *m)
{
	const struct kl_strvec *v = &m->s->contract->sources;

	for (size_t i = 0; i < v->n; i++)
		if (is_main(m, v->v[i]))
			return v->v[i];
	return NULL;
}

/* --- all of it ------------------------------------------------------------------------------- */

static const struct kl_file *find_plan(const struct kl_surface *s)
{
	for (size_t i = 0; i < s->noracle; i++)
		if (!strcmp(s->oracle[i].path, s->contract->oracle_launch))
			return &s->oracle[i];
	return NULL;
}

static int put_in(struct kl_surface **out, const struct maker *m, const char *place)
{
	const struct kl_surface *s = m->s;
	const struct kl_file *plan = s->contract->oracle_launch ? find_plan(s) : NULL;
	struct kl_file *edit = kl_calloc(s->nfile, sizeof(*edit));
	int err;

	for (size_t i = 0; i < s->nfile; i++) {
		edit[i] = (struct kl_file){ .path = s->file[i].path,
					    .data = (char *)NOTHING,
					    .len = strlen(NOTHING) };
		if (!strcmp(edit[i].path, place)) {
			edit[i].data = m->text.ptr;
			edit[i].len = m->text.len;
		} else if (plan && !strcmp(edit[i].path, s->contract->launch)) {
			edit[i].data = plan->data;
			edit[i].len = plan->len;
		}
	}
	err = kl_surface_with(out, s, edit, s->nfile);
	free(edit);
	return err;
}

static int check_plan(const struct kl_surface *s)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	int err = kl_launch_read(&l, s, false);

	return err < 0 ? kl_error_in(err, "the oracle's plan as a kernel's") : 0;
}

static int refuse_language(const struct maker *m)
{
	const struct kl_language *l = m->s->contract->language;
	KL_AUTO(kl_freep) char *why = NULL;

	why = l->variant ? kl_asprintf("none is made in %s (%s: true)", l->title, l->variant) :
			   kl_asprintf("none is made in %s", l->title);
	return refuse_oracle(m, why);
}

static int make_kernel(struct kl_surface **out, struct maker *m)
{
	const struct kl_contract *c = m->s->contract;
	const struct kl_file *from;
	const char *place = find_place(m);
	int err;

	if (!m->words)
		return refuse_language(m);
	if (!place)
		return refuse_oracle(m, "the surface has no source that could hold it");
	if ((err = kl_oracle_filled(m->s)) < 0 || (err = find_real(m)) < 0 ||
	    (err = find_main(&from, m)) < 0)
		return err;
	kl_buf_addf(&m->text, "/* The oracle of %s over %s, as a kernel to begin with. */\n",
		    c->workload, m->real);
	if ((err = add_file(m, from)) < 0)
		return err;
	return put_in(out, m, place);
}

int kl_reference_make(struct kl_surface **out, struct kl_repo *r, const git_oid *tree,
		      const char *dir)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *bare = NULL, *made = NULL;
	struct maker m = { .text = KL_BUF_INIT };
	int err = kl_surface_bare(&bare, r, tree, dir);

	if (err < 0)
		return err;
	m.s = bare;
	m.words = kl_backend_of(bare->contract)->words;
	err = make_kernel(&made, &m);
	kl_buf_release(&m.text);
	if (err < 0 || (made->contract->launch && (err = check_plan(made)) < 0))
		return err;
	*out = kl_steal(&made);
	return 0;
}
