/* SPDX-License-Identifier: Apache-2.0 */
/* points - parses a contract's case, domain, performance cases and further sizes */
#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

#define MAX_DIM (1LL << 40)

static int read_case(struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "op", "dims", NULL };
	struct kl_node dims;
	const char *op;
	int err;

	if ((err = kl_node_keys(n, known, 2)) < 0 ||
	    (err = kl_node_slug(&op, kl_node_get(n, "op"))) < 0)
		return err;
	c->op = kl_strdup(op);
	dims = kl_node_get(n, "dims");
	if ((err = kl_node_map(dims, 1, KL_MAX_DIMS)) < 0)
		return err;
	for (size_t i = 0; i < dims.y->n; i++) {
		const char *key = dims.y->key[i];
		struct kl_node item = kl_node_item(dims, i);

		if (!kl_node_is_ident(key))
			return kl_yaml_key_error(
				c->name, dims.y, i,
				"dim '%.64s' is no C identifier of at most 63 bytes", key);
		item.what = key;
		if ((err = kl_node_int(&c->dims.v[i], item, 1, MAX_DIM)) < 0)
			return err;
		c->dim_name[i] = kl_strdup(key);
		c->dims.n++;
	}
	return 0;
}

static int find_dim(const struct kl_contract *c, const char *name)
{
	for (size_t i = 0; i < c->dims.n; i++)
		if (!strcmp(c->dim_name[i], name))
			return (int)i;
	return -1;
}

/* A value for each dim, inside the domain. */
static int read_point(struct kl_dims *out, const struct kl_contract *c, struct kl_node n,
		      int64_t min)
{
	struct kl_dims d = { .n = c->dims.n };
	int err = kl_node_map(n, 0, KL_MAX_DIMS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		int k = find_dim(c, n.y->key[i]);

		if (k < 0)
			return kl_yaml_key_error(c->name, n.y, i,
						 "'%.64s' is not a dim of the case", n.y->key[i]);
		item.what = n.y->key[i];
		if ((err = kl_node_int(&d.v[k], item, min, MAX_DIM)) < 0)
			return err;
	}
	for (size_t k = 0; k < c->dims.n; k++)
		if (!kl_yaml_get(n.y, c->dim_name[k]))
			return kl_node_error(n, "dim '%s' is missing", c->dim_name[k]);
	if (kl_contract_in_domain(c, &d) < 0)
		return kl_node_error(n, "%s", kl_error_last());
	*out = d;
	return 0;
}

static int read_domain(struct kl_contract *c, struct kl_node n)
{
	const struct kl_expr_names names = kl_contract_names(c);
	int err;

	if (!n.y)
		return 0;
	if ((err = kl_node_list(n, 0, KL_MAX_DOMAIN)) < 0)
		return err;
	c->domain = kl_calloc(n.y->n + 1, sizeof(*c->domain));
	c->domain_text = kl_calloc(n.y->n + 1, sizeof(*c->domain_text));
	for (size_t i = 0; i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		const char *text;
		size_t at;

		if ((err = kl_node_text(&text, item)) < 0)
			return err;
		if (kl_expr_parse(&c->domain[i], text, &names, KL_EXPR_TRUTH, &at) < 0)
			return kl_node_error_at(item, at);
		c->domain_text[i] = kl_strdup(text);
		c->ndomain++;
	}
	return 0;
}

static int read_perf(struct kl_perf_case *out, const struct kl_contract *c, struct kl_node n)
{
	static const char *const known[] = { "dims", "weight", "rank", NULL };
	static const char *const ranks[] = { "cold", "hot", NULL };
	struct kl_node weight, rank;
	int which = 0, err;

	if ((err = kl_node_keys(n, known, 1)) < 0 ||
	    (err = read_point(&out->dims, c, kl_node_get(n, "dims"), 1)) < 0)
		return err;
	weight = kl_node_get(n, "weight");
	rank = kl_node_get(n, "rank");
	out->weight = 1;
	if (weight.y && (err = kl_node_int(&out->weight, weight, 1, 1000000)) < 0)
		return err;
	if (rank.y && (err = kl_node_choice(&which, rank, ranks)) < 0)
		return err;
	out->hot = which == 1;
	return 0;
}

static int read_perfs(struct kl_contract *c, struct kl_node n)
{
	int err;

	if (!n.y) {
		c->perf = kl_calloc(1, sizeof(*c->perf));
		c->perf[0].dims = c->dims;
		c->perf[0].weight = 1;
		c->nperf = 1;
		return 0;
	}
	if ((err = kl_node_list(n, 1, KL_MAX_PERF)) < 0)
		return err;
	c->perf = kl_calloc(n.y->n, sizeof(*c->perf));
	for (size_t i = 0; i < n.y->n; i++, c->nperf++)
		if ((err = read_perf(&c->perf[i], c, kl_node_item(n, i))) < 0)
			return err;
	return 0;
}

static int read_also(struct kl_contract *c, struct kl_node n)
{
	int err;

	if (!n.y)
		return 0;
	if ((err = kl_node_list(n, 0, KL_MAX_ALSO)) < 0)
		return err;
	c->also = kl_calloc(n.y->n + 1, sizeof(*c->also));
	for (size_t i = 0; i < n.y->n; i++, c->nalso++)
		if ((err = read_point(&c->also[i], c, kl_node_item(n, i), 0)) < 0)
			return err;
	return 0;
}

int kl_contract_points_read(struct kl_contract *c, struct kl_node top)
{
	struct kl_node the_case = kl_node_get(top, "case");
	int err;

	if ((err = read_case(c, the_case)) < 0 ||
	    (err = read_domain(c, kl_node_get(top, "domain"))) < 0)
		return err;
	if (kl_contract_in_domain(c, &c->dims) < 0)
		return kl_node_error(kl_node_get(the_case, "dims"), "%s", kl_error_last());
	if ((err = read_perfs(c, kl_node_get(top, "cases"))) < 0)
		return err;
	return read_also(c, kl_node_get(top, "also"));
}
