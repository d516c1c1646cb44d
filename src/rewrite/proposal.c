/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/proposal.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "rewrite/ctoken.h"

void kl_proposal_free(struct kl_proposal *p)
{
	if (!p)
		return;
	free(p->rewriter);
	free(p->source);
	free(p->action);
	free(p->mechanism);
	free(p->locus);
	free(p->text);
	json_decref(p->traits);
	kl_surface_free(p->candidate);
	free(p);
}

void kl_proposal_id(char id[KL_DIGEST_HEX], const char *from_digest, const char *to_digest)
{
	struct kl_digest *d = kl_digest_new();

	kl_digest_adds(d, from_digest);
	kl_digest_adds(d, to_digest);
	kl_digest_end(d, id);
}

json_t *kl_proposal_to_json(const struct kl_proposal *p)
{
	json_t *j = json_object();

	kl_json_set_str(j, "id", p->id);
	kl_json_set_str(j, "edit", p->edit);
	kl_json_set_str(j, "rewriter", p->rewriter);
	kl_json_set_str(j, "source", p->source);
	kl_json_set_str(j, "action", p->action);
	kl_json_set_str(j, "mechanism", p->mechanism);
	kl_json_set_str(j, "locus", p->locus);
	kl_json_set_str(j, "text", p->text);
	kl_json_set_str(j, "origin", p->origin);
	kl_json_set_str(j, "surface", p->candidate->digest);
	kl_json_set(j, "traits", json_deep_copy(p->traits));
	if (p->unisolated)
		kl_json_set_bool(j, "unisolated", true);
	return j;
}

static int take_str(char **out, const json_t *j, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, j, key);

	if (!err)
		*out = kl_strdup(s);
	return err;
}

static const char *origin_of(const char *s)
{
	static const char *const known[] = { "induced", "authored", "historical" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (!strcmp(s, known[i]))
			return known[i];
	return "induced";
}

int kl_proposal_from_json(struct kl_proposal **out, const json_t *j, struct kl_surface *candidate)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = kl_calloc(1, sizeof(*p));
	const char *id, *surface;
	json_t *traits;
	int err;

	if ((err = kl_json_str(&id, j, "id")) < 0 ||
	    (err = take_str(&p->rewriter, j, "rewriter")) < 0 ||
	    (err = take_str(&p->source, j, "source")) < 0 ||
	    (err = take_str(&p->action, j, "action")) < 0 ||
	    (err = take_str(&p->mechanism, j, "mechanism")) < 0 ||
	    (err = take_str(&p->locus, j, "locus")) < 0 ||
	    (err = take_str(&p->text, j, "text")) < 0 ||
	    (err = kl_json_str(&surface, j, "surface")) < 0 ||
	    (err = kl_json_obj(&traits, j, "traits")) < 0)
		return err;
	if (strlen(id) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "a proposal's id is not a digest: '%s'", id);
	if (strcmp(surface, candidate->digest))
		return kl_error(KL_EINVALID, "the files of proposal %.12s are not those recorded",
				id);
	memcpy(p->id, id, KL_DIGEST_HEX);
	snprintf(p->edit, sizeof(p->edit), "%s", kl_json_str_or(j, "edit", ""));
	p->origin = origin_of(kl_json_str_or(j, "origin", ""));
	p->unisolated = kl_json_bool_or(j, "unisolated", false);
	p->traits = json_deep_copy(traits);
	p->candidate = candidate;
	*out = kl_steal(&p);
	return 0;
}

char *kl_proposal_slug(const char *text)
{
	struct kl_buf b = KL_BUF_INIT;

	for (; *text && *text != '\n' && b.len < 40; text++) {
		if (isalnum((unsigned char)*text))
			kl_buf_addch(&b, (char)tolower((unsigned char)*text));
		else if (b.len && b.ptr[b.len - 1] != '-')
			kl_buf_addch(&b, '-');
	}
	while (b.len && b.ptr[b.len - 1] == '-')
		b.ptr[--b.len] = '\0';
	if (!b.len)
		kl_buf_adds(&b, "step");
	return kl_buf_detach(&b);
}

/* bytes that two texts have in common at both ends */
static void common_ends(size_t *head_out, size_t *tail_out, const struct kl_file *a,
			const struct kl_file *b)
{
	size_t head = 0, tail = 0;
	size_t max = a->len < b->len ? a->len : b->len;

	while (head < max && a->data[head] == b->data[head])
		head++;
	while (tail < max - head && a->data[a->len - 1 - tail] == b->data[b->len - 1 - tail])
		tail++;
	*head_out = head;
	*tail_out = tail;
}

void kl_proposal_edit(char edit[KL_DIGEST_HEX], const struct kl_surface *from,
		      const struct kl_surface *to)
{
	struct kl_digest *d = kl_digest_new();

	for (size_t i = 0; i < from->nfile && i < to->nfile; i++) {
		const struct kl_file *a = &from->file[i], *b = &to->file[i];
		size_t head, tail, line;

		common_ends(&head, &tail, a, b);
		if (a->len == b->len && head == a->len)
			continue;
		/* whole lines, so that a word tells where it stood */
		for (line = head; line && a->data[line - 1] != '\n'; line--)
			;
		while (tail && a->data[a->len - tail] != '\n')
			tail--;
		kl_digest_adds(d, a->path);
		kl_digest_add(d, a->data + line, a->len - tail - line);
		kl_digest_adds(d, "");
		kl_digest_add(d, b->data + line, b->len - tail - line);
		kl_digest_adds(d, "");
	}
	kl_digest_end(d, edit);
}

/* first and last line (from 1) of `a` that are not those of `b` */
static void changed_lines(int *first, int *last, const struct kl_file *a, const struct kl_file *b)
{
	size_t head, tail;

	common_ends(&head, &tail, a, b);
	*first = 1;
	for (size_t i = 0; i < head; i++)
		*first += a->data[i] == '\n';
	*last = *first;
	for (size_t i = head; i + 1 < a->len - tail; i++)
		*last += a->data[i] == '\n';
}

static char *locus_in(const struct kl_file *a, const struct kl_file *b)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	KL_AUTO(kl_freep) char *f1 = NULL;
	KL_AUTO(kl_freep) char *f2 = NULL;
	int first, last;

	changed_lines(&first, &last, a, b);
	kl_ctoken_lex(&c, a->data, a->len);
	f1 = kl_ctoken_function_at(&c, first);
	f2 = kl_ctoken_function_at(&c, last);
	if (*f1 && !strcmp(f1, f2))
		return kl_asprintf("%s:%s:%d-%d", a->path, f1, first, last);
	return kl_asprintf("%s:%d-%d", a->path, first, last);
}

char *kl_proposal_locus(const struct kl_surface *from, const struct kl_surface *to)
{
	KL_AUTO(kl_freep) char *where = NULL;
	size_t differ = 0;

	for (size_t i = 0; i < from->nfile && i < to->nfile; i++) {
		const struct kl_file *a = &from->file[i], *b = &to->file[i];

		if (a->len == b->len && !memcmp(a->data, b->data, a->len))
			continue;
		if (!differ++)
			where = locus_in(a, b);
	}
	if (!where)
		return kl_strdup("-");
	if (differ > 1)
		return kl_asprintf("%s +%zu", where, differ - 1);
	return kl_steal(&where);
}
