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
 * An imported card must be valid. Every event that it cites must come with the card or be in this
 * clone, and must match its id. Trials of an imported card are kept, but marked foreign, so that
 * they do not count: a card that is new to the library is a hypothesis, unless it was retracted.
 */
enum kl_format { KL_FORMAT_YAML, KL_FORMAT_JSON, KL_FORMAT_SKILL_MD };

/**
 * Parse the name of a format. Return KL_EUSAGE if the name is unknown. The message lists the
 * formats.
 */
int kl_format_parse(enum kl_format *out, const char *word);

/**
 * Append one card as text. `events` (id -> struct kl_event *) is written only in the format json.
 */
void kl_exchange_write(struct kl_buf *out, const struct kl_card *card, const struct kl_map *events,
		       enum kl_format format);
/**
 * Get the events that the card cites, and the events from which they were computed, from the card's
 * library: id -> struct kl_event *, owned.
 */
int kl_exchange_events(struct kl_map *out, struct kl_library *library, const struct kl_card *card);
/**
 * Read the card in a SKILL.md. Return KL_EINVALID if the file contains no card. Other errors are
 * those of kl_card_parse().
 */
int kl_exchange_read_skill_md(struct kl_card **out, const char *name, const char *text, size_t len);

/**
 * Write the cards `ids` of a library with their events below `dir`, replacing existing files. Sets
 * *files to the number of files written.
 */
int kl_exchange_export(size_t *files, struct kl_library *library, const struct kl_strvec *ids,
		       const char *dir, enum kl_format format);

struct kl_exchange_result {
	/* numbers of cards: new to the library; merged with the library's version; unchanged */
	size_t added, merged, same;
	size_t refused; /* number of files that were refused */
};
/**
 * Import a file or a directory, in any of the formats, with one commit per card. If a file is
 * refused, `refuse` is called (kl_error_last() has the reason) and the import goes on with the next
 * file. The counts are added to *out. Return KL_ENOTFOUND if the directory `path` has no file with
 * a card.
 */
int kl_exchange_import(struct kl_exchange_result *out, struct kl_library *library, const char *path,
		       void (*refuse)(const char *path, void *payload), void *payload);

#endif
