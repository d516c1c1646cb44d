/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_import - git klineage import: rebuilds a lineage from a directory */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "lineage/import.h"
#include "text/json.h"

static const char synopsis[] = "import [<options>] <dir>";

static void print_json(const struct kl_import_result *out)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.imported/1");
	kl_json_set_str(value, "lineage", out->lineage);
	kl_json_set_int(value, "steps", (int64_t)out->steps);
	kl_json_set_int(value, "rejected", (int64_t)out->rejected);
	kl_json_set_int(value, "events", (int64_t)out->events);
	kl_json_set_bool(value, "already", out->already);
	kl_listing_put(value);
}

int cmd_import(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const char *name = NULL;
	bool json = false;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "name", &name, "<name>",
			   "give the lineage this name (default: its name in the export)"),
		KL_OPT_BOOL('\0', "json", &json, "print a summary as JSON"), KL_OPT_END
	};
	struct kl_import_result out;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis, argc ? "only one directory can be given" :
						     "no directory given");
	if ((err = kl_import_read(&out, ctx->repo, argv[0], name)) < 0)
		return err;
	if (json) {
		print_json(&out);
		return 0;
	}
	printf("%s: %zu step%s, %zu rejected, %zu events%s\n", out.lineage + strlen("refs/heads/"),
	       out.steps, out.steps == 1 ? "" : "s", out.rejected, out.events,
	       out.already ? "; already present and identical" : "");
	return 0;
}
