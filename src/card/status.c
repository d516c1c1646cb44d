/* SPDX-License-Identifier: Apache-2.0 */
#include "card/status.h"

#include <string.h>

bool kl_status_counts(const struct kl_card_trial *trial)
{
	return !trial->retracted && !trial->foreign && trial->isolated &&
	       trial->result == KL_RESULT_PASS;
}

enum kl_card_status kl_status_of(const struct kl_card *card)
{
	enum kl_card_status status = KL_CARD_HYPOTHESIS;

	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (trial->retracted)
			return KL_CARD_RETRACTED;
		if (!kl_status_counts(trial))
			continue;
		if (kl_level_rank(trial->level) >= KL_LEVEL_OTHER_LINEAGE)
			status = KL_CARD_ADMITTED;
		else if (status == KL_CARD_HYPOTHESIS)
			status = KL_CARD_PROVISIONAL;
	}
	return status;
}

void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card)
{
	*passed = *trials = 0;
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (trial->retracted || trial->foreign)
			continue;
		++*trials;
		*passed += kl_status_counts(trial);
	}
}

static bool is_of_workload(const char *lineage, const char *workload)
{
	size_t n = strlen(workload);

	return !strncmp(lineage, workload, n) && lineage[n] == '/';
}

enum kl_level kl_status_level(const struct kl_card *card, const char *workload, const char *lineage,
			      const char *language, const char *platform)
{
	bool same_language = false, same_platform = false, same_workload = false,
	     same_lineage = false;

	for (size_t i = 0; i < card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[i];

		same_language |= !strcmp(evidence->language, language);
		same_platform |= !strcmp(evidence->platform, platform);
		same_workload |= is_of_workload(evidence->lineage, workload);
		same_lineage |= lineage && !strcmp(evidence->lineage, lineage);
	}
	if (!same_language)
		return KL_LEVEL_OTHER_LANGUAGE;
	if (!same_platform)
		return KL_LEVEL_OTHER_PLATFORM;
	if (!same_workload)
		return KL_LEVEL_OTHER_WORKLOAD;
	return same_lineage || !lineage ? KL_LEVEL_OTHER_STATE : KL_LEVEL_OTHER_LINEAGE;
}
