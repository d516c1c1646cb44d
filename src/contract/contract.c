/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/contract.h"

#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

static int read_floor_expr(struct kl_expr **out, const struct kl_contract *contract,
			   struct kl_node node)
{
	const struct kl_expr_names names = kl_contract_names(contract);
	const struct kl_dims *dims;
	const char *text;
	char id[32];
	size_t at;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	if (kl_expr_parse(out, text, &names, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(node, at);
	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t value;

		if (kl_expr_eval(&value, *out, dims->v) < 0)
			return kl_node_error(node, "'%s' at %s: %s", node.what, id,
					     kl_error_last());
		if (value < 0)
			return kl_node_error(node, "'%s' at %s is %lld", node.what, id,
					     (long long)value);
	}
	return 0;
}

static int read_floor(struct kl_contract *contract, struct kl_node node)
{
	static const char *const known[] = { "bytes", "flops", NULL };
	struct kl_node bytes, flops;
	int err;

	contract->floor.bytes_auto = true;
	if (!node.y)
		return 0;
	if ((err = kl_node_keys(node, known, 0)) < 0)
		return err;
	bytes = kl_node_get(node, "bytes");
	flops = kl_node_get(node, "flops");
	if (bytes.y && (bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "auto"))) {
		contract->floor.bytes_auto = false;
		if ((bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "none")) &&
		    (err = read_floor_expr(&contract->floor.bytes, contract, bytes)) < 0)
			return err;
	}
	if (flops.y && (flops.y->kind != KL_YAML_SCALAR || strcmp(flops.y->text, "none")))
		return read_floor_expr(&contract->floor.flops, contract, flops);
	return 0;
}

static int read_limits(struct kl_contract *contract, struct kl_node node)
{
	static const char *const known[] = { "arena_mib", "call_s", NULL };
	struct kl_node arena, call;
	int err;

	contract->arena_mib = 256;
	contract->call_s = 10;
	if (!node.y)
		return 0;
	if ((err = kl_node_keys(node, known, 0)) < 0)
		return err;
	arena = kl_node_get(node, "arena_mib");
	call = kl_node_get(node, "call_s");
	if (arena.y && (err = kl_node_int(&contract->arena_mib, arena, 1, 65536)) < 0)
		return err;
	return call.y ? kl_node_int(&contract->call_s, call, 1, 600) : 0;
}

static int read_head(struct kl_contract *contract, struct kl_node top)
{
	static const char *const known[] = {
		"klineage", "workload",      "case",     "surface", "args",   "oracle",
		"accept",   "domain",        "cases",    "also",    "exact",  "bands",
		"sweep",    "deterministic", "baseline", "floor",   "limits", NULL
	};
	struct kl_node version = kl_node_get(top, "klineage");
	const char *slug;
	int64_t value;
	int err;

	/* A later version may have keys we do not know: its number goes first. */
	if (top.y->kind == KL_YAML_MAP && version.y) {
		if ((err = kl_node_int(&value, version, 1, INT64_MAX)) < 0)
			return err;
		if (value != 1)
			return kl_node_error(version,
					     "contract version %lld is not known here (1 is)",
					     (long long)value);
	}
	if ((err = kl_node_keys(top, known, 7)) < 0 ||
	    (err = kl_node_slug(&slug, kl_node_get(top, "workload"))) < 0)
		return err;
	contract->workload = kl_strdup(slug);
	return 0;
}

static int read_tail(struct kl_contract *contract, struct kl_node top)
{
	struct kl_node deterministic = kl_node_get(top, "deterministic");
	struct kl_node baseline = kl_node_get(top, "baseline");
	int which, err;

	contract->deterministic = true;
	if (deterministic.y && (err = kl_node_bool(&contract->deterministic, deterministic)) < 0)
		return err;
	if (baseline.y) {
		const char *const *known = contract->language->baselines;

		if ((err = kl_node_choice(&which, baseline, known)) < 0)
			return err;
		contract->baseline = kl_strdup(known[which]);
	}
	if ((err = read_floor(contract, kl_node_get(top, "floor"))) < 0)
		return err;
	return read_limits(contract, kl_node_get(top, "limits"));
}

int kl_contract_parse_in(struct kl_contract **out, const struct kl_languages *known,
			 const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = kl_calloc(1, sizeof(*contract));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct kl_node top;
	int err;

	contract->name = kl_strdup(name);
	contract->known = known;
	if (len > KL_CONTRACT_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: larger than %d KiB", name,
				KL_CONTRACT_MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&node, name, text, len)) < 0)
		return err;
	top = (struct kl_node){ name, node, "contract" };
	if ((err = read_head(contract, top)) < 0 ||
	    (err = kl_contract_points_read(contract, top)) < 0 ||
	    (err = kl_contract_surface_read(contract, kl_node_get(top, "surface"))) < 0 ||
	    (err = kl_contract_args_read(contract, top)) < 0 ||
	    (err = kl_contract_oracle_read(contract, kl_node_get(top, "oracle"))) < 0 ||
	    (err = kl_contract_accept_read(contract, top)) < 0 ||
	    (err = kl_contract_bands_read(contract, top)) < 0 ||
	    (err = read_tail(contract, top)) < 0)
		return err;
	*out = kl_steal(&contract);
	return 0;
}

int kl_contract_parse(struct kl_contract **out, const char *name, const char *text, size_t len)
{
	return kl_contract_parse_in(out, &kl_languages, name, text, len);
}

void kl_contract_free(struct kl_contract *contract)
{
	if (!contract)
		return;
	free(contract->name);
	free(contract->workload);
	free(contract->op);
	for (size_t i = 0; i < KL_MAX_DIMS; i++)
		free(contract->dim_name[i]);
	free(contract->entry);
	free(contract->launch);
	free(contract->arch);
	free(contract->std);
	kl_strvec_release(&contract->sources);
	kl_strvec_release(&contract->flags);
	kl_strvec_release(&contract->headers);
	for (size_t i = 0; i < KL_MAX_ARGS; i++) {
		free(contract->arg[i].name);
		for (size_t first = 0; first < KL_MAX_AXES; first++)
			kl_expr_free(contract->arg[i].shape[first]);
		json_decref(contract->arg[i].fill);
	}
	for (size_t i = 0; i < contract->ndomain; i++) {
		kl_expr_free(contract->domain[i]);
		free(contract->domain_text[i]);
	}
	free(contract->domain);
	free(contract->domain_text);
	free(contract->perf);
	free(contract->also);
	kl_strvec_release(&contract->oracle_sources);
	free(contract->oracle_entry);
	free(contract->oracle_launch);
	json_decref(contract->accept);
	json_decref(contract->exact);
	json_decref(contract->bands);
	free(contract->baseline);
	kl_expr_free(contract->floor.bytes);
	kl_expr_free(contract->floor.flops);
	free(contract);
}
