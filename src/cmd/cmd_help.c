/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help - git klineage help: lists the verbs and shows their manual pages */
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/nearest.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"

/* Pages that do not describe a verb. "git help klineage-<name>" shows these pages too. */
static const struct {
	const char *name, *page;
	int section;
} guides[] = {
	{ "tutorial", "gitklineage-tutorial", 7 },
	{ "format", "gitklineage-format", 5 },
};

/* The verbs by what they are for. Verbs that are in no group are listed last. */
static const struct {
	const char *title, *verbs;
} groups[] = {
	{ "set up", "init adopt hooks status doctor" },
	{ "judge kernels", "gate compare review measure" },
	{ "learn from an expert kernel",
	  "deopt log show blame label probe transplant prune report" },
	{ "reuse what was learned", "lift admit skills retrieve materialize step" },
	{ "search for a faster kernel", "search study table memory" },
	{ "share", "sync export import" },
	{ "agents and models", "mcp chat" },
	{ "upkeep", "fsck help version" },
};

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static bool is_grouped(const char *verb)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(groups); i++)
		if (has_word(groups[i].verbs, verb))
			return true;
	return false;
}

/* List the verbs of a group; `words` NULL: those of none. */
static void list_group(const char *title, const char *words)
{
	for (const struct kl_cmd *cmd = kl_cmds; cmd->name; cmd++) {
		if (words ? !has_word(words, cmd->name) : is_grouped(cmd->name))
			continue;
		if (title)
			printf("%s\n", title);
		title = NULL;
		printf("    %-12s ", cmd->name);
		kl_out_fold(cmd->summary, 17, 17);
		putchar('\n');
	}
	if (!title)
		putchar('\n');
}

static void list_verbs(void)
{
	printf("usage: git klineage <verb> [<options>] [<arguments>]\n\n"
	       "Learn when a kernel optimization is sound: walk an expert kernel backward\n"
	       "through gated simplifications, and keep every step in git.\n\n");
	for (size_t i = 0; i < KL_ARRAY_SIZE(groups); i++)
		list_group(groups[i].title, groups[i].verbs);
	list_group("more", NULL);
	printf("'git klineage <verb> -h' lists a verb's options, 'git klineage help <verb>'\n"
	       "shows its manual page. 'git klineage help tutorial' is an introduction,\n"
	       "'git klineage help format' describes what is stored.\n");
}

/*
 * Show the installed or built page with man(1). Without man, or in a checkout whose pages are not
 * built, print the page's source, which is readable.
 */
static int show_manual(const char *page, int section)
{
	KL_AUTO(kl_freep) char *beside = kl_asprintf("../share/man/man%d/%s.%d", section, page,
						     section);
	KL_AUTO(kl_freep) char *packed = kl_asprintf("%s.gz", beside); /* if installed compressed */
	KL_AUTO(kl_freep) char *built = kl_asprintf("build/man/%s.%d", page, section);
	KL_AUTO(kl_freep) char *source = kl_asprintf("docs/man/%s.adoc", page);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	fflush(stdout);
	/*
	 * prefer the pages that came with this program, because another version can also be
	 * installed
	 */
	if (kl_fs_program(&path, beside) == 0 || kl_fs_program(&path, packed) == 0 ||
	    kl_fs_share(&path, built) == 0)
		execlp("man", "man", "-l", path, (char *)NULL);
	kl_freep(&path);
	err = kl_fs_share(&path, source);
	if (!err)
		err = kl_fs_read(&text, path, 1 << 20);
	if (!err) {
		fputs(text.ptr, stdout);
		return 0;
	}
	execlp("man", "man", page, (char *)NULL);
	return kl_error(KL_ENOTFOUND, "manual page '%s' is not installed", page);
}

int kl_cmd_unknown(const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;
	int err = kl_error(KL_EUSAGE, "'%s' is not a verb of git klineage", name);

	for (const struct kl_cmd *cmd = kl_cmds; cmd->name; cmd++)
		kl_strvec_push(&names, cmd->name);
	kl_nearest_sure(&near, name, (const char *const *)names.v, names.n);
	if (near.n)
		kl_error_hint(err, "did you mean '%s'?", near.v[0]);
	return kl_error_hint(err, "'git klineage help' lists the verbs");
}

int cmd_help(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const struct kl_opt opts[] = { KL_OPT_END };
	const char *synopsis = "help [<verb> | tutorial | format]";
	int done = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (done)
		return done > 0 ? 0 : done;
	if (argc > 1)
		return kl_opt_usage(synopsis, "only one verb can be given");
	if (argc == 0) {
		list_verbs();
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(guides); i++)
		if (!strcmp(guides[i].name, argv[0]))
			return show_manual(guides[i].page, guides[i].section);
	for (const struct kl_cmd *cmd = kl_cmds; cmd->name; cmd++) {
		KL_AUTO(kl_freep) char *page = kl_asprintf("git-klineage-%s", cmd->name);

		if (!strcmp(cmd->name, argv[0]))
			return show_manual(page, 1);
	}
	return kl_cmd_unknown(argv[0]);
}
