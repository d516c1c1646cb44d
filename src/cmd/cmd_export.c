/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "lineage/export.h"
#include "lineage/view.h"

static const char synopsis[] = "export [<workload>[/<name>]] <dir>";

int cmd_export(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	const struct kl_opt opts[] = { KL_OPT_END };
	const char *dir;
	size_t files;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc < 1 || argc > 2)
		return kl_opt_usage(synopsis, "a directory to write to, and before it "
				    "the lineage if there are several");
	dir = argv[argc - 1];
	if ((err = kl_view_pick(&workload, &name, ctx->repo, argc > 1 ? argv[0] : NULL)) < 0 ||
	    (err = kl_export_write(ctx->repo, workload, name, dir, &files)) < 0)
		return err;
	printf("%s/%s: %zu files in %s\n", workload, name, files, dir);
	return 0;
}
