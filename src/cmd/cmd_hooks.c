/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/hook_run.h"
#include "cmd/opt.h"

static const char synopsis[] =
	"hooks run <event> [<argument>...]";

/* --- run ------------------------------------------------------------------ */

/* Asked of git where the repository itself cannot be read. */
static enum kl_hook_block block_by_git(void)
{
	static const char *const argv[] = { "git", "config", "--get", "klineage.hooks.block", NULL };
	KL_AUTO(kl_buf_release) struct kl_buf word = KL_BUF_INIT;
	enum kl_hook_block block = KL_HOOK_BLOCK_FAIL;

	if (kl_proc_output(&word, argv) == 0) {
		kl_buf_rtrim(&word);
		if (kl_hook_block_parse(&block, word.ptr) < 0)
			block = KL_HOOK_BLOCK_UNTESTED;
	}
	kl_error_clear();
	return block;
}

/* What keeps us from judging is said; whether it stops git, the user has decided. */
static int untested(int err)
{
	const char *hint = kl_error_hints();

	if (err == KL_EINTR || err == KL_EUSAGE)
		return err;
	fprintf(stderr, "klineage: nothing was judged: %s\n", kl_error_last());
	for (size_t n; *hint; hint += n + (hint[n] == '\n')) {
		n = strcspn(hint, "\n");
		fprintf(stderr, "hint: %.*s\n", (int)n, hint);
	}
	return block_by_git() == KL_HOOK_BLOCK_UNTESTED;
}

static int run(int argc, char **argv)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *r = NULL;
	int err;

	if (!argc || !kl_hook_known(argv[0]))
		return kl_opt_usage(synopsis, "'%s' is no event that git klineage has a part in",
				    argc ? argv[0] : "");
	err = kl_repo_open(&r);
	if (!err)
		err = kl_hook_run(r, argv[0], argc - 1, argv + 1);
	return err < 0 ? untested(err) : err;
}

/* --- the verb -------------------------------------------------------------- */

int cmd_hooks(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const struct kl_opt opts[] = {
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc && !strcmp(argv[0], "run"))
		return run(argc - 1, argv + 1);
	return kl_opt_usage(synopsis, argc ? "'%s' is nothing that hooks can do" : "say what to do%s",
			    argc ? argv[0] : "");
}
