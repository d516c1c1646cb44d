/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "card/card_merge.h"
#include "card/exchange.h"

/*
 * What comes as a card: YAML, JSON after a "{", a SKILL.md after "---". What is taken is written in
 * one form, from which it is read again as the same; it merges with itself to itself.
 */
static void check_card(const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, again = KL_BUF_INIT,
					      merged = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf md = KL_BUF_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *other_card = NULL, *other = NULL,
					      *copy = kl_card_copy(card), *from_md = NULL,
					      *from_json = NULL;
	KL_AUTO(json_decrefp) json_t *value = kl_card_to_json(card);
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT;

	kl_card_write(&text, card);
	if (text.len > KL_CARD_MAX_BYTES)
		return;
	MUST(kl_card_parse(&other_card, "again", text.ptr, text.len) == 0);
	MUST(kl_card_canonical_line(other_card, text.ptr, text.len) == 0);
	kl_card_write(&again, other_card);
	MUST(!strcmp(text.ptr, again.ptr));
	MUST(kl_card_merge(&other, &both, NULL, card, copy) == 0);
	MUST(both.n == 0);
	kl_card_write(&merged, other);
	MUST(!strcmp(text.ptr, merged.ptr));
	kl_buf_clear(&again);
	MUST(kl_card_from_json(&from_json, "json", value) == 0);
	kl_card_write(&again, from_json);
	MUST(!strcmp(text.ptr, again.ptr));
	kl_exchange_write(&md, card, NULL, KL_FORMAT_SKILL_MD);
	MUST(kl_exchange_read_skill_md(&from_md, "md", md.ptr, md.len) == 0);
}

static int read_card(struct kl_card **out, const char *string, size_t size)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	int err;

	if (size && string[0] == '{') {
		err = kl_json_parse(&value, string, size);
		return err < 0 ? err : kl_card_from_json(out, "json", value);
	}
	if (size > 3 && !memcmp(string, "---", 3)) {
		KL_AUTO(kl_freep) char *text = kl_strndup(string, size);

		return kl_exchange_read_skill_md(out, "md", text, size);
	}
	return kl_card_parse(out, "card", string, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	if (read_card(&card, (const char *)data, size) == 0)
		check_card(card);
	kl_error_clear();
	return 0;
}
