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
 * An imported card must be valid, and every event that it cites must come with it or be in this
 * clone, and match its id. Its trials were made by others: they are kept and marked foreign, but do
 * not count, so that a card that is new here is a hypothesis, unless it was retracted.
 */
enum kl_format { KL_FORMAT_YAML, KL_FORMAT_JSON, KL_FORMAT_SKILL_MD };

/** KL_EUSAGE: unknown format; the message lists them. */
int kl_format_parse(enum kl_format *out, const char *word);

/** Append one card as text. `events` (id -> struct kl_event *) is used for json only. */
void kl_exchange_write(struct kl_buf *out, const struct kl_card *card, const struct kl_map *events,
		       enum kl_format format);
/**
 * Get the events that a card cites, and those they refer to, from its library: id ->
 * struct kl_event *, owned.
 */
int kl_exchange_events(struct kl_map *out, struct kl_library *library, const struct kl_card *card);
/** Read the card in a SKILL.md. KL_EINVALID: it has none. Other errors as kl_card_parse. */
int kl_exchange_read_skill_md(struct kl_card **out, const char *name, const char *text, size_t len);

/**
 * Write cards of a library with their events below `dir`, replacing existing files. Sets *files to
 * the number of files written.
 */
int kl_exchange_export(size_t *files, struct kl_library *library, const struct kl_strvec *ids,
		       const char *dir, enum kl_format format);

struct kl_exchange_result {
	size_t added, merged, same; /* cards */
	size_t refused;             /* files */
};
/**
 * Import a file or a directory, in any of the formats, with a commit for each card. For a card that
 * is refused `refuse` is called (kl_error_last has the reason) and the import continues. The counts
 * are added to those in *out. KL_ENOTFOUND: the directory `path` has no file with a card.
 */
int kl_exchange_import(struct kl_exchange_result *out, struct kl_library *library, const char *path,
		       void (*refuse)(const char *path, void *payload), void *payload);

#endif
