/* SPDX-License-Identifier: Apache-2.0 */
/* skill_md - writes a card as SKILL.md for agents, and reads it back */
#include <string.h>

#include "base/error.h"
#include "card/exchange_parts.h"

/*
 * SKILL.md has the form in which agents read skills: front matter with name and description, then
 * text on when and how to apply the card. At the end is the card as YAML. All other text is made
 * from this YAML, and only the YAML is read back.
 */
#define HEADING "## The card\n"
#define MAX_DESCRIPTION 1000

/* Write `text` between fences of backticks longer than any run of backticks in the text. */
static void write_fence(struct kl_buf *out, const char *word, const char *text)
{
	size_t longest = 2, run = 0, n = strlen(text);

	for (const char *at = text; *at; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
	kl_buf_addf(out, "%s\n%s%s", word, text, n && text[n - 1] == '\n' ? "" : "\n");
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
	kl_buf_addch(out, '\n');
}

static void add_name(struct kl_buf *out, const char *id)
{
	for (; *id; id++)
		kl_buf_addch(out, *id == '_' || *id == '.' ? '-' : *id);
}

/*
 * Write the front matter. The description is a quoted string on one line, since the intent can be
 * any text.
 */
static void front_matter(struct kl_buf *out, const struct kl_card *card)
{
	KL_AUTO(json_decrefp) json_t *text = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf quoted = KL_BUF_INIT;

	kl_buf_addf(&buf, "%s", card->intent);
	if (buf.len > MAX_DESCRIPTION) {
		buf.len = MAX_DESCRIPTION;
		while (buf.len && ((unsigned char)buf.ptr[buf.len] & 0xc0) == 0x80)
			buf.len--;
		buf.ptr[buf.len] = '\0';
	}
	text = json_string(buf.ptr);
	kl_json_canonical(&quoted, text); /* a JSON string is a valid YAML string */
	kl_buf_adds(out, "---\nname: ");
	add_name(out, card->id);
	kl_buf_addf(out, "\ndescription: %s\n---\n\n", quoted.ptr);
}

static void add_facts(struct kl_buf *out, const char *what, const struct kl_strvec *list)
{
	if (!list->n)
		return;
	kl_buf_addf(out, "- %s:", what);
	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(out, "%s `%s`", i ? "," : "", list->v[i]);
	kl_buf_addch(out, '\n');
}

static void write_where(struct kl_buf *out, const struct kl_card *card)
{
	kl_buf_addf(out, "## Where\n\n%s", card->anchor.construct);
	if (card->anchor.acts_on)
		kl_buf_addf(out, "; it acts on %s", card->anchor.acts_on);
	kl_buf_adds(out, ".\n\n");
	add_facts(out, "operators", &card->scope.cases);
	add_facts(out, "languages", &card->scope.languages);
	add_facts(out, "the platform needs", &card->scope.needs);
	add_facts(out, "required before it", &card->scope.requires);
	add_facts(out, "conflicts with", &card->scope.conflicts);
	add_facts(out, "provides", &card->provides);
	kl_buf_addch(out, '\n');
}

static void write_conditions(struct kl_buf *out, const struct kl_card *card)
{
	if (!card->sound.n && !card->useful.n)
		return;
	kl_buf_adds(out, "## When\n\n");
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; i < (list ? card->useful.n : card->sound.n); i++) {
			const struct kl_card_pre *pre = list ? &card->useful.v[i] :
							       &card->sound.v[i];

			kl_buf_addf(out, "- %s: %s",
				    pre->state == KL_PRE_NOT_TESTED ? "not tested" :
				    pre->state == KL_PRE_NOT_NEEDED ? "not needed" :
				    list                            ? "needed to be faster" :
								      "needed to be correct",
				    pre->text);
			if (pre->test)
				kl_buf_addf(out, " (`%s`)", pre->test);
			if (pre->state == KL_PRE_WITNESSED)
				kl_buf_addf(out, "; a kernel failed where this was false: %s",
					    pre->class_ ? pre->class_ : "failed");
			kl_buf_addch(out, '\n');
		}
	kl_buf_addch(out, '\n');
}

static void write_how(struct kl_buf *out, const struct kl_card *card)
{
	if (card->carriers.n)
		kl_buf_adds(out, "## How\n\n");
	for (size_t i = 0; i < card->carriers.n; i++) {
		const struct kl_card_carrier *carrier = &card->carriers.v[i];

		kl_buf_addf(out, "In %s (%s):\n\n", carrier->language,
			    kl_carrier_form_name(carrier->form));
		write_fence(out, carrier->form == KL_CARRIER_DIFF ? "diff" : "", carrier->text);
		kl_buf_addch(out, '\n');
	}
}

static void write_effect(struct kl_buf *out, const struct kl_card *card)
{
	if (card->rows.n)
		kl_buf_adds(out, "## Measured effect\n\n"
				 "| case | dtype | language | platform | speed-up | verified |\n"
				 "| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < card->rows.n; i++) {
		const struct kl_card_row *row = &card->rows.v[i];

		kl_buf_addf(out, "| %s | %s | %s | %s | ", row->case_, row->dtype, row->language,
			    row->platform);
		kl_buf_add_decimal(out, row->ratio.ppm);
		kl_buf_addf(out, " | %s |\n", kl_card_row_is_verified(card, row) ? "yes" : "no");
	}
	if (card->rows.n)
		kl_buf_addch(out, '\n');
	if (card->risk.n)
		kl_buf_adds(out, "## Risks\n\n");
	for (size_t i = 0; i < card->risk.n; i++)
		kl_buf_addf(out, "- %s: %s\n", card->risk.v[i].class_, card->risk.v[i].text);
	if (card->risk.n)
		kl_buf_addch(out, '\n');
}

void kl_skill_md_write(struct kl_buf *out, const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf yaml = KL_BUF_INIT;

	front_matter(out, card);
	kl_buf_addf(out,
		    "# %s\n\n%s\n\nStatus: %s. Learned from %zu transition%s that a gate measured."
		    "\n\n",
		    card->id, card->intent, kl_card_status_name(card->status), card->evidence.n,
		    card->evidence.n == 1 ? "" : "s");
	write_where(out, card);
	write_conditions(out, card);
	write_how(out, card);
	write_effect(out, card);
	kl_card_write(&yaml, card);
	kl_buf_adds(out, HEADING "\nThe text above was generated from this card.\n\n");
	write_fence(out, "yaml", yaml.ptr);
}

/* Find the last heading HEADING, the fence that follows it, and the line that closes the fence. */
int kl_exchange_read_skill_md(struct kl_card **out, const char *name, const char *text, size_t len)
{
	const char *at = NULL, *start, *end;
	KL_AUTO(kl_freep) char *close = NULL;
	size_t ticks;

	if (strlen(text) != len)
		return kl_error(KL_EINVALID, "%s: not a text file", name);
	for (const char *hit = text; (hit = strstr(hit, "\n" HEADING)); hit++)
		at = hit;
	start = at ? strstr(at, "\n```") : NULL;
	if (!start)
		return kl_error(KL_EINVALID,
				"%s: contains no card; expected a file written by "
				"'git klineage skills export'",
				name);
	ticks = strspn(start + 1, "`");
	close = kl_asprintf("\n%.*s\n", (int)ticks, start + 1);
	start = strchr(start + 1, '\n');
	end = start ? strstr(start, close) : NULL;
	if (!end)
		return kl_error(KL_EINVALID, "%s: the card's code block is not closed", name);
	return kl_card_parse(out, name, start + 1, (size_t)(end - start));
}
