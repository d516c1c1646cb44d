/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_label - git klineage label: says which mechanism a step of a lineage is */
#include <string.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "cmd/label_list.h"
#include "contract/surface.h"
#include "event/label.h"
#include "lineage/view.h"

static const char synopsis[] = "label [<options>] <step> <mechanism> [<workload>[/<name>]]\n"
			       "label --remove [<options>] <step> [<workload>[/<name>]]\n"
			       "label --list [--json] [<lineage or directory>...]";

struct options {
	bool json, list, remove;
	int sign;
	const char *reason;
};

static int check_mechanism(const char *name)
{
	struct kl_mechanisms mechanisms = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;
	int err = kl_mechanisms_load_shipped(&mechanisms);

	if (err < 0)
		return err;
	if (!kl_mechanisms_find(&mechanisms, name)) {
		kl_mechanisms_nearest(&near, &mechanisms, name);
		err = kl_error(KL_EUSAGE, "there is no mechanism '%s'", name);
		for (size_t i = 0; i < near.n; i++)
			kl_error_hint(err, "did you mean '%s'?", near.v[i]);
		if (!near.n)
			kl_error_hint(err, "templates/mechanisms.yaml lists the mechanisms");
	}
	kl_mechanisms_release(&mechanisms);
	return err;
}

/* Note the label on the commit of K_i. */
static int put_label(struct kl_event **out, struct kl_repo *repo, const struct kl_view *view,
		     size_t i, const char *mechanism, const struct options *options)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	const git_oid *commit = &view->step[i].commit;
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = kl_surface_from_tree(&surface, repo, &tree, "")) < 0)
		return kl_error_in(err, "K_%zu", i);
	return kl_label_put(out, repo,
			    &(struct kl_label_opts){
				    .commit = commit,
				    .workload = view->workload,
				    .surface = surface->digest,
				    .contract = surface->contract_digest,
				    .mechanism = mechanism,
				    .reason = options->reason,
				    .sign = options->sign,
			    });
}

static void print_label(const struct kl_view *view, size_t i, const struct kl_event *label,
			bool json)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	const char *mechanism = *label->mechanism ? label->mechanism : NULL;
	char hex[KL_OID_HEX];

	if (!json) {
		printf("%s/%s K_%zu: %s%s\n", view->workload, view->name, i,
		       mechanism ? "labelled " : "the label is removed",
		       mechanism ? mechanism : "");
		return;
	}
	value = json_object();
	kl_oid_hex(hex, &view->step[i].commit);
	kl_json_set_str(value, "schema", "klineage.label/1");
	kl_json_set_str(value, "workload", view->workload);
	kl_json_set_str(value, "name", view->name);
	kl_json_set_int(value, "step", (int64_t)i);
	kl_json_set_str(value, "commit", hex);
	kl_json_set_str(value, "mechanism", mechanism);
	kl_json_set_str(value, "event", label->id);
	kl_json_set_bool(value, "signed", *label->sig);
	kl_listing_put(value);
}

static int label_step(struct kl_repo *repo, int argc, char **argv, const struct options *options)
{
	KL_AUTO(kl_freep) char *workload = NULL, *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *label = NULL;
	const char *mechanism = options->remove ? NULL : argv[1];
	int own = options->remove ? 1 : 2;
	size_t i;
	int err;

	if ((mechanism && (err = check_mechanism(mechanism)) < 0) ||
	    (err = kl_view_pick(&workload, &name, repo, argc > own ? argv[own] : NULL)) < 0 ||
	    (err = kl_view_load(&view, repo, workload, name)) < 0 ||
	    (err = kl_view_find(&i, &view, repo, argv[0])) < 0)
		return err;
	if (!i)
		return kl_error(KL_EUSAGE, "K_0 is the simplest state: no step leads to it");
	if (!mechanism && !view.step[i].label)
		return kl_error(KL_ENOTFOUND, "K_%zu of %s/%s has no label", i, workload, name);
	if ((err = put_label(&label, repo, &view, i, mechanism, options)) < 0)
		return err;
	print_label(&view, i, label, options->json);
	return 0;
}

int cmd_label(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct options options = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "remove", &options.remove, "take the label of a step back"),
		KL_OPT_BOOL('\0', "list", &options.list,
			    "list how steps are named, and how sources and facts name them"),
		KL_OPT_STR('\0', "reason", &options.reason, "<text>",
			   "say why, for people who read the label"),
		KL_OPT_CHOICE('\0', "sign", &options.sign, "sign the label with user.signingKey"),
		KL_OPT_BOOL('\0', "json", &options.json, "print the result as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts), least = options.remove ? 1 : 2;

	if (err)
		return err > 0 ? 0 : err;
	if (options.list && (options.remove || options.reason || options.sign))
		return kl_opt_usage(synopsis, "--list takes no other option than --json");
	if (options.list)
		return kl_label_list(ctx->repo, argc, argv, options.json);
	if (argc < least || argc > least + 1)
		return kl_opt_usage(synopsis, options.remove ?
						      "expected a step, and at most one lineage" :
						      "expected a step, a mechanism, and at most "
						      "one lineage");
	return label_step(ctx->repo, argc, argv, &options);
}
