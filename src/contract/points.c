/* SPDX-License-Identifier: Apache-2.0 */
/* points - reads a contract's case, domain, performance cases and `also` points */

#include "base/error.h"
#include "contract/parts.h"
#include "text/name.h"

#define MAX_DIM (1LL << 40)

/* --- reading and checking expressions --------------------------------------------- */

int kl_contract_expr_read(struct kl_expr **out, const struct kl_contract *contract,
			  const struct kl_field *field, const struct kl_yaml *node,
			  enum kl_expr_type type)
{
	const struct kl_expr_names names = kl_contract_names(contract);
	const char *text;
	size_t at;
	int err = kl_schema_read_text(&text, contract->name, field, node);

	if (err < 0)
		return err;
	if (kl_expr_parse(out, text, &names, type, &at) < 0)
		return kl_yaml_error_inside(contract->name, node, at);
	return 0;
}

int kl_contract_expr_check(const struct kl_expr *expr, const struct kl_contract *contract,
			   const struct kl_yaml *node, const char *what, int64_t min, int64_t max)
{
	const struct kl_dims *dims;
	char id[32];

	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t value;

		if (kl_expr_eval(&value, expr, dims->v) < 0)
			return kl_yaml_error(contract->name, node, "%s at %s: %s", what, id,
					     kl_error_last());
		if (value < min)
			return kl_yaml_error(contract->name, node,
					     "%s at %s is %lld, but must be at least %lld", what,
					     id, (long long)value, (long long)min);
		if (value > max)
			return kl_yaml_error(contract->name, node,
					     "%s at %s is %lld, but must be at most %lld", what, id,
					     (long long)value, (long long)max);
	}
	return 0;
}

/* --- reading `case` ---------------------------------------------------------------- */

static void only_case(struct kl_contract *contract)
{
	contract->perf = kl_calloc(1, sizeof(*contract->perf));
	contract->perf[0].dims = contract->dims;
	contract->perf[0].weight = 1;
	contract->nperf = 1;
}

static int read_dims(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		const struct kl_field dim = KL_INT_FIELD(node->key[i], KL_LOOSE, 0, 1, MAX_DIM);

		if (!kl_name_is_ident(dim.key))
			return kl_yaml_key_error(
				file, node, i,
				"dim '%.64s' is not a C identifier of at most 63 bytes", dim.key);
		contract->dim_name[i] = kl_strdup(dim.key);
		contract->dims.n++;
		err = kl_schema_read_value(&contract->dims.v[i], file, &dim, node->item[i]);
	}
	if (!err)
		only_case(contract);
	return err;
}

static void free_dims(void *at)
{
	struct kl_contract *contract = at;

	for (size_t i = 0; i < contract->dims.n; i++)
		free(contract->dim_name[i]);
}

static const struct kl_value_type dims_value = { .read = read_dims, .release = free_dims };

static const struct kl_field case_fields[] = {
	KL_STRING_FIELD("op", KL_NEEDED | KL_LOOSE, offsetof(struct kl_contract, op),
			&kl_string_slug),
	KL_VALUES_FIELD("dims", KL_NEEDED, 0, &dims_value, 1, KL_MAX_DIMS),
	KL_FIELDS_END,
};
const struct kl_schema kl_contract_case = {
	"'case'", sizeof(struct kl_contract), case_fields, NULL, NULL, NULL,
};

/* --- reading `domain` -------------------------------------------------------------- */

static int read_condition(struct kl_contract *contract, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	struct kl_expr **expr = &contract->domain[contract->ndomain];
	int err = kl_contract_expr_read(expr, contract, field, node, KL_EXPR_TRUTH);

	if (!err)
		contract->domain_text[contract->ndomain++] = kl_strdup(node->text);
	return err;
}

static int read_domain(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	contract->domain = kl_calloc(node->n + 1, sizeof(*contract->domain));
	contract->domain_text = kl_calloc(node->n + 1, sizeof(*contract->domain_text));
	for (size_t i = 0; i < node->n; i++)
		if ((err = read_condition(contract, field, node->item[i])) < 0)
			return err;
	if (kl_contract_in_domain(contract, &contract->dims) < 0)
		return kl_yaml_error(file, kl_yaml_get(kl_yaml_get(node->up, "case"), "dims"), "%s",
				     kl_error_last());
	return 0;
}

static void free_domain(void *at)
{
	struct kl_contract *contract = at;

	for (size_t i = 0; i < contract->ndomain; i++) {
		kl_expr_free(contract->domain[i]);
		free(contract->domain_text[i]);
	}
	free(contract->domain);
	free(contract->domain_text);
}

const struct kl_value_type kl_contract_domain = { .read = read_domain, .release = free_domain };

/* --- reading `cases` and `also` ---------------------------------------------------- */

/* Read a point: a value for each dim of the contract. It must lie inside the domain. */
static int read_point(struct kl_dims *out, const struct kl_contract *contract,
		      const struct kl_yaml *node, int64_t min)
{
	struct kl_field fields[KL_MAX_DIMS + 1] = { KL_FIELDS_END };
	const struct kl_schema schema = { "a point", sizeof(*out), fields, NULL, NULL, NULL };
	int err;

	for (size_t i = 0; i < contract->dims.n; i++)
		fields[i] = (struct kl_field)KL_INT_FIELD(
			contract->dim_name[i], KL_NEEDED | KL_LOOSE,
			offsetof(struct kl_dims, v) + i * sizeof(*out->v), min, MAX_DIM);
	out->n = contract->dims.n;
	if ((err = kl_schema_read(out, &schema, contract->name, node)) < 0)
		return err;
	if (kl_contract_in_domain(contract, out) < 0)
		return kl_yaml_error(contract->name, node, "%s", kl_error_last());
	return 0;
}

/* A performance case as written in the contract. */
struct timed {
	const struct kl_contract *contract;
	struct kl_dims dims;
	int64_t weight;
	int rank;
};

static int read_timed_dims(void *at, const char *file, const struct kl_field *field,
			   const struct kl_yaml *node)
{
	struct timed *timed = at;

	return read_point(&timed->dims, timed->contract, node, 1);
}

static const struct kl_value_type timed_dims_value = { .read = read_timed_dims };
static const char *const ranks[] = { "cold", "hot", NULL };

static const struct kl_field timed_fields[] = {
	KL_VALUE_FIELD("dims", KL_NEEDED, 0, &timed_dims_value),
	KL_INT_FIELD("weight", KL_LOOSE, offsetof(struct timed, weight), 1, 1000000),
	KL_WORD_FIELD("rank", 0, offsetof(struct timed, rank), ranks),
	KL_FIELDS_END,
};
static const struct kl_schema timed_schema = {
	"one of the cases", sizeof(struct timed), timed_fields, NULL, NULL, NULL,
};

static int read_cases(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	free(contract->perf);
	contract->perf = kl_calloc(node->n, sizeof(*contract->perf));
	contract->nperf = 0;
	for (size_t i = 0; i < node->n; i++) {
		struct timed timed = { .contract = contract, .weight = 1 };

		if ((err = kl_schema_read(&timed, &timed_schema, file, node->item[i])) < 0)
			return err;
		contract->perf[contract->nperf++] = (struct kl_perf_case){
			.dims = timed.dims,
			.weight = timed.weight,
			.hot = timed.rank == 1,
		};
	}
	return 0;
}

static void free_cases(void *at)
{
	struct kl_contract *contract = at;

	free(contract->perf);
}

const struct kl_value_type kl_contract_cases = { .read = read_cases, .release = free_cases };

static int read_also(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	contract->also = kl_calloc(node->n + 1, sizeof(*contract->also));
	for (size_t i = 0; i < node->n; i++, contract->nalso++)
		if ((err = read_point(&contract->also[i], contract, node->item[i], 0)) < 0)
			return err;
	return 0;
}

static void free_also(void *at)
{
	struct kl_contract *contract = at;

	free(contract->also);
}

const struct kl_value_type kl_contract_also = { .read = read_also, .release = free_also };
