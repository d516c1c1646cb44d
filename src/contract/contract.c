/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/contract.h"

#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

static int read_floor_expr(struct kl_expr **out, const struct kl_contract *c, struct kl_node n)
{
	const struct kl_expr_names names = kl_contract_names(c);
	const struct kl_dims *d;
	const char *text;
	char id[32];
	size_t at;
	int err = kl_node_text(&text, n);

	if (err < 0)
		return err;
	if (kl_expr_parse(out, text, &names, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(n, at);
	for (size_t i = 0; (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t v;

		if (kl_expr_eval(&v, *out, d->v) < 0)
			return kl_node_error(n, "'%s' at %s: %s", n.what, id, kl_error_last());
		if (v < 0)
			return kl_node_error(n, "'%s' at %s is %lld", n.what, id, (long long)v);
	}
	return 0;
}

static int read_floor(struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "bytes", "flops", NULL };
	struct kl_node bytes, flops;
	int err;

	c->floor.bytes_auto = true;
	if (!n.y)
		return 0;
	if ((err = kl_node_keys(n, known, 0)) < 0)
		return err;
	bytes = kl_node_get(n, "bytes");
	flops = kl_node_get(n, "flops");
	if (bytes.y && (bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "auto"))) {
		c->floor.bytes_auto = false;
		if ((bytes.y->kind != KL_YAML_SCALAR || strcmp(bytes.y->text, "none")) &&
		    (err = read_floor_expr(&c->floor.bytes, c, bytes)) < 0)
			return err;
	}
	if (flops.y && (flops.y->kind != KL_YAML_SCALAR || strcmp(flops.y->text, "none")))
		return read_floor_expr(&c->floor.flops, c, flops);
	return 0;
}

static int read_limits(struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "arena_mib", "call_s", NULL };
	struct kl_node arena, call;
	int err;

	c->arena_mib = 256;
	c->call_s = 10;
	if (!n.y)
		return 0;
	if ((err = kl_node_keys(n, known, 0)) < 0)
		return err;
	arena = kl_node_get(n, "arena_mib");
	call = kl_node_get(n, "call_s");
	if (arena.y && (err = kl_node_int(&c->arena_mib, arena, 1, 65536)) < 0)
		return err;
	return call.y ? kl_node_int(&c->call_s, call, 1, 600) : 0;
}

static int read_head(struct kl_contract *c, struct kl_node top)
{
	static const char *const known[] = {
		"klineage", "workload",      "case",     "surface", "args",   "oracle",
		"accept",   "domain",        "cases",    "also",    "exact",  "bands",
		"sweep",    "deterministic", "baseline", "floor",   "limits", NULL
	};
	struct kl_node version = kl_node_get(top, "klineage");
	const char *slug;
	int64_t v;
	int err;

	/* A later version may have keys we do not know: its number goes first. */
	if (top.y->kind == KL_YAML_MAP && version.y) {
		if ((err = kl_node_int(&v, version, 1, INT64_MAX)) < 0)
			return err;
		if (v != 1)
			return kl_node_error(version,
					     "contract version %lld is not known here (1 is)",
					     (long long)v);
	}
	if ((err = kl_node_keys(top, known, 7)) < 0 ||
	    (err = kl_node_slug(&slug, kl_node_get(top, "workload"))) < 0)
		return err;
	c->workload = kl_strdup(slug);
	return 0;
}

static int read_tail(struct kl_contract *c, struct kl_node top)
{
	struct kl_node deterministic = kl_node_get(top, "deterministic");
	struct kl_node baseline = kl_node_get(top, "baseline");
	int which, err;

	c->deterministic = true;
	if (deterministic.y && (err = kl_node_bool(&c->deterministic, deterministic)) < 0)
		return err;
	if (baseline.y) {
		const char *const *known = c->language->baselines;

		if ((err = kl_node_choice(&which, baseline, known)) < 0)
			return err;
		c->baseline = kl_strdup(known[which]);
	}
	if ((err = read_floor(c, kl_node_get(top, "floor"))) < 0)
		return err;
	return read_limits(c, kl_node_get(top, "limits"));
}

int kl_contract_parse_in(struct kl_contract **out, const struct kl_languages *known,
			 const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *c = kl_calloc(1, sizeof(*c));
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct kl_node top;
	int err;

	c->name = kl_strdup(name);
	c->known = known;
	if (len > KL_CONTRACT_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: larger than %d KiB", name,
				KL_CONTRACT_MAX_BYTES / 1024);
	if ((err = kl_yaml_parse(&y, name, text, len)) < 0)
		return err;
	top = (struct kl_node){ name, y, "contract" };
	if ((err = read_head(c, top)) < 0 || (err = kl_contract_points_read(c, top)) < 0 ||
	    (err = kl_contract_surface_read(c, kl_node_get(top, "surface"))) < 0 ||
	    (err = kl_contract_args_read(c, top)) < 0 ||
	    (err = kl_contract_oracle_read(c, kl_node_get(top, "oracle"))) < 0 ||
	    (err = kl_contract_accept_read(c, top)) < 0 ||
	    (err = kl_contract_bands_read(c, top)) < 0 || (err = read_tail(c, top)) < 0)
		return err;
	*out = kl_steal(&c);
	return 0;
}

int kl_contract_parse(struct kl_contract **out, const char *name, const char *text, size_t len)
{
	return kl_contract_parse_in(out, &kl_languages, name, text, len);
}

void kl_contract_free(struct kl_contract *c)
{
	if (!c)
		return;
	free(c->name);
	free(c->workload);
	free(c->op);
	for (size_t i = 0; i < KL_MAX_DIMS; i++)
		free(c->dim_name[i]);
	free(c->entry);
	free(c->launch);
	free(c->arch);
	free(c->std);
	kl_strvec_release(&c->sources);
	kl_strvec_release(&c->flags);
	kl_strvec_release(&c->headers);
	for (size_t i = 0; i < KL_MAX_ARGS; i++) {
		free(c->arg[i].name);
		free(c->arg[i].dtype);
		for (size_t a = 0; a < KL_MAX_AXES; a++)
			kl_expr_free(c->arg[i].shape[a]);
		json_decref(c->arg[i].fill);
	}
	for (size_t i = 0; i < c->ndomain; i++) {
		kl_expr_free(c->domain[i]);
		free(c->domain_text[i]);
	}
	free(c->domain);
	free(c->domain_text);
	free(c->perf);
	free(c->also);
	kl_strvec_release(&c->oracle_sources);
	free(c->oracle_entry);
	free(c->oracle_launch);
	json_decref(c->accept);
	json_decref(c->exact);
	json_decref(c->bands);
	free(c->baseline);
	kl_expr_free(c->floor.bytes);
	kl_expr_free(c->floor.flops);
	free(c);
}
