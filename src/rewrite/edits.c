/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/edits.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"
#include "rewrite/source/ctoken.h"
#include "text/line_ends.h"

#define MAX_SOURCE ((size_t)4 << 20)

/*
 * --- editable files ---------------------------------------------------------
 */

static bool is_oracle(const struct kl_surface *surface, const char *path)
{
	for (size_t i = 0; i < surface->noracle; i++)
		if (!strcmp(surface->oracle[i].path, path))
			return true;
	return false;
}

static char *list_sources(const struct kl_surface *surface)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < surface->nfile && buf.len < 1000; i++)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", surface->file[i].path);
	return kl_buf_detach(&buf);
}

int kl_edits_path(const struct kl_file **out, const struct kl_surface *surface, const char *path)
{
	KL_AUTO(kl_freep) char *list = NULL;

	for (size_t i = 0; i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, path)) {
			*out = &surface->file[i];
			return 0;
		}
	list = list_sources(surface);
	if (!strcmp(path, surface->contract_file.path))
		return kl_error(
			KL_EINVALID,
			"'%.100s' is the contract, which must not be changed; only these files can "
			"be changed: %s",
			path, list);
	if (kl_surface_is_adapter(surface, path))
		return kl_error(
			KL_EINVALID,
			"'%.100s' is an adapter of the contract, which must not be changed; "
			"only these files can be changed: %s",
			path, list);
	if (is_oracle(surface, path))
		return kl_error(
			KL_EINVALID,
			"'%.100s' is the oracle, which must not be changed; only these files can "
			"be changed: %s",
			path, list);
	if (!kl_fs_path_ok(path))
		return kl_error(
			KL_EINVALID,
			"'%.100s' is outside of the contract's directory; only these files can be "
			"changed: %s",
			path, list);
	return kl_error(
		KL_EINVALID,
		"'%.100s' is not a file of this kernel; only these files can be changed: %s", path,
		list);
}

/*
 * --- one edit ----------------------------------------------------------------
 */

struct target {
	const struct kl_file *was;
	struct kl_buf text;  /* the file after the edits so far */
	bool touched, whole; /* touched: changed by any edit; whole: replaced by a <file> */
};

struct run {
	const struct kl_surface *s;
	struct target *t; /* one for each source */
};

static int refuse_edit(const struct kl_envelope_edit *edit, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_edit(const struct kl_envelope_edit *edit, const char *fmt, ...)
{
	static const char *const tag[] = {
		[KL_EDIT_FILE] = "file",
		[KL_EDIT_FUNCTION] = "function",
		[KL_EDIT_SEARCH] = "edit",
	};
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	if (edit->line < 0)
		return kl_error(KL_EINVALID, "edit %d: %s", -edit->line, buf.ptr);
	return kl_error(KL_EINVALID, "the <%s> in line %d of the reply: %s", tag[edit->kind],
			edit->line, buf.ptr);
}

/* Return `text`, with its line ends converted to "\r\n" if the file `like` uses them. */
static char *with_ends(const char *text, const struct kl_buf *like)
{
	return kl_line_ends_are_crlf(like->ptr, like->len) ?
		       kl_line_ends_to_crlf(text, strlen(text)) :
		       kl_strdup(text);
}

static int put_edit(struct target *target, size_t off, size_t len, const char *with,
		    const struct kl_envelope_edit *edit)
{
	struct kl_buf buf = KL_BUF_INIT;

	if (strlen(with) == len && !memcmp(target->text.ptr + off, with, len))
		return refuse_edit(edit, "it changes nothing in %s", target->was->path);
	kl_buf_add(&buf, target->text.ptr, off);
	kl_buf_adds(&buf, with);
	kl_buf_add(&buf, target->text.ptr + off + len, target->text.len - off - len);
	kl_buf_release(&target->text);
	target->text = buf;
	target->touched = true;
	return buf.len <= MAX_SOURCE ?
		       0 :
		       refuse_edit(edit, "%s would have %zu bytes, but can have at most %zu",
				   target->was->path, buf.len, MAX_SOURCE);
}

static int put_file(struct target *target, const struct kl_envelope_edit *edit)
{
	KL_AUTO(kl_freep) char *text = with_ends(edit->text, &target->text);

	if (target->touched)
		return refuse_edit(edit, "%s is written whole and edited as well",
				   target->was->path);
	target->whole = true;
	return put_edit(target, 0, target->text.len, text, edit);
}

static char *names_of(const struct kl_ctokens *tokens)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < tokens->nfn && buf.len < 600; i++)
		kl_buf_addf(&buf, "%s%.*s", i ? ", " : "", (int)tokens->fn[i].name_len,
			    tokens->text + tokens->fn[i].name_off);
	return kl_buf_detach(&buf);
}

static const struct kl_cfn *find_function(size_t *found, const struct kl_ctokens *tokens,
					  const char *name)
{
	const struct kl_cfn *cfn = NULL;

	*found = 0;
	for (size_t i = 0; i < tokens->nfn; i++) {
		if (tokens->fn[i].name_len != strlen(name) ||
		    memcmp(tokens->text + tokens->fn[i].name_off, name, tokens->fn[i].name_len))
			continue;
		cfn = &tokens->fn[i];
		++*found;
	}
	return cfn;
}

/* Check that the text defines the function exactly once. */
static int check_function(const struct kl_envelope_edit *edit, const char *text)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	size_t found;

	if (!*text)
		return 0; /* the function is removed */
	kl_ctoken_lex(&tokens, text, strlen(text));
	find_function(&found, &tokens, edit->name);
	if (found == 1)
		return 0;
	return refuse_edit(edit, "it does not define '%.60s' %s", edit->name,
			   found ? "once" : "with a body");
}

static int put_function(struct target *target, const struct kl_envelope_edit *edit)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_freep) char *list = NULL;
	KL_AUTO(kl_freep) char *ends = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_cfn *cfn;
	size_t found, off, len;
	int err;

	kl_ctoken_lex(&tokens, target->text.ptr, target->text.len);
	cfn = find_function(&found, &tokens, edit->name);
	if (found != 1) {
		list = names_of(&tokens);
		return refuse_edit(edit, "%s has %zu functions '%.60s'; it has: %s",
				   target->was->path, found, edit->name, list);
	}
	kl_buf_adds(&text, edit->text + strspn(edit->text, "\r\n"));
	kl_buf_rtrim(&text);
	if ((err = check_function(edit, text.ptr)) < 0)
		return err;
	ends = with_ends(text.ptr, &target->text);
	off = tokens.t[cfn->first].off;
	len = tokens.t[cfn->last].off + tokens.t[cfn->last].len - off;
	return put_edit(target, off, len, ends, edit);
}

/*
 * Count the occurrences of `what` as whole lines, but at most 2. Both texts get a newline in front,
 * so that `what` matches only at the start of a line. If the file's last line has no newline, it
 * gets one.
 */
static size_t find_lines(size_t *off, size_t *len, const struct kl_buf *in, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf hay = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *needle = kl_asprintf("\n%s", what);
	size_t n = strlen(needle), rest;
	const char *at;

	kl_buf_addch(&hay, '\n');
	kl_buf_add(&hay, in->ptr, in->len);
	if (in->len && in->ptr[in->len - 1] != '\n')
		kl_buf_addch(&hay, '\n');
	at = memmem(hay.ptr, hay.len, needle, n);
	if (!at)
		return 0;
	*off = (size_t)(at - hay.ptr);
	rest = in->len - *off;
	*len = n - 1 < rest ? n - 1 : rest;
	return memmem(at + 1, hay.len - *off - 1, needle, n) ? 2 : 1;
}

static int put_search(struct target *target, const struct kl_envelope_edit *edit)
{
	KL_AUTO(kl_freep) char *what = with_ends(edit->search, &target->text);
	KL_AUTO(kl_freep) char *with = with_ends(edit->text, &target->text);
	size_t off = 0, len = 0, found;

	if (!what[strspn(what, " \t\r\n")])
		return refuse_edit(edit, "its <search> is empty");
	found = find_lines(&off, &len, &target->text, what);
	if (!found)
		return refuse_edit(edit,
				   "its <search> is not in %s; it must repeat whole lines exactly, "
				   "indentation included",
				   target->was->path);
	if (found > 1)
		return refuse_edit(
			edit,
			"its <search> occurs more than once in %s; include more lines around it",
			target->was->path);
	return put_edit(target, off, len, with, edit);
}

static int apply_one(struct run *run, const struct kl_envelope_edit *edit)
{
	const struct kl_file *file;
	struct target *target;
	int err = kl_edits_path(&file, run->s, edit->path);

	if (err < 0)
		return refuse_edit(edit, "%s", kl_error_last());
	target = &run->t[file - run->s->file];
	if (target->whole)
		return refuse_edit(edit, "%s is written whole and edited as well", file->path);
	if (edit->kind == KL_EDIT_FILE)
		return put_file(target, edit);
	return edit->kind == KL_EDIT_FUNCTION ? put_function(target, edit) :
						put_search(target, edit);
}

static bool target_differs(const struct target *target)
{
	return target->text.len != target->was->len ||
	       memcmp(target->text.ptr, target->was->data, target->was->len);
}

static void collect_edits(struct kl_file **edit, size_t *n, struct run *run)
{
	struct kl_file *list = kl_calloc(run->s->nfile + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; i < run->s->nfile; i++) {
		struct target *target = &run->t[i];

		if (!target->touched || !target_differs(target))
			continue;
		list[*n].path = kl_strdup(target->was->path);
		list[*n].mode = target->was->mode;
		list[*n].len = target->text.len;
		list[(*n)++].data = kl_buf_detach(&target->text);
	}
	*edit = list;
}

int kl_edits_apply(struct kl_file **edit, size_t *n, const struct kl_surface *surface,
		   const struct kl_envelope *reply)
{
	struct run run = { .s = surface, .t = kl_calloc(surface->nfile + 1, sizeof(*run.t)) };
	int err = 0;

	for (size_t i = 0; i < surface->nfile; i++) {
		run.t[i] = (struct target){ .was = &surface->file[i], .text = KL_BUF_INIT };
		kl_buf_add(&run.t[i].text, surface->file[i].data, surface->file[i].len);
	}
	for (size_t i = 0; !err && i < reply->n; i++)
		err = apply_one(&run, &reply->edit[i]);
	if (!err) {
		collect_edits(edit, n, &run);
		if (!*n) {
			kl_edits_free(*edit, 0);
			err = kl_error(KL_EINVALID, "the edits change nothing when taken together");
		}
	}
	for (size_t i = 0; i < surface->nfile; i++)
		kl_buf_release(&run.t[i].text);
	free(run.t);
	return err;
}
