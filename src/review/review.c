/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "review/review_parts.h"

#define MAX_COMMITS 1000 /* of a range, each looked at by itself */

const char *kl_review_part_name(enum kl_review_part p)
{
	static const char *const names[] = { "contracts", "kernels", "commits", "cards" };

	return names[p];
}

void kl_review_release(struct kl_review *v)
{
	free(v->base_name);
	free(v->head_name);
	kl_findings_release(&v->general);
	for (size_t p = 0; p < KL_REVIEW_PARTS; p++) {
		for (size_t i = 0; i < v->part[p].n; i++) {
			free(v->part[p].v[i].title);
			json_decref(v->part[p].v[i].facts);
			kl_findings_release(&v->part[p].v[i].found);
		}
		free(v->part[p].v);
	}
	*v = (struct kl_review){ 0 };
}

static void work_release(struct kl_review_work *w)
{
	free(w->commit);
	kl_strvec_release(&w->paths);
}

struct kl_review_item *kl_review_add(struct kl_review_work *w, enum kl_review_part part,
				     const char *title, ...)
{
	struct kl_buf text = KL_BUF_INIT;
	struct kl_review_item *item;
	va_list ap;

	va_start(ap, title);
	kl_vsay(&text, title, ap);
	va_end(ap);
	KL_GROW(w->v->part[part].v, w->v->part[part].n + 1, w->v->part[part].alloc);
	item = &w->v->part[part].v[w->v->part[part].n++];
	*item = (struct kl_review_item){ .title = kl_buf_detach(&text), .facts = json_object() };
	return item;
}

/* --- the range --------------------------------------------------------------------- */

static int default_base(char **name, git_oid *base, struct kl_repo *r)
{
	static const char *const tries[] = { "@{upstream}", "origin/HEAD", "main", "master" };
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		if (kl_repo_resolve(base, r, tries[i]) == 0) {
			*name = kl_strdup(tries[i]);
			return 0;
		}
		kl_error_clear();
	}
	err = kl_error(KL_ENOTFOUND,
		       "there is no base: HEAD has no upstream, and there is no branch "
		       "main or master");
	return kl_error_hint(err, "git klineage review <base>..<head>");
}

/* "a..b", "a...b", "a", "..b", "a.." */
static int resolve_tip(struct kl_review *v, git_oid *tip, struct kl_repo *r, const char *text)
{
	const char *dots = text ? strstr(text, "..") : NULL;
	const char *head = dots ? dots + 2 + (dots[2] == '.') : "";
	KL_AUTO(kl_freep)
	char *base = text ? kl_strndup(text, dots ? (size_t)(dots - text) : strlen(text)) : NULL;
	int err;

	v->head_name = kl_strdup(*head ? head : "HEAD");
	if ((err = kl_repo_resolve(&v->head, r, v->head_name)) < 0)
		return err;
	if (!base || !*base)
		return default_base(&v->base_name, tip, r);
	v->base_name = kl_steal(&base);
	return kl_repo_resolve(tip, r, v->base_name);
}

/*
 * Where the range begins. A shallow clone may not know: then the base itself stands for it, and
 * that is said.
 */
static int begin_review(struct kl_review *v, const git_oid *tip, struct kl_repo *r)
{
	int err = kl_repo_merge_base(&v->base, r, tip, &v->head);

	if (err != KL_ENOTFOUND)
		return err;
	if (kl_repo_need_history(r) == 0) {
		err = kl_error(
			KL_ENOTFOUND,
			"'%s' and '%s' have no commit in common: there is no base to compare "
			"with",
			v->base_name, v->head_name);
		return kl_error_hint(err, "cards have a branch of their own: git klineage review "
					  "<remote>/klineage/skills..klineage/skills");
	}
	kl_error_clear();
	v->base = *tip;
	kl_findings_add(
		&v->general, KL_NOTE, "shallow",
		"this clone is shallow and does not know where the two "
		"parted: %s itself is the base, and what it has gained since is shown as if it "
		"were "
		"taken away",
		v->base_name);
	return 0;
}

int kl_review_range(struct kl_review_work *w, const char *text)
{
	struct kl_review *v = w->v;
	git_oid tip;
	int err;

	if ((err = resolve_tip(v, &tip, w->r, text)) < 0 ||
	    (err = begin_review(v, &tip, w->r)) < 0 ||
	    (err = kl_repo_tree_of(&w->base_tree, w->r, &v->base)) < 0 ||
	    (err = kl_repo_tree_of(&w->head_tree, w->r, &v->head)) < 0 ||
	    (err = kl_repo_between(&w->commit, &w->ncommit, w->r, &v->base, &v->head,
				   MAX_COMMITS + 1)) < 0 ||
	    (err = kl_repo_diff_paths(&w->paths, w->r, &w->base_tree, &w->head_tree)) < 0)
		return err;
	if (w->ncommit > MAX_COMMITS) {
		kl_findings_add(&v->general, KL_NOTE, "many-commits",
				"of the commits the newest %d are looked at one "
				"by one",
				(int64_t)MAX_COMMITS);
		memmove(w->commit, w->commit + 1, MAX_COMMITS * sizeof(*w->commit));
		w->ncommit = MAX_COMMITS;
	}
	v->commits = w->ncommit;
	return 0;
}

/* --- all of it ---------------------------------------------------------------------- */

static void count_findings(struct kl_review *v, const struct kl_findings *f)
{
	v->answers += f->answers;
	v->notes += f->n - f->answers;
}

int kl_review_run(struct kl_review *out, struct kl_repo *r, const char *range)
{
	KL_AUTO(work_release) struct kl_review_work w = { .v = out, .r = r };
	int err = kl_review_range(&w, range);

	if (err < 0)
		return err;
	if (w.paths.n && ((err = kl_review_kernels(&w)) < 0 || (err = kl_review_cards(&w)) < 0))
		return err;
	count_findings(out, &out->general);
	for (size_t p = 0; p < KL_REVIEW_PARTS; p++)
		for (size_t i = 0; i < out->part[p].n; i++)
			count_findings(out, &out->part[p].v[i].found);
	return 0;
}

/* --- for programs ------------------------------------------------------------------------ */

static json_t *findings_json(const struct kl_findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		json_t *j = json_object();

		kl_say_plain(&text, f->v[i].text);
		kl_json_set_bool(j, "answer", f->v[i].weight == KL_ANSWER);
		kl_json_set_str(j, "code", f->v[i].code);
		kl_json_set_str(j, "text", text.ptr);
		json_array_append_new(list, j);
	}
	return list;
}

json_t *kl_review_json(const struct kl_review *v)
{
	json_t *j = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(j, "schema", "klineage.review/1");
	kl_oid_hex(hex, &v->base);
	kl_json_set_str(j, "base", hex);
	kl_oid_hex(hex, &v->head);
	kl_json_set_str(j, "head", hex);
	kl_json_set_int(j, "range", (int64_t)v->commits);
	kl_json_set_int(j, "answers", (int64_t)v->answers);
	kl_json_set_int(j, "notes", (int64_t)v->notes);
	kl_json_set(j, "findings", findings_json(&v->general));
	for (size_t p = 0; p < KL_REVIEW_PARTS; p++) {
		json_t *list = json_array();

		for (size_t i = 0; i < v->part[p].n; i++) {
			json_t *item = json_copy(v->part[p].v[i].facts);

			kl_json_set(item, "findings", findings_json(&v->part[p].v[i].found));
			json_array_append_new(list, item);
		}
		kl_json_set(j, kl_review_part_name((enum kl_review_part)p), list);
	}
	return j;
}
