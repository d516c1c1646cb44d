/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export - git klineage export: writes a lineage to a directory */
#include <stdlib.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "lineage/export.h"
#include "lineage/view.h"
#include "text/json.h"

static const char synopsis[] = "export [<options>] [<workload>[/<name>]] <dir>";

static void print_json(const char *workload, const char *name, const char *dir, size_t files)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.exported/1");
	kl_json_set_str(value, "workload", workload);
	kl_json_set_str(value, "name", name);
	kl_json_set_str(value, "directory", dir);
	kl_json_set_int(value, "files", (int64_t)files);
	kl_listing_put(value);
}

int cmd_export(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	bool json = false;
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "json", &json, "print a summary as JSON"),
				       KL_OPT_END };
	const char *dir;
	size_t files;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc < 1 || argc > 2)
		return kl_opt_usage(
			synopsis,
			"expected a directory; with several lineages, name one before it");
	dir = argv[argc - 1];
	if ((err = kl_view_pick(&workload, &name, ctx->repo, argc > 1 ? argv[0] : NULL)) < 0 ||
	    (err = kl_export_write(ctx->repo, workload, name, dir, &files)) < 0)
		return err;
	if (json)
		print_json(workload, name, dir, files);
	else
		printf("%s/%s: %zu files in %s\n", workload, name, files, dir);
	return 0;
}
