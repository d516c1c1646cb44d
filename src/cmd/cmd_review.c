/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_review - git klineage review: reports what a range of commits changes */
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "review/review.h"

static const char synopsis[] = "review [<options>] [<base>..<head>]";

enum format { TERM, MARKDOWN, JSON };

/* --- text for a terminal -------------------------------------------------------- */

/*
 * Print the text, wrapped at the terminal's width. Indent all lines after the first to align with
 * the text.
 */
static void print_wrapped(const struct kl_term *term, size_t indent, const char *mark,
			  enum kl_paint paint, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf plain = KL_BUF_INIT;
	size_t mark_len = strlen(mark), room = (size_t)term->width > indent + mark_len + 20 ?
						       (size_t)term->width :
						       indent + mark_len + 20;
	size_t column = indent + mark_len;

	kl_finding_plain(&plain, text);
	printf("%*s%s%s%s", (int)indent, "", kl_paint(term, paint), mark,
	       *mark ? kl_paint(term, KL_PAINT_RESET) : "");
	for (const char *word = plain.ptr; *word;) {
		size_t n = strcspn(word, " ");

		if (column + n > room && column > indent + mark_len) {
			printf("\n%*s", (int)(indent + mark_len), "");
			column = indent + mark_len;
		}
		printf("%.*s", (int)n, word);
		column += n;
		word += n;
		if (*word == ' ') {
			word++;
			column++;
			if (column + strcspn(word, " ") <= room)
				putchar(' ');
		}
	}
	putchar('\n');
}

static void print_findings(const struct kl_term *term, const struct kl_findings *findings,
			   size_t indent)
{
	for (size_t i = 0; i < findings->n; i++) {
		bool answer = findings->v[i].weight == KL_ANSWER;

		print_wrapped(term, indent, answer ? "! " : "- ",
			      answer ? KL_PAINT_FAIL : KL_PAINT_RESET, findings->v[i].text);
	}
}

static void print_review(const struct kl_review *review, const struct kl_term *term)
{
	char base[KL_OID_HEX], head[KL_OID_HEX];

	kl_oid_hex(base, &review->base);
	kl_oid_hex(head, &review->head);
	printf("%s%.10s..%.10s%s: %zu commit%s,%s", kl_paint(term, KL_PAINT_HEAD), base, head,
	       kl_paint(term, KL_PAINT_RESET), review->commits, review->commits == 1 ? "" : "s",
	       term->width < 60 ? "\n" : " ");
	if (review->answers)
		printf("%s%zu point%s to answer%s\n", kl_paint(term, KL_PAINT_FAIL),
		       review->answers, review->answers == 1 ? "" : "s",
		       kl_paint(term, KL_PAINT_RESET));
	else
		printf("%snothing to answer%s\n", kl_paint(term, KL_PAINT_PASS),
		       kl_paint(term, KL_PAINT_RESET));
	print_findings(term, &review->general, 0);
	for (int part = 0; part < KL_REVIEW_PARTS; part++) {
		if (review->part[part].n)
			printf("\n%s%s%s\n", kl_paint(term, KL_PAINT_HEAD),
			       kl_review_part_name((enum kl_review_part)part),
			       kl_paint(term, KL_PAINT_RESET));
		for (size_t i = 0; i < review->part[part].n; i++) {
			print_wrapped(term, 2, "", KL_PAINT_RESET, review->part[part].v[i].title);
			print_findings(term, &review->part[part].v[i].found, 4);
		}
	}
}

/* --- the verb ---------------------------------------------------------------------- */

static void print_as(const struct kl_review *review, enum format format, const struct kl_term *term)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;

	switch (format) {
	case TERM:
		print_review(review, term);
		break;
	case MARKDOWN:
		kl_review_markdown(&buf, review);
		fwrite(buf.ptr, 1, buf.len, stdout);
		break;
	case JSON:
		value = kl_review_json(review);
		kl_listing_put(value);
		break;
	}
}

int cmd_review(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const formats[] = { "term", "markdown", "json" };
	KL_AUTO(kl_review_release) struct kl_review review = { 0 };
	const char *word = NULL;
	bool json = false;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "format", &word, "term|markdown|json",
			   "print for a terminal (default), for a pull "
			   "request, or for programs"),
		KL_OPT_BOOL('\0', "json", &json, "print JSON, like --format json"), KL_OPT_END
	};
	int format = TERM, err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "only one range can be given");
	while (word && format <= JSON && strcmp(word, formats[format]))
		format++;
	if (format > JSON)
		return kl_opt_usage(synopsis, "--format takes term, markdown or json, not '%s'",
				    word);
	if ((err = kl_review_run(&review, ctx->repo, argc ? argv[0] : NULL)) < 0)
		return err;
	print_as(&review, json ? JSON : (enum format)format, &ctx->term);
	return review.answers ? 1 : 0;
}
