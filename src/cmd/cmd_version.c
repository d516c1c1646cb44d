/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version - git klineage version: prints the versions of git-klineage, libgit2 and git */
#include "base/buf.h"
#include "base/proc.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "text/json.h"

int cmd_version(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf git = KL_BUF_INIT;
	bool json = false;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "json", &json, "print the versions as JSON"), KL_OPT_END
	};
	int done = kl_opt_parse(&argc, &argv, "version [--json]", opts);

	if (done)
		return done > 0 ? 0 : done;
	if (kl_proc_output(&git, (const char *[]){ "git", "--version", NULL }) < 0)
		kl_buf_adds(&git, "no git found");
	kl_buf_rtrim(&git);
	if (json) {
		KL_AUTO(json_decrefp) json_t *value = json_object();

		kl_json_set_str(value, "schema", "klineage.version/1");
		kl_json_set_str(value, "version", KL_VERSION);
		kl_json_set_str(value, "libgit2", kl_repo_backend());
		kl_json_set_str(value, "git", git.ptr);
		kl_listing_put(value);
		return 0;
	}
	printf("git-klineage version %s (libgit2 %s, %s)\n", KL_VERSION, kl_repo_backend(),
	       git.ptr);
	return 0;
}
