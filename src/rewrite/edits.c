/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/edits.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/ctoken.h"
#include "rewrite/rewriter.h"

#define MAX_SOURCE ((size_t)4 << 20)

/* --- whose files these are -------------------------------------------------- */

static bool is_oracle(const struct kl_surface *s, const char *path)
{
	for (size_t i = 0; i < s->noracle; i++)
		if (!strcmp(s->oracle[i].path, path))
			return true;
	return false;
}

static char *list_sources(const struct kl_surface *s)
{
	struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < s->nfile && b.len < 1000; i++)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", s->file[i].path);
	return kl_buf_detach(&b);
}

int kl_edits_path(const struct kl_file **out, const struct kl_surface *s, const char *path)
{
	KL_AUTO(kl_freep) char *list = NULL;

	for (size_t i = 0; i < s->nfile; i++)
		if (!strcmp(s->file[i].path, path)) {
			*out = &s->file[i];
			return 0;
		}
	list = list_sources(s);
	if (!strcmp(path, s->contract_file.path))
		return kl_error(KL_EINVALID,
				"'%.100s' is the contract, which stands as it is; "
				"only these "
				"files may change: %s",
				path, list);
	if (is_oracle(s, path))
		return kl_error(KL_EINVALID,
				"'%.100s' is the oracle, which stands as it is; only "
				"these "
				"files may change: %s",
				path, list);
	if (!kl_fs_path_ok(path))
		return kl_error(KL_EINVALID,
				"'%.100s' does not lie beside the contract; only "
				"these files "
				"may change: %s",
				path, list);
	return kl_error(KL_EINVALID,
			"'%.100s' is no file of this kernel; only these may change: "
			"%s",
			path, list);
}

/* --- one edit ---------------------------------------------------------------- */

struct target {
	const struct kl_file *was;
	struct kl_buf text;  /* as the edits so far left it */
	bool touched, whole; /* whole: by a <file> */
};

struct run {
	const struct kl_surface *s;
	struct target *t; /* one a source */
};

static int refuse_edit(const struct kl_envelope_edit *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_edit(const struct kl_envelope_edit *e, const char *fmt, ...)
{
	static const char *const tag[] = {
		[KL_EDIT_FILE] = "file",
		[KL_EDIT_FUNCTION] = "function",
		[KL_EDIT_SEARCH] = "edit",
	};
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	if (e->line < 0)
		return kl_error(KL_EINVALID, "edit %d: %s", -e->line, b.ptr);
	return kl_error(KL_EINVALID, "the <%s> in line %d of the reply: %s", tag[e->kind], e->line,
			b.ptr);
}

/* the lines of a reply end as those of the file do */
static char *with_ends(const char *text, const struct kl_buf *like)
{
	const char *nl = memchr(like->ptr, '\n', like->len);
	struct kl_buf b = KL_BUF_INIT;

	if (!nl || nl == like->ptr || nl[-1] != '\r')
		return kl_strdup(text);
	for (; *text; text++) {
		if (*text == '\n' && (!b.len || b.ptr[b.len - 1] != '\r'))
			kl_buf_addch(&b, '\r');
		kl_buf_addch(&b, *text);
	}
	return kl_buf_detach(&b);
}

static int put_edit(struct target *t, size_t off, size_t len, const char *with,
		    const struct kl_envelope_edit *e)
{
	struct kl_buf b = KL_BUF_INIT;

	if (strlen(with) == len && !memcmp(t->text.ptr + off, with, len))
		return refuse_edit(e, "it changes nothing in %s", t->was->path);
	kl_buf_add(&b, t->text.ptr, off);
	kl_buf_adds(&b, with);
	kl_buf_add(&b, t->text.ptr + off + len, t->text.len - off - len);
	kl_buf_release(&t->text);
	t->text = b;
	t->touched = true;
	return b.len <= MAX_SOURCE ? 0 :
				     refuse_edit(e, "%s would have %zu bytes, more than %zu",
						 t->was->path, b.len, MAX_SOURCE);
}

static int put_file(struct target *t, const struct kl_envelope_edit *e)
{
	KL_AUTO(kl_freep) char *text = with_ends(e->text, &t->text);

	if (t->touched)
		return refuse_edit(e, "%s is written whole and edited as well", t->was->path);
	t->whole = true;
	return put_edit(t, 0, t->text.len, text, e);
}

static char *names_of(const struct kl_ctokens *c)
{
	struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < c->nfn && b.len < 600; i++)
		kl_buf_addf(&b, "%s%.*s", i ? ", " : "", (int)c->fn[i].name_len,
			    c->text + c->fn[i].name_off);
	return kl_buf_detach(&b);
}

static const struct kl_cfn *find_function(size_t *found, const struct kl_ctokens *c,
					  const char *name)
{
	const struct kl_cfn *f = NULL;

	*found = 0;
	for (size_t i = 0; i < c->nfn; i++) {
		if (c->fn[i].name_len != strlen(name) ||
		    memcmp(c->text + c->fn[i].name_off, name, c->fn[i].name_len))
			continue;
		f = &c->fn[i];
		++*found;
	}
	return f;
}

/* does the text define the function? */
static int check_function(const struct kl_envelope_edit *e, const char *text)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	size_t found;

	if (!*text)
		return 0; /* it goes */
	kl_ctoken_lex(&c, text, strlen(text));
	find_function(&found, &c, e->name);
	if (found == 1)
		return 0;
	return refuse_edit(e, "it does not define '%.60s' %s", e->name,
			   found ? "once" : "with a body");
}

static int put_function(struct target *t, const struct kl_envelope_edit *e)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	KL_AUTO(kl_freep) char *list = NULL;
	KL_AUTO(kl_freep) char *ends = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_cfn *f;
	size_t found, off, len;
	int err;

	kl_ctoken_lex(&c, t->text.ptr, t->text.len);
	f = find_function(&found, &c, e->name);
	if (found != 1) {
		list = names_of(&c);
		return refuse_edit(e, "%s has %zu functions '%.60s'; it has: %s", t->was->path,
				   found, e->name, list);
	}
	kl_buf_adds(&text, e->text + strspn(e->text, "\r\n"));
	kl_buf_rtrim(&text);
	if ((err = check_function(e, text.ptr)) < 0)
		return err;
	ends = with_ends(text.ptr, &t->text);
	off = c.t[f->first].off;
	len = c.t[f->last].off + c.t[f->last].len - off;
	return put_edit(t, off, len, ends, e);
}

/*
 * How often `what` stands there as whole lines: 0, 1 or 2. A newline in front of both tells
 * where lines begin, and the last one of a file may lack its own.
 */
static size_t find_lines(size_t *off, size_t *len, const struct kl_buf *in, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf hay = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *needle = kl_asprintf("\n%s", what);
	size_t n = strlen(needle), left;
	const char *at;

	kl_buf_addch(&hay, '\n');
	kl_buf_add(&hay, in->ptr, in->len);
	if (in->len && in->ptr[in->len - 1] != '\n')
		kl_buf_addch(&hay, '\n');
	at = memmem(hay.ptr, hay.len, needle, n);
	if (!at)
		return 0;
	*off = (size_t)(at - hay.ptr);
	left = in->len - *off;
	*len = n - 1 < left ? n - 1 : left;
	return memmem(at + 1, hay.len - *off - 1, needle, n) ? 2 : 1;
}

static int put_search(struct target *t, const struct kl_envelope_edit *e)
{
	KL_AUTO(kl_freep) char *what = with_ends(e->search, &t->text);
	KL_AUTO(kl_freep) char *with = with_ends(e->text, &t->text);
	size_t off = 0, len = 0, found;

	if (!what[strspn(what, " \t\r\n")])
		return refuse_edit(e, "it searches for nothing");
	found = find_lines(&off, &len, &t->text, what);
	if (!found)
		return refuse_edit(e,
				   "its <search> is not in %s; it must repeat whole lines exactly, "
				   "indentation included",
				   t->was->path);
	if (found > 1)
		return refuse_edit(
			e, "its <search> stands more than once in %s; take more lines around it",
			t->was->path);
	return put_edit(t, off, len, with, e);
}

static int apply_one(struct run *r, const struct kl_envelope_edit *e)
{
	const struct kl_file *f;
	struct target *t;
	int err = kl_edits_path(&f, r->s, e->path);

	if (err < 0)
		return refuse_edit(e, "%s", kl_error_last());
	t = &r->t[f - r->s->file];
	if (t->whole)
		return refuse_edit(e, "%s is written whole and edited as well", f->path);
	if (e->kind == KL_EDIT_FILE)
		return put_file(t, e);
	return e->kind == KL_EDIT_FUNCTION ? put_function(t, e) : put_search(t, e);
}

static bool target_differs(const struct target *t)
{
	return t->text.len != t->was->len || memcmp(t->text.ptr, t->was->data, t->was->len);
}

static void collect_edits(struct kl_file **edit, size_t *n, struct run *r)
{
	struct kl_file *list = kl_calloc(r->s->nfile + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; i < r->s->nfile; i++) {
		struct target *t = &r->t[i];

		if (!t->touched || !target_differs(t))
			continue;
		list[*n].path = kl_strdup(t->was->path);
		list[*n].mode = t->was->mode;
		list[*n].len = t->text.len;
		list[(*n)++].data = kl_buf_detach(&t->text);
	}
	*edit = list;
}

int kl_edits_apply(struct kl_file **edit, size_t *n, const struct kl_surface *s,
		   const struct kl_envelope *reply)
{
	struct run r = { .s = s, .t = kl_calloc(s->nfile + 1, sizeof(*r.t)) };
	int err = 0;

	for (size_t i = 0; i < s->nfile; i++) {
		r.t[i] = (struct target){ .was = &s->file[i], .text = KL_BUF_INIT };
		kl_buf_add(&r.t[i].text, s->file[i].data, s->file[i].len);
	}
	for (size_t i = 0; !err && i < reply->n; i++)
		err = apply_one(&r, &reply->edit[i]);
	if (!err) {
		collect_edits(edit, n, &r);
		if (!*n) {
			kl_edits_free(*edit, 0);
			err = kl_error(KL_EINVALID, "the edits together change nothing");
		}
	}
	for (size_t i = 0; i < s->nfile; i++)
		kl_buf_release(&r.t[i].text);
	free(r.t);
	return err;
}
