/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/gate_import.h"

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/out.h"
#include "gate/runner/results.h"

static void print_summary(const struct kl_results *in)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *campaigns = json_array();

	kl_json_set_str(value, "schema", "klineage.import/1");
	kl_json_set_int(value, "imported", (int64_t)in->imported);
	kl_json_set_int(value, "again", (int64_t)in->again);
	kl_json_set_int(value, "refused", (int64_t)in->refused);
	kl_json_set_int(value, "cannot", (int64_t)in->cannot);
	kl_json_set_str(value, "signer", in->signer);
	for (size_t i = 0; i < in->campaigns.n; i++)
		json_array_append_new(campaigns, json_string(in->campaigns.v[i]));
	kl_json_set(value, "campaigns", campaigns);
	kl_listing_put(value);
}

static void print_lines(const struct kl_results *in)
{
	for (size_t i = 0; i < in->lines.n; i++) {
		kl_out_line(stdout, in->lines.v[i]);
		putchar('\n');
	}
	printf("%zu imported, %zu already known, %zu refused, %zu not judged%s%s\n", in->imported,
	       in->again, in->refused, in->cannot, in->signer ? "; signed by " : "",
	       in->signer ? in->signer : "");
	for (size_t i = 0; i < in->campaigns.n; i++)
		printf("the events are in refs/klineage/campaign/%s\n", in->campaigns.v[i]);
}

int kl_gate_import(struct kl_repo *repo, const char *file, const char *campaign, bool json)
{
	KL_AUTO(kl_results_release) struct kl_results in = { .campaign = campaign };
	int err = kl_results_file(&in, repo, file);

	if (json)
		print_summary(&in);
	else
		print_lines(&in);
	if (!err && in.cannot)
		return kl_error(KL_ECANNOT, "the worker could not judge %zu of the jobs: %s",
				in.cannot, in.why);
	return err;
}
