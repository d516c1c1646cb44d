/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/opt.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/vec.h"
#include "cmd/cli/out.h"

/*
 * The `val` that getopt_long() returns is FIRST + 2i for option i, and FIRST + 2i + 1 for its --no-
 * form.
 */
#define FIRST 256

static void add_synopsis(struct kl_buf *buf, const char *synopsis)
{
	const char *lead = "usage: git klineage ";

	for (const char *text = synopsis; *text;) {
		size_t n = strcspn(text, "\n");

		kl_buf_addf(buf, "%s%.*s\n", lead, (int)n, text);
		lead = "   or: git klineage ";
		text += n + (text[n] == '\n');
	}
}

static void print_synopsis(const char *synopsis)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	size_t n;

	add_synopsis(&buf, synopsis);
	for (const char *line = buf.ptr; *line; line += n + 1) {
		KL_AUTO(kl_freep) char *text = NULL;

		n = strcspn(line, "\n");
		text = kl_strndup(line, n);
		kl_out_fold(text, 0, 24);
		putchar('\n');
	}
}

static void print_help(const char *synopsis, const struct kl_opt *opts)
{
	print_synopsis(synopsis);
	if (opts->kind)
		putchar('\n');
	for (const struct kl_opt *opt = opts; opt->kind; opt++) {
		char left[80];

		if (!opt->help)
			continue;
		if (opt->letter)
			snprintf(left, sizeof(left), "-%c, --%s%s%s", opt->letter, opt->name,
				 opt->arg ? " " : "", opt->arg ? opt->arg : "");
		else
			snprintf(left, sizeof(left), "    --%s%s%s", opt->name, opt->arg ? " " : "",
				 opt->arg ? opt->arg : "");
		if (strlen(left) > 26)
			printf("    %s\n    %-26s ", left, "");
		else
			printf("    %-26s ", left);
		kl_out_fold(opt->help, 31, 31);
		putchar('\n');
	}
}

/*
 * Set *word to the subverb in a line of the synopsis, such as "install" in "hooks install
 * [--chain]". Return the subverb's length, or 0 if the line has no subverb.
 */
static size_t next_subverb(const char **word, const char *line)
{
	const char *text = line + strcspn(line, " \n");
	size_t n;

	text += *text == ' ';
	n = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
	*word = text;
	return *text != '-' && (!text[n] || strchr(" \n", text[n])) ? n : 0;
}

/*
 * Print completions in the format of git's own commands: subverbs and options, then "--" and the
 * --no- forms. An option with a value ends in "=".
 */
static void print_completion(const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (const char *text = synopsis; *text;
	     text += strcspn(text, "\n"), text += *text == '\n') {
		const char *word;
		size_t n = next_subverb(&word, text);

		if (n)
			kl_buf_addf(&buf, "%.*s ", (int)n, word);
	}
	for (const struct kl_opt *opt = opts; opt->kind; opt++)
		if (opt->help)
			kl_buf_addf(&buf, "--%s%s ", opt->name, opt->arg ? "=" : "");
	kl_buf_adds(&buf, "--");
	for (const struct kl_opt *opt = opts; opt->kind; opt++)
		if (opt->help && !opt->arg)
			kl_buf_addf(&buf, " --no-%s", opt->name);
	puts(buf.ptr);
}

int kl_opt_usage(const char *synopsis, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	kl_error(KL_EUSAGE, "%s", buf.ptr);
	kl_buf_clear(&buf);
	add_synopsis(&buf, synopsis);
	kl_buf_rtrim(&buf);
	return kl_error_hint(KL_EUSAGE, "%s", buf.ptr);
}

static int store_value(const struct kl_opt *opt, bool negated, const char *text,
		       const char *synopsis)
{
	char *end;

	switch (opt->kind) {
	case KL_OPT_KIND_BOOL:
		*(bool *)opt->value = !negated;
		return 0;
	case KL_OPT_KIND_CHOICE:
		*(int *)opt->value = negated ? -1 : 1;
		return 0;
	case KL_OPT_KIND_STR:
		*(const char **)opt->value = text;
		return 0;
	default:
		errno = 0;
		*(int64_t *)opt->value = strtoll(text, &end, 10);
		if (errno || end == text || *end)
			return kl_opt_usage(synopsis, "invalid number '%s' for --%s", text,
					    opt->name);
		return 0;
	}
}

/* The arguments of getopt_long(), made from a table of options. */
struct tables {
	struct option *longs;
	struct kl_buf letters;
	struct kl_strvec names; /* storage of the --no- forms */
};

static void tables_release(struct tables *tables)
{
	free(tables->longs);
	kl_buf_release(&tables->letters);
	kl_strvec_release(&tables->names);
}

static void tables_fill(struct tables *tables, const struct kl_opt *opts)
{
	size_t n = 0, k = 0;

	while (opts[n].kind)
		n++;
	tables->longs = kl_calloc(2 * n + 1, sizeof(*tables->longs));
	kl_buf_adds(&tables->letters, ":h");
	for (size_t i = 0; i < n; i++) {
		const struct kl_opt *opt = &opts[i];
		int arg = opt->arg ? required_argument : no_argument;
		int val = (int)(FIRST + 2 * i);

		tables->longs[k++] = (struct option){ opt->name, arg, NULL, val };
		if (opt->letter)
			kl_buf_addf(&tables->letters, "%c%s", opt->letter,
				    arg == required_argument ? ":" : "");
		if (arg == no_argument) {
			kl_strvec_pushf(&tables->names, "no-%s", opt->name);
			tables->longs[k++] = (struct option){ tables->names.v[tables->names.n - 1],
							      arg, NULL, val + 1 };
		}
	}
}

static const struct kl_opt *by_letter(const struct kl_opt *opts, int ch)
{
	for (; opts->kind; opts++)
		if (opts->letter == ch)
			return opts;
	return NULL;
}

static int refuse_option(const char *word, const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;

	for (; opts->kind; opts++) {
		if (opts->help)
			kl_strvec_pushf(&names, "--%s", opts->name);
		if (opts->help && !opts->arg)
			kl_strvec_pushf(&names, "--no-%s", opts->name);
	}
	if (!strncmp(word, "--", 2))
		kl_nearest_sure(&near, word, (const char *const *)names.v, names.n);
	if (near.n)
		return kl_opt_usage(synopsis, "unknown option '%s'; did you mean '%s'?", word,
				    near.v[0]);
	return kl_opt_usage(synopsis, "unknown option '%s'", word);
}

int kl_opt_parse(int *argc, char ***argv, const char *synopsis, const struct kl_opt *opts)
{
	KL_AUTO(tables_release) struct tables tables = { .letters = KL_BUF_INIT };
	int ch, err;

	if (*argc == 2 && !strcmp((*argv)[1], KL_OPT_COMPLETION)) {
		print_completion(synopsis, opts);
		return 1;
	}
	tables_fill(&tables, opts);
	optind = 0; /* glibc: restart the scan */
	opterr = 0;
	while ((ch = getopt_long(*argc, *argv, tables.letters.ptr, tables.longs, NULL)) != -1) {
		const struct kl_opt *opt = ch >= FIRST ? &opts[(ch - FIRST) / 2] :
							 by_letter(opts, ch);

		if (ch == 'h' && !opt) {
			print_help(synopsis, opts);
			return 1;
		}
		if (ch == ':')
			return kl_opt_usage(synopsis, "option '%s' requires a value",
					    (*argv)[optind - 1]);
		if (ch == '?' || !opt)
			return refuse_option((*argv)[optind - 1], synopsis, opts);
		err = store_value(opt, ch >= FIRST && (ch - FIRST) % 2, optarg, synopsis);
		if (err < 0)
			return err;
	}
	*argc -= optind;
	*argv += optind;
	return 0;
}
