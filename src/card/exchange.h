/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_EXCHANGE_H
#define KL_CARD_EXCHANGE_H

#include "card/library.h"

/*
 * exchange - reads and writes cards as files, for exchange without git and for agents
 * (docs/formats.md, "Cards"):
 *
 *	yaml		cards/<id>.yaml and evidence/<xx>/<id>.json, as in a library
 *	json		<id>.json: {"schema":"klineage.card/1","card":{...},"events":[...]}
 *	skill-md	<id>/SKILL.md, which holds the card, and <id>/events.jsonl
 *
 * What comes in is believed as far as it can be checked: a card must be right, and every event that
 * it cites must be with it (or here already) and be what its id says. Its trials are others': they
 * are kept, marked foreign, and count for nothing, so the card is a hypothesis here, unless it was
 * retracted.
 */
enum kl_format { KL_FORMAT_YAML, KL_FORMAT_JSON, KL_FORMAT_SKILL_MD };

/** KL_EUSAGE names the formats. */
int kl_format_parse(enum kl_format *out, const char *word);

/** One card as one text. `events` (id -> struct kl_event *) is asked for json alone. */
void kl_exchange_write(struct kl_buf *out, const struct kl_card *card, const struct kl_map *events,
		       enum kl_format format);
/** All events that a card cites, from its library, for _write: id -> struct kl_event *, owned. */
int kl_exchange_events(struct kl_map *out, struct kl_library *library, const struct kl_card *card);
/** The card in a SKILL.md; KL_EINVALID. */
int kl_exchange_read_skill_md(struct kl_card **out, const char *name, const char *text, size_t len);

/** Cards of a library below `dir`, with their events; files there are replaced. Counts files. */
int kl_exchange_export(size_t *files, struct kl_library *library, const struct kl_strvec *ids,
		       const char *dir, enum kl_format format);

struct kl_exchange_result {
	size_t added, merged, same; /* cards */
	size_t refused;
};
/**
 * A file or a directory of any of the formats into the library, a commit for each card. A card that
 * is refused is told to `refuse` (with kl_error_last), and the rest goes on. KL_ENOTFOUND: no card
 * there.
 */
int kl_exchange_import(struct kl_exchange_result *out, struct kl_library *library, const char *path,
		       void (*refuse)(const char *path, void *payload), void *payload);

#endif
