/* SPDX-License-Identifier: Apache-2.0 */
/* content_rejected - what a report shows of rejected steps: where, why, and what a card learned */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/content.h"
#include "walk/forward.h"

/* Find the state of the lineage that has this tree. SIZE_MAX: there is none. */
static size_t state_with(const git_oid *trees, size_t n, const git_oid *tree)
{
	for (size_t i = n; i-- > 0;)
		if (!memcmp(&trees[i], tree, sizeof(*tree)))
			return i;
	return SIZE_MAX;
}

/*
 * Find the state that a step was tried on. In the repository of the walk it was tried on a commit of
 * the walk, whose tree has the contract where the kernel's repository has it.
 */
static int find_state(size_t *out, const struct kl_view *view, struct kl_repo *repo,
		      const git_oid *trees, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	git_oid tree, part;
	int err = kl_repo_tree_of(&tree, repo, commit);

	*out = err ? SIZE_MAX : state_with(trees, view->n, &tree);
	if (!err && *out == SIZE_MAX)
		err = kl_surface_find(&places, &workloads, repo, &tree);
	for (size_t i = 0; !err && *out == SIZE_MAX && i < places.n; i++) {
		if (strcmp(workloads.v[i], view->workload) != 0)
			continue;
		err = kl_forward_tree(&part, repo, &tree, places.v[i]);
		if (!err)
			*out = state_with(trees, view->n, &part);
	}
	if (err == KL_EINTR)
		return err;
	kl_error_clear();
	return 0;
}

/* Format the value of a failure, which is a text or a number. */
static const char *value_of(const json_t *failure, const char *key)
{
	return kl_json_str_or(failure, key, "");
}

static void describe_failure(struct kl_report_rejected *to, const struct kl_event *event)
{
	const json_t *failure = json_object_get(event->correct, "failure"),
		     *index = json_object_get(failure, "index"), *value;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t i;

	if (*value_of(failure, "out") && *value_of(failure, "got")) {
		kl_buf_addf(&text, "%s[", value_of(failure, "out"));
		json_array_foreach(index, i, value)
			kl_buf_addf(&text, "%s%lld", i ? "," : "",
				    (long long)json_integer_value(value));
		kl_buf_addf(&text, "] is %s", value_of(failure, "got"));
		if (*value_of(failure, "wanted"))
			kl_buf_addf(&text, ", wanted %s", value_of(failure, "wanted"));
		free(to->element);
		to->element = kl_buf_detach(&text);
	}
	if (*value_of(failure, "point")) {
		free(to->input);
		to->input = kl_asprintf("%s%s%s", value_of(failure, "point"),
					*value_of(failure, "band") ? ", " : "",
					value_of(failure, "band"));
	}
}

/* Find the condition of a card that the event witnesses, by a precondition or a risk. */
static const char *learned_from(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].by && !strcmp(card->sound.v[i].by, event))
			return card->sound.v[i].text;
	for (size_t i = 0; i < card->risk.n; i++) {
		const struct kl_card_risk *risk = &card->risk.v[i];

		if (kl_strvec_has(&risk->events, event))
			return risk->text;
	}
	return NULL;
}

static void describe_clause(struct kl_report_rejected *to, const struct kl_report_content *content)
{
	for (size_t i = 0; i < content->ncard; i++) {
		const char *text = learned_from(content->card[i], to->event);

		if (!text)
			continue;
		free(to->clause);
		free(to->card);
		to->clause = kl_strdup(text);
		to->card = kl_strdup(content->card[i]->id);
		return;
	}
}

static int describe_rejected(struct kl_report_rejected *to, struct kl_repo *repo,
			     const struct kl_report_content *content, size_t i)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const char *replay;
	int err = kl_view_event(&event, repo, &content->rejections.r[i].commit);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (!event)
		return 0;
	replay = strstr(event->message, "; replay: ");
	free(to->event);
	free(to->message);
	to->event = kl_strdup(event->id);
	to->message = replay ? kl_strndup(event->message, (size_t)(replay - event->message)) :
			       kl_strdup(event->message);
	describe_failure(to, event);
	describe_clause(to, content);
	return 0;
}

int kl_report_collect_rejected(struct kl_report_content *content, struct kl_repo *repo)
{
	const struct kl_view *view = content->view;
	KL_AUTO(kl_freep) git_oid *trees = kl_calloc(view->n, sizeof(*trees));
	int err = kl_view_rejections(&content->rejections, repo, view->workload, view->name);

	for (size_t i = 0; !err && i < view->n; i++)
		err = kl_repo_tree_of(&trees[i], repo, &view->step[i].commit);
	if (err < 0)
		return err;
	content->rejected = kl_calloc(content->rejections.n + 1, sizeof(*content->rejected));
	for (size_t i = 0; i < content->rejections.n; i++)
		content->rejected[i] = (struct kl_report_rejected){
			SIZE_MAX,      kl_strdup(""), kl_strdup(""), kl_strdup(""),
			kl_strdup(""), kl_strdup(""), kl_strdup(""),
		};
	for (size_t i = 0; !err && i < content->rejections.n; i++) {
		err = find_state(&content->rejected[i].on, view, repo, trees,
				 &content->rejections.r[i].on);
		if (!err)
			err = describe_rejected(&content->rejected[i], repo, content, i);
	}
	return err;
}
