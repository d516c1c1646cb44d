/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "review/review_parts.h"

/* maximum number of commits of a range to review one by one (the newest) */
#define MAX_COMMITS 1000

const char *kl_review_part_name(enum kl_review_part part)
{
	static const char *const names[] = { "contracts", "kernels", "commits", "cards" };

	return names[part];
}

void kl_review_release(struct kl_review *review)
{
	free(review->base_name);
	free(review->head_name);
	kl_findings_release(&review->general);
	for (size_t part = 0; part < KL_REVIEW_PARTS; part++) {
		for (size_t i = 0; i < review->part[part].n; i++) {
			free(review->part[part].v[i].title);
			json_decref(review->part[part].v[i].facts);
			kl_findings_release(&review->part[part].v[i].found);
		}
		free(review->part[part].v);
	}
	*review = (struct kl_review){ 0 };
}

static void work_release(struct kl_review_work *work)
{
	free(work->commit);
	kl_strvec_release(&work->paths);
	kl_belief_free(work->belief);
}

struct kl_review_item *kl_review_add(struct kl_review_work *work, enum kl_review_part part,
				     const char *title, ...)
{
	struct kl_buf text = KL_BUF_INIT;
	struct kl_review_item *item;
	va_list ap;

	va_start(ap, title);
	kl_vsay(&text, title, ap);
	va_end(ap);
	KL_GROW(work->v->part[part].v, work->v->part[part].n + 1, work->v->part[part].alloc);
	item = &work->v->part[part].v[work->v->part[part].n++];
	*item = (struct kl_review_item){ .title = kl_buf_detach(&text), .facts = json_object() };
	return item;
}

/* --- the range --------------------------------------------------------------------- */

static int default_base(char **name, git_oid *base, struct kl_repo *repo)
{
	static const char *const tries[] = { "@{upstream}", "origin/HEAD", "main", "master" };
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		if (kl_repo_resolve(base, repo, tries[i]) == 0) {
			*name = kl_strdup(tries[i]);
			return 0;
		}
		kl_error_clear();
	}
	err = kl_error(KL_ENOTFOUND,
		       "there is no base to compare with: HEAD has no upstream, and none of "
		       "origin/HEAD, main and master exists");
	return kl_error_hint(err, "name the base: git klineage review <base>..<head>");
}

/* Resolve a range: "a..b", "a...b", "a", "..b" or "a..". */
static int resolve_tip(struct kl_review *review, git_oid *tip, struct kl_repo *repo,
		       const char *text)
{
	const char *dots = text ? strstr(text, "..") : NULL;
	const char *head = dots ? dots + 2 + (dots[2] == '.') : "";
	KL_AUTO(kl_freep)
	char *base = text ? kl_strndup(text, dots ? (size_t)(dots - text) : strlen(text)) : NULL;
	int err;

	review->head_name = kl_strdup(*head ? head : "HEAD");
	if ((err = kl_repo_resolve(&review->head, repo, review->head_name)) < 0)
		return err;
	if (!base || !*base)
		return default_base(&review->base_name, tip, repo);
	review->base_name = kl_steal(&base);
	return kl_repo_resolve(tip, repo, review->base_name);
}

/*
 * Let the range begin at the merge base of `tip` and the head. If the merge base is missing, as it
 * can be in a shallow clone, let the range begin at `tip`, and add a note.
 */
static int begin_review(struct kl_review *review, const git_oid *tip, struct kl_repo *repo)
{
	int err = kl_repo_merge_base(&review->base, repo, tip, &review->head);

	if (err != KL_ENOTFOUND)
		return err;
	if (kl_repo_need_history(repo) == 0) {
		err = kl_error(KL_ENOTFOUND,
			       "'%s' and '%s' have no commit in common, so there is no base to "
			       "compare with",
			       review->base_name, review->head_name);
		return kl_error_hint(err, "to review cards, which have a branch of their own: git "
					  "klineage review "
					  "<remote>/klineage/skills..klineage/skills");
	}
	kl_error_clear();
	review->base = *tip;
	kl_findings_add(&review->general, KL_NOTE, "shallow",
			"this clone is shallow and lacks the merge base, so the head is compared "
			"with %s itself, and changes made only in the base are shown as if the "
			"head removed them",
			review->base_name);
	return 0;
}

int kl_review_range(struct kl_review_work *work, const char *text)
{
	struct kl_review *review = work->v;
	int err;

	if ((err = resolve_tip(review, &work->tip, work->r, text)) < 0 ||
	    (err = begin_review(review, &work->tip, work->r)) < 0 ||
	    (err = kl_repo_tree_of(&work->base_tree, work->r, &review->base)) < 0 ||
	    (err = kl_repo_tree_of(&work->head_tree, work->r, &review->head)) < 0 ||
	    (err = kl_repo_between(&work->commit, &work->ncommit, work->r, &review->base,
				   &review->head, MAX_COMMITS + 1)) < 0 ||
	    (err = kl_repo_diff_paths(&work->paths, work->r, &work->base_tree, &work->head_tree)) <
		    0)
		return err;
	if (work->ncommit > MAX_COMMITS) {
		kl_findings_add(&review->general, KL_NOTE, "many-commits",
				"only the newest %d commits are reviewed one by "
				"one",
				(int64_t)MAX_COMMITS);
		memmove(work->commit, work->commit + 1, MAX_COMMITS * sizeof(*work->commit));
		work->ncommit = MAX_COMMITS;
	}
	review->commits = work->ncommit;
	return 0;
}

/* --- the review --------------------------------------------------------------------- */

static void count_findings(struct kl_review *review, const struct kl_findings *findings)
{
	review->answers += findings->answers;
	review->notes += findings->n - findings->answers;
}

/*
 * Open the belief in verdicts. If the branch of the allowed signers has commits of the range, use
 * the list at the tip of the base: a range must not add the key that signs its own verdicts.
 */
static int open_belief(struct kl_review_work *work)
{
	bool own = false;
	int err = kl_signers_in_range(&own, work->r, &work->tip, &work->v->head);

	return err < 0 ? err : kl_belief_open(&work->belief, work->r, own ? &work->tip : NULL);
}

/*
 * Report changes to the signers and the CI recipes, because the review of later changes depends on
 * them.
 */
static void say_safeguards(struct kl_review_work *work)
{
	static const char *const recipes[] = { ".github/workflows/klineage.yml",
					       ".github/workflows/klineage-report.yml",
					       ".gitlab-ci.yml" };

	if (kl_strvec_has(&work->paths, KL_SIGNERS_FILE))
		kl_findings_add(&work->v->general, KL_ANSWER, "signers-changed",
				"the list of allowed signers was changed: %s", KL_SIGNERS_FILE);
	for (size_t i = 0; i < KL_ARRAY_SIZE(recipes); i++)
		if (kl_strvec_has(&work->paths, recipes[i]))
			kl_findings_add(&work->v->general, KL_ANSWER, "recipe-changed",
					"a CI recipe was changed: %s", recipes[i]);
}

int kl_review_run(struct kl_review *out, struct kl_repo *repo, const char *range)
{
	KL_AUTO(work_release) struct kl_review_work work = { .v = out, .r = repo };
	int err = kl_review_range(&work, range);

	if (err < 0)
		return err;
	if (work.paths.n &&
	    ((err = open_belief(&work)) < 0 || (err = kl_review_kernels(&work)) < 0 ||
	     (err = kl_review_cards(&work)) < 0))
		return err;
	say_safeguards(&work);
	count_findings(out, &out->general);
	for (size_t part = 0; part < KL_REVIEW_PARTS; part++)
		for (size_t i = 0; i < out->part[part].n; i++)
			count_findings(out, &out->part[part].v[i].found);
	return 0;
}

/* --- JSON -------------------------------------------------------------------------------- */

static json_t *findings_json(const struct kl_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		json_t *value = json_object();

		kl_finding_plain(&text, findings->v[i].text);
		kl_json_set_bool(value, "answer", findings->v[i].weight == KL_ANSWER);
		kl_json_set_str(value, "code", findings->v[i].code);
		kl_json_set_str(value, "text", text.ptr);
		json_array_append_new(list, value);
	}
	return list;
}

json_t *kl_review_json(const struct kl_review *review)
{
	json_t *value = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(value, "schema", "klineage.review/1");
	kl_oid_hex(hex, &review->base);
	kl_json_set_str(value, "base", hex);
	kl_oid_hex(hex, &review->head);
	kl_json_set_str(value, "head", hex);
	kl_json_set_int(value, "range", (int64_t)review->commits);
	kl_json_set_int(value, "answers", (int64_t)review->answers);
	kl_json_set_int(value, "notes", (int64_t)review->notes);
	kl_json_set(value, "findings", findings_json(&review->general));
	for (size_t part = 0; part < KL_REVIEW_PARTS; part++) {
		json_t *list = json_array();

		for (size_t i = 0; i < review->part[part].n; i++) {
			json_t *item = json_copy(review->part[part].v[i].facts);

			kl_json_set(item, "findings",
				    findings_json(&review->part[part].v[i].found));
			json_array_append_new(list, item);
		}
		kl_json_set(value, kl_review_part_name((enum kl_review_part)part), list);
	}
	return value;
}
