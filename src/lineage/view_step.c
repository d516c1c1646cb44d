/* SPDX-License-Identifier: Apache-2.0 */
/* view_step - names a step of a view, and finds the step that a text names */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lineage/view.h"

/* Return the confidence of "0.80 (...)" in millionths, or -1 if there is none. */
static int64_t confidence_of(const struct kl_step *step)
{
	const char *text = step->confidence ? step->confidence : "";

	return strncmp(text, "0.", 2) ? -1 : strtoll(text + 2, NULL, 10) * 10000;
}

char *kl_view_mechanism(const struct kl_view_step *step)
{
	const char *name = step->step.mechanism, *claimed = step->step.claimed;
	int64_t ppm = confidence_of(&step->step);

	if (step->label)
		return kl_asprintf("%s (by %s)", step->label, step->labeller);
	if (name && *name && ppm >= 0)
		return kl_asprintf("%s 0.%02d", name, (int)(ppm / 10000));
	if (name && *name)
		return kl_strdup(name);
	return claimed && *claimed ? kl_asprintf("(%s: contradicted)", claimed) : kl_strdup("-");
}

const char *kl_view_step_name(const struct kl_view_step *step)
{
	return step->label          ? step->label :
	       step->step.mechanism ? step->step.mechanism :
	       step->step.action    ? step->step.action :
				      "?";
}

/* Return the evidence of "0.80 (evidence)", or NULL if there is none. The caller frees it. */
static char *evidence_of(const struct kl_step *step)
{
	const char *open = step->confidence ? strchr(step->confidence, '(') : NULL;
	const char *close = open ? strrchr(open, ')') : NULL;

	return close ? kl_strndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

json_t *kl_view_step_json(const struct kl_view_step *step, size_t i)
{
	json_t *object = json_object();
	KL_AUTO(kl_freep) char *evidence = evidence_of(&step->step);
	int64_t ppm = confidence_of(&step->step);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &step->commit);
	kl_json_set_int(object, "step", (int64_t)i);
	kl_json_set_str(object, "commit", hex);
	kl_json_set_str(object, "action", step->step.action);
	kl_json_set_str(object, "mechanism", step->step.mechanism);
	kl_json_set(object, "confidence_ppm", ppm < 0 ? json_null() : json_integer(ppm));
	kl_json_set_str(object, "evidence", evidence);
	kl_json_set_str(object, "claimed", step->step.claimed);
	kl_json_set_str(object, "label", step->label);
	kl_json_set_str(object, "labeller", step->labeller);
	kl_json_set_str(object, "derivation", step->step.derivation);
	return object;
}

int kl_view_find(size_t *out, const struct kl_view *view, struct kl_repo *repo, const char *word)
{
	const char *digits = !strncmp(word, "K_", 2) ? word + 2 : word;
	char *end;
	unsigned long n = strtoul(digits, &end, 10);
	git_oid oid;

	*out = view->n - 1;
	if (!strcmp(word, "K*"))
		return 0;
	if (*digits && !*end && strlen(digits) < 7) {
		if (n < view->n) {
			*out = n;
			return 0;
		}
		return kl_error(KL_ENOTFOUND, "%s/%s has the states K_0 to K_%zu", view->workload,
				view->name, view->n - 1);
	}
	if (kl_repo_resolve(&oid, repo, word) == 0)
		for (size_t i = 0; i < view->n; i++)
			if (!memcmp(&oid, &view->step[i].commit, sizeof(oid))) {
				*out = i;
				return 0;
			}
	return kl_error(KL_ENOTFOUND, "'%s' is not a step of %s/%s", word, view->workload,
			view->name);
}
