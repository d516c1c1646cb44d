/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/proposal.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "rewrite/source/ctoken.h"

void kl_proposal_free(struct kl_proposal *proposal)
{
	if (!proposal)
		return;
	free(proposal->rewriter);
	free(proposal->source);
	free(proposal->action);
	free(proposal->mechanism);
	free(proposal->locus);
	free(proposal->text);
	json_decref(proposal->traits);
	kl_strvec_release(&proposal->commits);
	kl_strvec_release(&proposal->folded);
	kl_surface_free(proposal->candidate);
	free(proposal);
}

const char *kl_proposal_claimed(const json_t *record)
{
	const char *claimed = kl_json_str_or(record, "claimed", "");

	return *claimed ? claimed : kl_json_str_or(record, "mechanism", "");
}

void kl_proposal_id(char id[KL_DIGEST_HEX], const char *from_digest, const char *to_digest)
{
	struct kl_digest *digest = kl_digest_new();

	kl_digest_adds(digest, from_digest);
	kl_digest_adds(digest, to_digest);
	kl_digest_end(digest, id);
}

static void put_list(json_t *value, const char *key, const struct kl_strvec *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, json_string(list->v[i]));
	if (list->n)
		kl_json_set(value, key, array);
	else
		json_decref(array);
}

json_t *kl_proposal_to_json(const struct kl_proposal *proposal)
{
	json_t *value = json_object();

	kl_json_set_str(value, "id", proposal->id);
	kl_json_set_str(value, "edit", proposal->edit);
	kl_json_set_str(value, "tokens", proposal->tokens);
	kl_json_set_str(value, "all_tokens", proposal->all_tokens);
	kl_json_set_str(value, "rewriter", proposal->rewriter);
	kl_json_set_str(value, "source", proposal->source);
	kl_json_set_str(value, "action", proposal->action);
	kl_json_set_str(value, "mechanism", proposal->mechanism);
	kl_json_set_str(value, "locus", proposal->locus);
	kl_json_set_str(value, "text", proposal->text);
	kl_json_set_str(value, "origin", proposal->origin);
	kl_json_set_str(value, "surface", proposal->candidate->digest);
	kl_json_set(value, "traits", json_deep_copy(proposal->traits));
	put_list(value, "commits", &proposal->commits);
	put_list(value, "folded", &proposal->folded);
	if (proposal->unisolated)
		kl_json_set_bool(value, "unisolated", true);
	return value;
}

static int take_str(char **out, const json_t *value, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, value, key);

	if (!err)
		*out = kl_strdup(text);
	return err;
}

static const char *origin_of(const char *text)
{
	static const char *const known[] = { "induced", "authored", "historical" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (!strcmp(text, known[i]))
			return known[i];
	return "induced";
}

int kl_proposal_from_json(struct kl_proposal **out, const json_t *value,
			  struct kl_surface *candidate)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = kl_calloc(1, sizeof(*proposal));
	const char *id, *surface;
	json_t *traits;
	int err;

	if ((err = kl_json_str(&id, value, "id")) < 0 ||
	    (err = take_str(&proposal->rewriter, value, "rewriter")) < 0 ||
	    (err = take_str(&proposal->source, value, "source")) < 0 ||
	    (err = take_str(&proposal->action, value, "action")) < 0 ||
	    (err = take_str(&proposal->mechanism, value, "mechanism")) < 0 ||
	    (err = take_str(&proposal->locus, value, "locus")) < 0 ||
	    (err = take_str(&proposal->text, value, "text")) < 0 ||
	    (err = kl_json_str(&surface, value, "surface")) < 0 ||
	    (err = kl_json_obj(&traits, value, "traits")) < 0)
		return err;
	if (strlen(id) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "the id '%s' of a proposal is not a digest", id);
	if (strcmp(surface, candidate->digest))
		return kl_error(KL_EINVALID,
				"the files of proposal %.12s differ from the recorded ones", id);
	memcpy(proposal->id, id, KL_DIGEST_HEX);
	snprintf(proposal->edit, sizeof(proposal->edit), "%s", kl_json_str_or(value, "edit", ""));
	snprintf(proposal->tokens, sizeof(proposal->tokens), "%s",
		 kl_json_str_or(value, "tokens", ""));
	snprintf(proposal->all_tokens, sizeof(proposal->all_tokens), "%s",
		 kl_json_str_or(value, "all_tokens", ""));
	proposal->origin = origin_of(kl_json_str_or(value, "origin", ""));
	kl_json_strings(&proposal->commits, json_object_get(value, "commits"));
	kl_json_strings(&proposal->folded, json_object_get(value, "folded"));
	proposal->unisolated = kl_json_bool_or(value, "unisolated", false);
	proposal->traits = json_deep_copy(traits);
	proposal->candidate = candidate;
	*out = kl_steal(&proposal);
	return 0;
}

char *kl_proposal_slug(const char *text)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (; *text && *text != '\n' && buf.len < 40; text++) {
		if (isalnum((unsigned char)*text))
			kl_buf_addch(&buf, (char)tolower((unsigned char)*text));
		else if (buf.len && buf.ptr[buf.len - 1] != '-')
			kl_buf_addch(&buf, '-');
	}
	while (buf.len && buf.ptr[buf.len - 1] == '-')
		buf.ptr[--buf.len] = '\0';
	if (!buf.len)
		kl_buf_adds(&buf, "step");
	return kl_buf_detach(&buf);
}

/* Set the lengths in bytes of the common prefix and suffix of two files. */
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
	struct kl_digest *digest = kl_digest_new();

	for (size_t i = 0; i < from->nfile && i < to->nfile; i++) {
		const struct kl_file *before = &from->file[i], *after = &to->file[i];
		size_t head, tail, line;

		common_ends(&head, &tail, before, after);
		if (before->len == after->len && head == before->len)
			continue;
		/* whole lines, so that the digest includes the context of a changed word */
		for (line = head; line && before->data[line - 1] != '\n'; line--)
			;
		while (tail && before->data[before->len - tail] != '\n')
			tail--;
		kl_digest_adds(digest, before->path);
		kl_digest_add(digest, before->data + line, before->len - tail - line);
		kl_digest_adds(digest, "");
		kl_digest_add(digest, after->data + line, after->len - tail - line);
		kl_digest_adds(digest, "");
	}
	kl_digest_end(digest, edit);
}

/* Set the first and last line (from 1) of `before` that `after` changes. */
static void changed_lines(int *first, int *last, const struct kl_file *before,
			  const struct kl_file *after)
{
	size_t head, tail;

	common_ends(&head, &tail, before, after);
	*first = 1;
	for (size_t i = 0; i < head; i++)
		*first += before->data[i] == '\n';
	*last = *first;
	for (size_t i = head; i + 1 < before->len - tail; i++)
		*last += before->data[i] == '\n';
}

static char *locus_in(const struct kl_file *before, const struct kl_file *after)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_freep) char *first_function = NULL;
	KL_AUTO(kl_freep) char *last_function = NULL;
	int first, last;

	changed_lines(&first, &last, before, after);
	kl_ctoken_lex(&tokens, before->data, before->len);
	first_function = kl_ctoken_function_at(&tokens, first);
	last_function = kl_ctoken_function_at(&tokens, last);
	if (*first_function && !strcmp(first_function, last_function))
		return kl_asprintf("%s:%s:%d-%d", before->path, first_function, first, last);
	return kl_asprintf("%s:%d-%d", before->path, first, last);
}

char *kl_proposal_locus(const struct kl_surface *from, const struct kl_surface *to)
{
	KL_AUTO(kl_freep) char *where = NULL;
	size_t differ = 0;

	for (size_t i = 0; i < from->nfile && i < to->nfile; i++) {
		const struct kl_file *before = &from->file[i], *after = &to->file[i];

		if (before->len == after->len && !memcmp(before->data, after->data, before->len))
			continue;
		if (!differ++)
			where = locus_in(before, after);
	}
	if (!where)
		return kl_strdup("-");
	if (differ > 1)
		return kl_asprintf("%s +%zu", where, differ - 1);
	return kl_steal(&where);
}
