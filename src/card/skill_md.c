/* SPDX-License-Identifier: Apache-2.0 */
/* skill_md - a card as SKILL.md for agents, and back */
#include <string.h>

#include "base/error.h"
#include "card/exchange_parts.h"

/*
 * skill_md - a card as agents' tools read skills: front matter with name and description, text
 * that says when and how, and at the end the card itself, from which all of it was made.
 */
#define HEADING "## The card\n"
#define MAX_DESCRIPTION 1000

/* a fence of back-ticks longer than any in the text */
static void write_fence(struct kl_buf *out, const char *word, const char *text)
{
	size_t longest = 2, run = 0, n = strlen(text);

	for (const char *s = text; *s; s++) {
		run = *s == '`' ? run + 1 : 0;
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

/* in double quotes, whatever the intent holds; one line */
static void front_matter(struct kl_buf *out, const struct kl_card *c)
{
	KL_AUTO(json_decrefp) json_t *text = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf quoted = KL_BUF_INIT;

	kl_buf_addf(&b, "%s", c->intent);
	if (b.len > MAX_DESCRIPTION) {
		b.len = MAX_DESCRIPTION;
		while (b.len && ((unsigned char)b.ptr[b.len] & 0xc0) == 0x80)
			b.len--;
		b.ptr[b.len] = '\0';
	}
	text = json_string(b.ptr);
	kl_json_canonical(&quoted, text); /* JSON's strings are YAML's */
	kl_buf_adds(out, "---\nname: ");
	add_name(out, c->id);
	kl_buf_addf(out, "\ndescription: %s\n---\n\n", quoted.ptr);
}

static void add_facts(struct kl_buf *out, const char *what, const struct kl_strvec *v)
{
	if (!v->n)
		return;
	kl_buf_addf(out, "- %s:", what);
	for (size_t i = 0; i < v->n; i++)
		kl_buf_addf(out, "%s `%s`", i ? "," : "", v->v[i]);
	kl_buf_addch(out, '\n');
}

static void write_where(struct kl_buf *out, const struct kl_card *c)
{
	kl_buf_addf(out, "## Where\n\n%s", c->anchor.construct);
	if (c->anchor.acts_on)
		kl_buf_addf(out, "; it acts on %s", c->anchor.acts_on);
	kl_buf_adds(out, ".\n\n");
	add_facts(out, "operators", &c->scope.cases);
	add_facts(out, "languages", &c->scope.languages);
	add_facts(out, "the platform needs", &c->scope.needs);
	add_facts(out, "before it", &c->scope.requires);
	add_facts(out, "not together with", &c->scope.conflicts);
	add_facts(out, "afterwards there is", &c->provides);
	kl_buf_addch(out, '\n');
}

static void write_conditions(struct kl_buf *out, const struct kl_card *c)
{
	if (!c->sound.n && !c->useful.n)
		return;
	kl_buf_adds(out, "## When\n\n");
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; i < (list ? c->useful.n : c->sound.n); i++) {
			const struct kl_card_pre *p = list ? &c->useful.v[i] : &c->sound.v[i];

			kl_buf_addf(out, "- %s: %s", list ? "to be faster" : "to be right",
				    p->text);
			if (p->test)
				kl_buf_addf(out, " (`%s`)", p->test);
			if (p->state == KL_PRE_WITNESSED)
				kl_buf_addf(out, "; where it was false: %s",
					    p->class_ ? p->class_ : "failed");
			kl_buf_addch(out, '\n');
		}
	kl_buf_addch(out, '\n');
}

static void write_how(struct kl_buf *out, const struct kl_card *c)
{
	if (c->carriers.n)
		kl_buf_adds(out, "## How\n\n");
	for (size_t i = 0; i < c->carriers.n; i++) {
		const struct kl_card_carrier *k = &c->carriers.v[i];

		kl_buf_addf(out, "In %s (%s):\n\n", k->language, kl_carrier_form_name(k->form));
		write_fence(out, k->form == KL_CARRIER_DIFF ? "diff" : "", k->text);
		kl_buf_addch(out, '\n');
	}
}

static void write_effect(struct kl_buf *out, const struct kl_card *c)
{
	if (c->rows.n)
		kl_buf_adds(out,
			    "## What it gave\n\n"
			    "| case | dtype | language | platform | times as fast | verified |\n"
			    "| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct kl_card_row *r = &c->rows.v[i];

		kl_buf_addf(out, "| %s | %s | %s | %s | ", r->case_, r->dtype, r->language,
			    r->platform);
		kl_card_decimal(out, r->ratio.ppm);
		kl_buf_addf(out, " | %s |\n", kl_card_row_is_verified(c, r) ? "yes" : "no");
	}
	if (c->rows.n)
		kl_buf_addch(out, '\n');
	if (c->risk.n)
		kl_buf_adds(out, "## What goes wrong\n\n");
	for (size_t i = 0; i < c->risk.n; i++)
		kl_buf_addf(out, "- %s: %s\n", c->risk.v[i].class_, c->risk.v[i].text);
	if (c->risk.n)
		kl_buf_addch(out, '\n');
}

void kl_skill_md_write(struct kl_buf *out, const struct kl_card *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf card = KL_BUF_INIT;

	front_matter(out, c);
	kl_buf_addf(out,
		    "# %s\n\n%s\n\nStatus: %s. Learned from %zu transition%s that a gate measured."
		    "\n\n",
		    c->id, c->intent, kl_card_status_name(c->status), c->evidence.n,
		    c->evidence.n == 1 ? "" : "s");
	write_where(out, c);
	write_conditions(out, c);
	write_how(out, c);
	write_effect(out, c);
	kl_card_write(&card, c);
	kl_buf_adds(out, HEADING "\nEverything above was made from it.\n\n");
	write_fence(out, "yaml", card.ptr);
}

/* the last heading, the fence after it, and the line that closes it */
int kl_exchange_read_skill_md(struct kl_card **out, const char *name, const char *text, size_t len)
{
	const char *at = NULL, *start, *end;
	KL_AUTO(kl_freep) char *close = NULL;
	size_t ticks;

	if (strlen(text) != len)
		return kl_error(KL_EINVALID, "%s: it is no text", name);
	for (const char *s = text; (s = strstr(s, "\n" HEADING)); s++)
		at = s;
	start = at ? strstr(at, "\n```") : NULL;
	if (!start)
		return kl_error(KL_EINVALID,
				"%s: no card in it: that is not what "
				"'git klineage skills export' writes",
				name);
	ticks = strspn(start + 1, "`");
	close = kl_asprintf("\n%.*s\n", (int)ticks, start + 1);
	start = strchr(start + 1, '\n');
	end = start ? strstr(start, close) : NULL;
	if (!end)
		return kl_error(KL_EINVALID, "%s: the card in it has no end", name);
	return kl_card_parse(out, name, start + 1, (size_t)(end - start));
}
