/* SPDX-License-Identifier: Apache-2.0 */
#include "card/status.h"

#include <string.h>

bool kl_status_counts(const struct kl_card_trial *t)
{
	return !t->retracted && !t->foreign && t->isolated && t->result == KL_RESULT_PASS;
}

enum kl_card_status kl_status_of(const struct kl_card *c)
{
	enum kl_card_status status = KL_CARD_HYPOTHESIS;

	for (size_t i = 0; i < c->ver.n; i++) {
		const struct kl_card_trial *t = &c->ver.v[i];

		if (t->retracted)
			return KL_CARD_RETRACTED;
		if (!kl_status_counts(t))
			continue;
		if (kl_level_rank(t->level) >= KL_LEVEL_OTHER_LINEAGE)
			status = KL_CARD_ADMITTED;
		else if (status == KL_CARD_HYPOTHESIS)
			status = KL_CARD_PROVISIONAL;
	}
	return status;
}

void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *c)
{
	*passed = *trials = 0;
	for (size_t i = 0; i < c->ver.n; i++) {
		const struct kl_card_trial *t = &c->ver.v[i];

		if (t->retracted || t->foreign)
			continue;
		++*trials;
		*passed += kl_status_counts(t);
	}
}

static bool is_of_workload(const char *lineage, const char *workload)
{
	size_t n = strlen(workload);

	return !strncmp(lineage, workload, n) && lineage[n] == '/';
}

enum kl_level kl_status_level(const struct kl_card *c, const char *workload, const char *lineage,
			      const char *language, const char *platform)
{
	bool same_language = false, same_platform = false, same_workload = false,
	     same_lineage = false;

	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct kl_card_evidence *e = &c->evidence.v[i];

		same_language |= !strcmp(e->language, language);
		same_platform |= !strcmp(e->platform, platform);
		same_workload |= is_of_workload(e->lineage, workload);
		same_lineage |= lineage && !strcmp(e->lineage, lineage);
	}
	if (!same_language)
		return KL_LEVEL_OTHER_LANGUAGE;
	if (!same_platform)
		return KL_LEVEL_OTHER_PLATFORM;
	if (!same_workload)
		return KL_LEVEL_OTHER_WORKLOAD;
	return same_lineage || !lineage ? KL_LEVEL_OTHER_STATE : KL_LEVEL_OTHER_LINEAGE;
}
