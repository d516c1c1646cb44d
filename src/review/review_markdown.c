/* SPDX-License-Identifier: Apache-2.0 */
/* review_markdown - a review as a comment in Markdown */
#include <string.h>

#include "base/mem.h"
#include "review/review.h"

/* What is kept free for the ends of what is open, and the word that something was left out. */
#define RESERVE 600
#define ROOM (KL_REVIEW_COMMENT_MAX - 1 - RESERVE)
#define FIRST_ROOM 8192 /* of what must be answered; the rest is in the details */

/* A comment that is being written: lines go in whole, or are counted. */
struct comment {
	struct kl_buf *out;
	size_t room;
	size_t left_out;
};

static void add_line(struct comment *c, const char *before, const struct kl_buf *line)
{
	if (c->out->len + strlen(before) + line->len + 1 > c->room) {
		c->left_out++;
		return;
	}
	kl_buf_adds(c->out, before);
	kl_buf_add(c->out, line->ptr, line->len);
	kl_buf_addch(c->out, '\n');
}

static const char *plural_s(size_t n)
{
	return n == 1 ? "" : "s";
}

static void add_answers(struct comment *c, const char *title, const struct kl_findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		if (f->v[i].weight != KL_ANSWER)
			continue;
		if (title) {
			kl_say_markdown(&line, title);
			kl_buf_adds(&line, ": ");
		}
		kl_say_markdown(&line, f->v[i].text);
		add_line(c, "- ", &line);
	}
}

/* Titles go on after a comma or colon with what is in the details anyway. */
static void add_short(struct kl_buf *out, const char *title)
{
	kl_buf_add(out, title, strcspn(title, ",:"));
}

static void write_head(struct comment *c, const struct kl_review *v)
{
	char base[KL_OID_HEX], tip[KL_OID_HEX];

	kl_oid_hex(base, &v->base);
	kl_oid_hex(tip, &v->head);
	kl_buf_adds(c->out, "<!-- klineage-review -->\n");
	if (v->answers)
		kl_buf_addf(c->out, "### klineage: %zu point%s to answer\n\n", v->answers,
			    plural_s(v->answers));
	else
		kl_buf_adds(c->out, "### klineage: nothing to answer\n\n");
	kl_buf_addf(c->out, "`%.10s..%.10s`: %zu commit%s", base, tip, v->commits,
		    plural_s(v->commits));
	for (int p = 0; p < KL_REVIEW_PARTS; p++) {
		const char *name = kl_review_part_name((enum kl_review_part)p);
		size_t n = v->part[p].n;

		if (n && p != KL_REVIEW_COMMITS)
			kl_buf_addf(c->out, ", %zu %.*s%s", n, (int)strlen(name) - 1, name,
				    plural_s(n));
	}
	kl_buf_adds(c->out, "\n\n");
}

static void write_answers(struct comment *c, const struct kl_review *v)
{
	if (!v->answers)
		return;
	c->room = FIRST_ROOM;
	add_answers(c, NULL, &v->general);
	for (int p = 0; p < KL_REVIEW_PARTS; p++)
		for (size_t i = 0; i < v->part[p].n; i++) {
			KL_AUTO(kl_buf_release) struct kl_buf title = KL_BUF_INIT;

			add_short(&title, v->part[p].v[i].title);
			add_answers(c, title.ptr, &v->part[p].v[i].found);
		}
	if (c->left_out)
		kl_buf_addf(c->out, "- and %zu more\n", c->left_out);
	c->left_out = 0;
	c->room = ROOM;
	kl_buf_addch(c->out, '\n');
}

static void add_notes(struct comment *c, const char *before, const struct kl_findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		kl_say_markdown(&line, f->v[i].text);
		if (f->v[i].weight == KL_ANSWER)
			kl_buf_adds(&line, " **(to answer)**");
		add_line(c, before, &line);
	}
}

/* Beside its words a part has nothing of others in its summary, where code spans would not work. */
static void write_details(struct comment *c, const struct kl_review *v, enum kl_review_part p)
{
	const char *name = kl_review_part_name(p);
	size_t n = v->part[p].n;

	if (!n)
		return;
	if (c->out->len + 200 > c->room) {
		c->left_out += n;
		return;
	}
	kl_buf_addf(c->out, "<details><summary>%zu %.*s%s</summary>\n\n", n, (int)strlen(name) - 1,
		    name, plural_s(n));
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		kl_say_markdown(&line, v->part[p].v[i].title);
		add_line(c, "- ", &line);
		add_notes(c, "  - ", &v->part[p].v[i].found);
	}
	kl_buf_adds(c->out, "\n</details>\n");
}

void kl_review_markdown(struct kl_buf *out, const struct kl_review *v)
{
	struct comment c = { .out = out, .room = ROOM };
	char base[KL_OID_HEX], tip[KL_OID_HEX];

	write_head(&c, v);
	write_answers(&c, v);
	if (v->general.n > v->general.answers) {
		add_notes(&c, "- ", &v->general);
		kl_buf_addch(out, '\n');
	}
	for (int p = 0; p < KL_REVIEW_PARTS; p++)
		write_details(&c, v, (enum kl_review_part)p);
	kl_oid_hex(base, &v->base);
	kl_oid_hex(tip, &v->head);
	if (c.left_out)
		kl_buf_addf(out,
			    "\n%zu line%s more than a comment holds: `git klineage review "
			    "%.10s..%.10s` "
			    "has all.\n",
			    c.left_out, plural_s(c.left_out), base, tip);
}
