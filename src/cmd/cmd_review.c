/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_review - git klineage review: what a range of commits means */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "review/review.h"

static const char synopsis[] = "review [<options>] [<base>..<head>]";

enum format { TERM, MARKDOWN, JSON };

/* --- for a person at a terminal ------------------------------------------------- */

/* Words up to the width; what follows the first line stands below its text. */
static void print_wrapped(const struct kl_term *t, size_t indent, const char *mark,
			  enum kl_paint paint, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf plain = KL_BUF_INIT;
	size_t own = strlen(mark),
	       room = (size_t)t->width > indent + own + 20 ? (size_t)t->width : indent + own + 20;
	size_t at = indent + own;

	kl_say_plain(&plain, text);
	printf("%*s%s%s%s", (int)indent, "", kl_paint(t, paint), mark,
	       *mark ? kl_paint(t, KL_PAINT_RESET) : "");
	for (const char *s = plain.ptr; *s;) {
		size_t n = strcspn(s, " ");

		if (at + n > room && at > indent + own) {
			printf("\n%*s", (int)(indent + own), "");
			at = indent + own;
		}
		printf("%.*s", (int)n, s);
		at += n;
		s += n;
		if (*s == ' ') {
			s++;
			at++;
			if (at + strcspn(s, " ") <= room)
				putchar(' ');
		}
	}
	putchar('\n');
}

static void print_findings(const struct kl_term *t, const struct kl_findings *f, size_t indent)
{
	for (size_t i = 0; i < f->n; i++) {
		bool answer = f->v[i].weight == KL_ANSWER;

		print_wrapped(t, indent, answer ? "! " : "- ",
			      answer ? KL_PAINT_FAIL : KL_PAINT_RESET, f->v[i].text);
	}
}

static void print_review(const struct kl_review *v, const struct kl_term *t)
{
	char base[KL_OID_HEX], head[KL_OID_HEX];

	kl_oid_hex(base, &v->base);
	kl_oid_hex(head, &v->head);
	printf("%s%.10s..%.10s%s: %zu commit%s,%s", kl_paint(t, KL_PAINT_HEAD), base, head,
	       kl_paint(t, KL_PAINT_RESET), v->commits, v->commits == 1 ? "" : "s",
	       t->width < 60 ? "\n" : " ");
	if (v->answers)
		printf("%s%zu point%s to answer%s\n", kl_paint(t, KL_PAINT_FAIL), v->answers,
		       v->answers == 1 ? "" : "s", kl_paint(t, KL_PAINT_RESET));
	else
		printf("%snothing to answer%s\n", kl_paint(t, KL_PAINT_PASS),
		       kl_paint(t, KL_PAINT_RESET));
	print_findings(t, &v->general, 0);
	for (int p = 0; p < KL_REVIEW_PARTS; p++) {
		if (v->part[p].n)
			printf("\n%s%s%s\n", kl_paint(t, KL_PAINT_HEAD),
			       kl_review_part_name((enum kl_review_part)p),
			       kl_paint(t, KL_PAINT_RESET));
		for (size_t i = 0; i < v->part[p].n; i++) {
			print_wrapped(t, 2, "", KL_PAINT_RESET, v->part[p].v[i].title);
			print_findings(t, &v->part[p].v[i].found, 4);
		}
	}
}

/* --- the verb ---------------------------------------------------------------------- */

static void print_as(const struct kl_review *v, enum format format, const struct kl_term *t)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *j = NULL;

	switch (format) {
	case TERM:
		print_review(v, t);
		break;
	case MARKDOWN:
		kl_review_markdown(&b, v);
		fwrite(b.ptr, 1, b.len, stdout);
		break;
	case JSON:
		j = kl_review_json(v);
		kl_listing_put(j);
		break;
	}
}

int cmd_review(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const formats[] = { "term", "markdown", "json" };
	KL_AUTO(kl_review_release) struct kl_review v = { 0 };
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
		return kl_opt_usage(synopsis, "one range at a time");
	while (word && format <= JSON && strcmp(word, formats[format]))
		format++;
	if (format > JSON)
		return kl_opt_usage(synopsis, "--format takes term, markdown or json, not '%s'",
				    word);
	if ((err = kl_review_run(&v, ctx->repo, argc ? argv[0] : NULL)) < 0)
		return err;
	print_as(&v, json ? JSON : (enum format)format, &ctx->term);
	return v.answers ? 1 : 0;
}
