/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/opt.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/vec.h"

/* getopt_long's `val` of option i: 256 + 2i, one more for its --no- form. */
#define FIRST 256

static void add_synopsis(struct kl_buf *b, const char *synopsis)
{
	const char *lead = "usage: git klineage ";

	for (const char *s = synopsis; *s;) {
		size_t n = strcspn(s, "\n");

		kl_buf_addf(b, "%s%.*s\n", lead, (int)n, s);
		lead = "   or: git klineage ";
		s += n + (s[n] == '\n');
	}
}

static void print_help(const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	add_synopsis(&b, synopsis);
	if (opts->kind)
		kl_buf_addch(&b, '\n');
	for (const struct kl_opt *o = opts; o->kind; o++) {
		char left[80];

		if (!o->help)
			continue;
		if (o->letter)
			snprintf(left, sizeof(left), "-%c, --%s%s%s", o->letter, o->name,
				 o->arg ? " " : "", o->arg ? o->arg : "");
		else
			snprintf(left, sizeof(left), "    --%s%s%s", o->name, o->arg ? " " : "",
				 o->arg ? o->arg : "");
		if (strlen(left) > 26)
			kl_buf_addf(&b, "    %s\n    %-26s %s\n", left, "", o->help);
		else
			kl_buf_addf(&b, "    %-26s %s\n", left, o->help);
	}
	fputs(b.ptr, stdout);
}

/* The word after the verb in a line of the synopsis ("hooks install [--chain]"), if it is one. */
static size_t next_subverb(const char **word, const char *line)
{
	const char *s = line + strcspn(line, " \n");
	size_t n;

	s += *s == ' ';
	n = strspn(s, "abcdefghijklmnopqrstuvwxyz-");
	*word = s;
	return *s != '-' && (!s[n] || strchr(" \n", s[n])) ? n : 0;
}

/*
 * As git's own commands answer --git-completion-helper: what may follow, then "--" and the
 * forms with --no-. An option with a value ends in "=".
 */
static void print_completion(const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (const char *s = synopsis; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		const char *word;
		size_t n = next_subverb(&word, s);

		if (n)
			kl_buf_addf(&b, "%.*s ", (int)n, word);
	}
	for (const struct kl_opt *o = opts; o->kind; o++)
		if (o->help)
			kl_buf_addf(&b, "--%s%s ", o->name, o->arg ? "=" : "");
	kl_buf_adds(&b, "--");
	for (const struct kl_opt *o = opts; o->kind; o++)
		if (o->help && !o->arg)
			kl_buf_addf(&b, " --no-%s", o->name);
	puts(b.ptr);
}

int kl_opt_usage(const char *synopsis, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	kl_error(KL_EUSAGE, "%s", b.ptr);
	kl_buf_clear(&b);
	add_synopsis(&b, synopsis);
	kl_buf_rtrim(&b);
	return kl_error_hint(KL_EUSAGE, "%s", b.ptr);
}

static int store_value(const struct kl_opt *o, bool negated, const char *text, const char *synopsis)
{
	char *end;

	switch (o->kind) {
	case KL_OPT_KIND_BOOL:
		*(bool *)o->value = !negated;
		return 0;
	case KL_OPT_KIND_STR:
		*(const char **)o->value = text;
		return 0;
	default:
		errno = 0;
		*(int64_t *)o->value = strtoll(text, &end, 10);
		if (errno || end == text || *end)
			return kl_opt_usage(synopsis, "'%s' is no number for --%s", text, o->name);
		return 0;
	}
}

/* What getopt_long wants, made from our table. */
struct tables {
	struct option *longs;
	struct kl_buf letters;
	struct kl_strvec names; /* storage of the --no- forms */
};

static void tables_release(struct tables *t)
{
	free(t->longs);
	kl_buf_release(&t->letters);
	kl_strvec_release(&t->names);
}

static void tables_fill(struct tables *t, const struct kl_opt *opts)
{
	size_t n = 0, k = 0;

	while (opts[n].kind)
		n++;
	t->longs = kl_calloc(2 * n + 1, sizeof(*t->longs));
	kl_buf_adds(&t->letters, ":h");
	for (size_t i = 0; i < n; i++) {
		const struct kl_opt *o = &opts[i];
		int arg = o->kind == KL_OPT_KIND_BOOL ? no_argument : required_argument;
		int val = (int)(FIRST + 2 * i);

		t->longs[k++] = (struct option){ o->name, arg, NULL, val };
		if (o->letter)
			kl_buf_addf(&t->letters, "%c%s", o->letter,
				    arg == required_argument ? ":" : "");
		if (arg == no_argument) {
			kl_strvec_pushf(&t->names, "no-%s", o->name);
			t->longs[k++] = (struct option){ t->names.v[t->names.n - 1], arg, NULL,
							 val + 1 };
		}
	}
}

static const struct kl_opt *by_letter(const struct kl_opt *opts, int c)
{
	for (; opts->kind; opts++)
		if (opts->letter == c)
			return opts;
	return NULL;
}

int kl_opt_parse(int *argc, char ***argv, const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(tables_release) struct tables t = { .letters = KL_BUF_INIT };
	int c, err;

	if (*argc == 2 && !strcmp((*argv)[1], KL_OPT_COMPLETION)) {
		print_completion(synopsis, opts);
		return 1;
	}
	tables_fill(&t, opts);
	optind = 0; /* glibc: start anew */
	opterr = 0;
	while ((c = getopt_long(*argc, *argv, t.letters.ptr, t.longs, NULL)) != -1) {
		const struct kl_opt *o = c >= FIRST ? &opts[(c - FIRST) / 2] : by_letter(opts, c);

		if (c == 'h' && !o) {
			print_help(synopsis, opts);
			return 1;
		}
		if (c == ':')
			return kl_opt_usage(synopsis, "option '%s' needs a value",
					    (*argv)[optind - 1]);
		if (c == '?' || !o)
			return kl_opt_usage(synopsis, "unknown option '%s'", (*argv)[optind - 1]);
		err = store_value(o, c >= FIRST && (c - FIRST) % 2, optarg, synopsis);
		if (err < 0)
			return err;
	}
	*argc -= optind;
	*argv += optind;
	return 0;
}
