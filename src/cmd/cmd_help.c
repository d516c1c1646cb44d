/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/opt.h"

static void list(void)
{
	printf("usage: git klineage <verb> [<options>] [<arguments>]\n\n"
	       "Learns when a kernel optimization is sound: walks an expert kernel backward\n"
	       "through gated simplifications and keeps every step in git.\n\n");
	for (const struct kl_cmd *c = kl_cmds; c->name; c++)
		printf("    %-10s %s\n", c->name, c->summary);
	printf("\n'git klineage <verb> -h' says a verb's options,"
	       " 'git klineage help <verb>' shows its manual.\n");
}

/*
 * By `man`: the page as it was installed or built. Without `man`, or in a checkout whose
 * pages are not built, its source, which is made to be read.
 */
static int show_manual(const char *verb)
{
	KL_AUTO(kl_freep) char *page = kl_asprintf("git-klineage-%s", verb);
	KL_AUTO(kl_freep) char *beside = kl_asprintf("../share/man/man1/%s.1", page);
	KL_AUTO(kl_freep) char *packed = kl_asprintf("%s.gz", beside);	/* as distributions do */
	KL_AUTO(kl_freep) char *built = kl_asprintf("build/man/%s.1", page);
	KL_AUTO(kl_freep) char *source = kl_asprintf("docs/man/%s.adoc", page);
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	fflush(stdout);
	/* that of this very program first: another may be installed as well */
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
	return kl_error(KL_ENOTFOUND, "no manual page '%s' is installed", page);
}

int cmd_help(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const struct kl_opt opts[] = { KL_OPT_END };
	const char *synopsis = "help [<verb>]";
	int done = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (done)
		return done > 0 ? 0 : done;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one verb at a time");
	if (argc == 0) {
		list();
		return 0;
	}
	for (const struct kl_cmd *c = kl_cmds; c->name; c++)
		if (!strcmp(c->name, argv[0]))
			return show_manual(argv[0]);
	return kl_error(KL_EUSAGE, "'%s' is not a verb of git klineage", argv[0]);
}
