/* SPDX-License-Identifier: Apache-2.0 */
/* points - parses a contract's case, domain, performance cases and further sizes */
#include <string.h>

#include "base/error.h"
#include "contract/parts.h"
#include "text/name.h"

#define MAX_DIM (1LL << 40)

static int read_case(struct kl_contract *contract, struct kl_node node)
{
	static const char *const known[] = { "op", "dims", NULL };
	struct kl_node dims;
	const char *op;
	int err;

	if ((err = kl_node_keys(node, known, 2)) < 0 ||
	    (err = kl_node_slug(&op, kl_node_get(node, "op"))) < 0)
		return err;
	contract->op = kl_strdup(op);
	dims = kl_node_get(node, "dims");
	if ((err = kl_node_map(dims, 1, KL_MAX_DIMS)) < 0)
		return err;
	for (size_t i = 0; i < dims.y->n; i++) {
		const char *key = dims.y->key[i];
		struct kl_node item = kl_node_item(dims, i);

		if (!kl_name_is_ident(key))
			return kl_yaml_key_error(
				contract->name, dims.y, i,
				"dim '%.64s' is no C identifier of at most 63 bytes", key);
		item.what = key;
		if ((err = kl_node_int(&contract->dims.v[i], item, 1, MAX_DIM)) < 0)
			return err;
		contract->dim_name[i] = kl_strdup(key);
		contract->dims.n++;
	}
	return 0;
}

static int find_dim(const struct kl_contract *contract, const char *name)
{
	for (size_t i = 0; i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], name))
			return (int)i;
	return -1;
}

/* A value for each dim, inside the domain. */
static int read_point(struct kl_dims *out, const struct kl_contract *contract, struct kl_node node,
		      int64_t min)
{
	struct kl_dims dims = { .n = contract->dims.n };
	int err = kl_node_map(node, 0, KL_MAX_DIMS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		int k = find_dim(contract, node.y->key[i]);

		if (k < 0)
			return kl_yaml_key_error(contract->name, node.y, i,
						 "'%.64s' is not a dim of the case",
						 node.y->key[i]);
		item.what = node.y->key[i];
		if ((err = kl_node_int(&dims.v[k], item, min, MAX_DIM)) < 0)
			return err;
	}
	for (size_t k = 0; k < contract->dims.n; k++)
		if (!kl_yaml_get(node.y, contract->dim_name[k]))
			return kl_node_error(node, "dim '%s' is missing", contract->dim_name[k]);
	if (kl_contract_in_domain(contract, &dims) < 0)
		return kl_node_error(node, "%s", kl_error_last());
	*out = dims;
	return 0;
}

static int read_domain(struct kl_contract *contract, struct kl_node node)
{
	const struct kl_expr_names names = kl_contract_names(contract);
	int err;

	if (!node.y)
		return 0;
	if ((err = kl_node_list(node, 0, KL_MAX_DOMAIN)) < 0)
		return err;
	contract->domain = kl_calloc(node.y->n + 1, sizeof(*contract->domain));
	contract->domain_text = kl_calloc(node.y->n + 1, sizeof(*contract->domain_text));
	for (size_t i = 0; i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		const char *text;
		size_t at;

		if ((err = kl_node_text(&text, item)) < 0)
			return err;
		if (kl_expr_parse(&contract->domain[i], text, &names, KL_EXPR_TRUTH, &at) < 0)
			return kl_node_error_at(item, at);
		contract->domain_text[i] = kl_strdup(text);
		contract->ndomain++;
	}
	return 0;
}

static int read_perf(struct kl_perf_case *out, const struct kl_contract *contract,
		     struct kl_node node)
{
	static const char *const known[] = { "dims", "weight", "rank", NULL };
	static const char *const ranks[] = { "cold", "hot", NULL };
	struct kl_node weight, rank;
	int which = 0, err;

	if ((err = kl_node_keys(node, known, 1)) < 0 ||
	    (err = read_point(&out->dims, contract, kl_node_get(node, "dims"), 1)) < 0)
		return err;
	weight = kl_node_get(node, "weight");
	rank = kl_node_get(node, "rank");
	out->weight = 1;
	if (weight.y && (err = kl_node_int(&out->weight, weight, 1, 1000000)) < 0)
		return err;
	if (rank.y && (err = kl_node_choice(&which, rank, ranks)) < 0)
		return err;
	out->hot = which == 1;
	return 0;
}

static int read_perfs(struct kl_contract *contract, struct kl_node node)
{
	int err;

	if (!node.y) {
		contract->perf = kl_calloc(1, sizeof(*contract->perf));
		contract->perf[0].dims = contract->dims;
		contract->perf[0].weight = 1;
		contract->nperf = 1;
		return 0;
	}
	if ((err = kl_node_list(node, 1, KL_MAX_PERF)) < 0)
		return err;
	contract->perf = kl_calloc(node.y->n, sizeof(*contract->perf));
	for (size_t i = 0; i < node.y->n; i++, contract->nperf++)
		if ((err = read_perf(&contract->perf[i], contract, kl_node_item(node, i))) < 0)
			return err;
	return 0;
}

static int read_also(struct kl_contract *contract, struct kl_node node)
{
	int err;

	if (!node.y)
		return 0;
	if ((err = kl_node_list(node, 0, KL_MAX_ALSO)) < 0)
		return err;
	contract->also = kl_calloc(node.y->n + 1, sizeof(*contract->also));
	for (size_t i = 0; i < node.y->n; i++, contract->nalso++)
		if ((err = read_point(&contract->also[i], contract, kl_node_item(node, i), 0)) < 0)
			return err;
	return 0;
}

int kl_contract_points_read(struct kl_contract *contract, struct kl_node top)
{
	struct kl_node the_case = kl_node_get(top, "case");
	int err;

	if ((err = read_case(contract, the_case)) < 0 ||
	    (err = read_domain(contract, kl_node_get(top, "domain"))) < 0)
		return err;
	if (kl_contract_in_domain(contract, &contract->dims) < 0)
		return kl_node_error(kl_node_get(the_case, "dims"), "%s", kl_error_last());
	if ((err = read_perfs(contract, kl_node_get(top, "cases"))) < 0)
		return err;
	return read_also(contract, kl_node_get(top, "also"));
}
