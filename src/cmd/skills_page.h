/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SKILLS_PAGE_H
#define KL_CMD_SKILLS_PAGE_H

#include "card/card.h"

/*
 * skills_page - prints a card for people: what it does, when it holds and who says so, how much it
 * gains where, what proves it, and at the end the edits.
 */
void kl_skills_page(const struct kl_card *card);

#endif
