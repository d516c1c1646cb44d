/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_EXCHANGE_PARTS_H
#define KL_CARD_EXCHANGE_PARTS_H

#include "card/exchange.h"

/* exchange_parts - declarations shared by exchange and skill_md. Inside src/card only. */
void kl_skill_md_write(struct kl_buf *out, const struct kl_card *card);

#endif
