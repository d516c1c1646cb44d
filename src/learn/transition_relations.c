/* SPDX-License-Identifier: Apache-2.0 */
/* transition_relations - finds transitions that need each other or conflict, by transplants */
#include <string.h>

#include "base/error.h"
#include "learn/transition_parts.h"
#include "repo/refs.h"
#include "transplant/relations.h"

/* Find the transition of a lineage that ends in a commit; NULL if it was not loaded. */
static struct kl_transition *find_transition(const struct kl_transitions *transitions,
					     const char *lineage, const git_oid *after)
{
	for (size_t i = 0; i < transitions->n; i++) {
		struct kl_transition *transition = &transitions->v[i];

		if (!strcmp(transition->lineage, lineage) &&
		    !memcmp(&transition->after, after, sizeof(*after)))
			return transition;
	}
	return NULL;
}

/* Return true if the relation is one of mechanisms, not of code: the kernel compiles, but fails. */
static bool is_of_mechanisms(const struct kl_relation *relation)
{
	return !relation->by_merge && strcmp(relation->class_, "compile") != 0;
}

static void take_relation(struct kl_transitions *transitions, const char *lineage,
			  const struct kl_transplant *transplant,
			  const struct kl_relation *relation)
{
	struct kl_transition *transition = find_transition(
		transitions, lineage, &transplant->view.step[relation->step].commit);
	char hex[KL_OID_HEX];

	if (!transition || !is_of_mechanisms(relation))
		return;
	kl_oid_hex(hex, &transplant->view.step[relation->other].commit);
	kl_strvec_add_once(relation->kind == KL_RELATION_REQUIRES ? &transition->requires :
								    &transition->conflicts,
			   hex);
}

int kl_transition_relations(struct kl_transitions *transitions, struct kl_repo *repo,
			    const char *workload, const char *name)
{
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };
	KL_AUTO(kl_freep) char *lineage = kl_asprintf("%s/%s", workload, name);
	KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/klineage/transplant/%s", lineage);
	git_oid tip;
	int err = kl_refs_get(&tip, repo, ref);

	if (err == KL_ENOTFOUND) { /* nothing was transplanted */
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_transplant_load(&transplant, repo, workload, name)) < 0)
		return err;
	kl_relations_find(&relations, &transplant);
	for (size_t i = 0; i < relations.n; i++)
		take_relation(transitions, lineage, &transplant, &relations.v[i]);
	return 0;
}
