/* SPDX-License-Identifier: Apache-2.0 */
/* lift_twins - unites cards that were lifted from the same steps */
#include <string.h>

#include "base/error.h"
#include "card/card_merge.h"
#include "learn/lift_parts.h"

/*
 * Two repositories that lift the same mechanism make two cards. When one repository has both cards,
 * one card gets all of the evidence and the other is retracted. Every repository keeps the same
 * card.
 */

bool kl_lift_is_lifted(const struct kl_card *card)
{
	for (size_t i = 0; i < card->evidence.n; i++) {
		KL_AUTO(kl_freep) char *id = kl_card_make_id(card->mechanism,
							     card->evidence.v[i].event);

		if (!strcmp(id, card->id))
			return true;
	}
	return false;
}

static bool has_event(const struct kl_lift_group *group, const char *event)
{
	for (size_t i = 0; i < group->n; i++)
		if (!strcmp(group->t[i]->event->id, event))
			return true;
	return false;
}

bool kl_lift_is_twin(const struct kl_card *card, const struct kl_lift_group *group)
{
	if (card->status == KL_CARD_RETRACTED || !kl_lift_is_lifted(card))
		return false;
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!has_event(group, card->evidence.v[i].event))
			return false;
	return true;
}

bool kl_lift_outranks(const struct kl_card *left, const struct kl_card *right)
{
	if (left->status != right->status)
		return left->status > right->status;
	if (!left->ver.n != !right->ver.n)
		return left->ver.n > 0;
	return strcmp(left->id, right->id) < 0;
}

static void swap_text(char **left, char **right)
{
	char *tmp = *left;

	*left = *right;
	*right = tmp;
}

static void swap_set(struct kl_strvec *left, struct kl_strvec *right)
{
	struct kl_strvec tmp = *left;

	*left = *right;
	*right = tmp;
}

int kl_lift_unite(struct kl_card **card, const struct kl_card *twin)
{
	KL_AUTO(kl_card_freep) struct kl_card *theirs = kl_card_copy(twin), *all = NULL,
					      *own = NULL;
	int err;

	free(theirs->id);
	theirs->id = kl_strdup((*card)->id);
	if ((err = kl_card_merge(&all, NULL, NULL, *card, theirs)) < 0)
		return err;
	/* keep the texts and facts of *card; use the merged rows, conditions and carriers */
	own = kl_steal(card);
	swap_text(&all->intent, &own->intent);
	swap_text(&all->action, &own->action);
	swap_text(&all->anchor.construct, &own->anchor.construct);
	swap_text(&all->anchor.acts_on, &own->anchor.acts_on);
	swap_set(&all->enables, &own->enables);
	swap_set(&all->provides, &own->provides);
	swap_set(&all->scope.needs, &own->scope.needs);
	swap_set(&all->scope.requires, &own->scope.requires);
	swap_set(&all->scope.provides, &own->scope.provides);
	swap_set(&all->scope.conflicts, &own->scope.conflicts);
	*card = kl_steal(&all);
	return 0;
}
