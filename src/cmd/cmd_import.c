/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "lineage/import.h"

static const char synopsis[] = "import [<options>] <dir>";

int cmd_import(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const char *name = NULL;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "name", &name, "<name>", "call the lineage so (default: as it was)"),
		KL_OPT_END
	};
	struct kl_import_result out;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis, "one exported directory");
	if ((err = kl_import_read(&out, ctx->repo, argv[0], name)) < 0)
		return err;
	printf("%s: %zu step%s, %zu rejected, %zu events%s\n", out.lineage + strlen("refs/heads/"), out.steps,
	       out.steps == 1 ? "" : "s", out.rejected, out.events,
	       out.already ? "; it was here already, the same" : "");
	return 0;
}
