/* SPDX-License-Identifier: Apache-2.0 */
/* review_markdown - writes a review as a Markdown comment */
#include <string.h>

#include "base/mem.h"
#include "review/review.h"

/* bytes reserved for closing tags and for the message that lines were left out */
#define RESERVE 600
#define ROOM (KL_REVIEW_COMMENT_MAX - 1 - RESERVE)
/* the list of findings to answer ends within this many bytes of the comment */
#define FIRST_ROOM 8192

/* A comment that is being written. A line that does not fit is left out as a whole and counted. */
struct comment {
	struct kl_buf *out;
	size_t room;
	size_t left_out;
};

static void add_line(struct comment *comment, const char *before, const struct kl_buf *line)
{
	if (comment->out->len + strlen(before) + line->len + 1 > comment->room) {
		comment->left_out++;
		return;
	}
	kl_buf_adds(comment->out, before);
	kl_buf_add(comment->out, line->ptr, line->len);
	kl_buf_addch(comment->out, '\n');
}

static const char *plural_s(size_t n)
{
	return n == 1 ? "" : "s";
}

static void add_answers(struct comment *comment, const char *title,
			const struct kl_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		if (findings->v[i].weight != KL_ANSWER)
			continue;
		if (title) {
			kl_finding_markdown(&line, title);
			kl_buf_adds(&line, ": ");
		}
		kl_finding_markdown(&line, findings->v[i].text);
		add_line(comment, "- ", &line);
	}
}

/* Append the title up to its first comma or colon. The details have the whole title. */
static void add_short(struct kl_buf *out, const char *title)
{
	kl_buf_add(out, title, strcspn(title, ",:"));
}

static void write_head(struct comment *comment, const struct kl_review *review)
{
	char base[KL_OID_HEX], tip[KL_OID_HEX];

	kl_oid_hex(base, &review->base);
	kl_oid_hex(tip, &review->head);
	kl_buf_adds(comment->out, "<!-- klineage-review -->\n");
	if (review->answers)
		kl_buf_addf(comment->out, "### klineage: %zu point%s to answer\n\n",
			    review->answers, plural_s(review->answers));
	else
		kl_buf_adds(comment->out, "### klineage: nothing to answer\n\n");
	kl_buf_addf(comment->out, "`%.10s..%.10s`: %zu commit%s", base, tip, review->commits,
		    plural_s(review->commits));
	for (int part = 0; part < KL_REVIEW_PARTS; part++) {
		const char *name = kl_review_part_name((enum kl_review_part)part);
		size_t n = review->part[part].n;

		if (n && part != KL_REVIEW_COMMITS)
			kl_buf_addf(comment->out, ", %zu %.*s%s", n, (int)strlen(name) - 1, name,
				    plural_s(n));
	}
	kl_buf_adds(comment->out, "\n\n");
}

static void write_answers(struct comment *comment, const struct kl_review *review)
{
	if (!review->answers)
		return;
	comment->room = FIRST_ROOM;
	add_answers(comment, NULL, &review->general);
	for (int part = 0; part < KL_REVIEW_PARTS; part++)
		for (size_t i = 0; i < review->part[part].n; i++) {
			KL_AUTO(kl_buf_release) struct kl_buf title = KL_BUF_INIT;

			add_short(&title, review->part[part].v[i].title);
			add_answers(comment, title.ptr, &review->part[part].v[i].found);
		}
	if (comment->left_out)
		kl_buf_addf(comment->out, "- and %zu more\n", comment->left_out);
	comment->left_out = 0;
	comment->room = ROOM;
	kl_buf_addch(comment->out, '\n');
}

static void add_notes(struct comment *comment, const char *before,
		      const struct kl_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		kl_finding_markdown(&line, findings->v[i].text);
		if (findings->v[i].weight == KL_ANSWER)
			kl_buf_adds(&line, " **(to answer)**");
		add_line(comment, before, &line);
	}
}

/*
 * Write the folded details of a part. The <summary> has no quoted text, because code spans do not
 * work in it.
 */
static void write_details(struct comment *comment, const struct kl_review *review,
			  enum kl_review_part part)
{
	const char *name = kl_review_part_name(part);
	size_t n = review->part[part].n;

	if (!n)
		return;
	if (comment->out->len + 200 > comment->room) {
		comment->left_out += n;
		return;
	}
	kl_buf_addf(comment->out, "<details><summary>%zu %.*s%s</summary>\n\n", n,
		    (int)strlen(name) - 1, name, plural_s(n));
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		kl_finding_markdown(&line, review->part[part].v[i].title);
		add_line(comment, "- ", &line);
		add_notes(comment, "  - ", &review->part[part].v[i].found);
	}
	kl_buf_adds(comment->out, "\n</details>\n");
}

void kl_review_markdown(struct kl_buf *out, const struct kl_review *review)
{
	struct comment comment = { .out = out, .room = ROOM };
	char base[KL_OID_HEX], tip[KL_OID_HEX];

	write_head(&comment, review);
	write_answers(&comment, review);
	if (review->general.n > review->general.answers) {
		add_notes(&comment, "- ", &review->general);
		kl_buf_addch(out, '\n');
	}
	for (int part = 0; part < KL_REVIEW_PARTS; part++)
		write_details(&comment, review, (enum kl_review_part)part);
	kl_oid_hex(base, &review->base);
	kl_oid_hex(tip, &review->head);
	if (comment.left_out)
		kl_buf_addf(out,
			    "\n%zu line%s omitted from this comment: `git klineage review "
			    "%.10s..%.10s` "
			    "shows all.\n",
			    comment.left_out, plural_s(comment.left_out), base, tip);
}
