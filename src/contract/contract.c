/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/contract.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/parts.h"
#include "contract/todo.h"

static int read_version(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	const struct kl_field number = KL_INT_FIELD(field->key, KL_LOOSE, 0, 1, 0);
	int64_t version;
	int err = kl_schema_read_value(&version, file, &number, node);

	if (!err && version != 1)
		return kl_yaml_error(file, node,
				     "unsupported version %lld of the contract (supported: 1)",
				     (long long)version);
	return err;
}

static int read_baseline(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	const char *const *known = contract->language->baselines;
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, known);
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (err < 0)
		return err;
	if (kl_contract_arg(contract, KL_RETURNED) >= 0)
		return kl_yaml_error(file, node, "'%s' returns no value, so it cannot be compared",
				     known[which]);
	contract->baseline = kl_strdup(known[which]);
	return 0;
}

static const struct kl_value_type version_value = { .read = read_version };
static const struct kl_value_type baseline_value = { .read = read_baseline };

/* --- reading `floor` ------------------------------------------------------------- */

static bool is_word(const struct kl_yaml *node, const char *word)
{
	return node->kind == KL_YAML_SCALAR && !strcmp(node->text, word);
}

static int read_floor(struct kl_expr **out, const struct kl_contract *contract,
		      const struct kl_field *field, const struct kl_yaml *node)
{
	KL_AUTO(kl_freep) char *what = kl_asprintf("'%s'", field->key);
	int err;

	if (is_word(node, "none"))
		return 0;
	err = kl_contract_expr_read(out, contract, field, node, KL_EXPR_NUMBER);
	return err < 0 ? err : kl_contract_expr_check(*out, contract, node, what, 0, INT64_MAX);
}

static int read_bytes(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;

	contract->floor.bytes_auto = is_word(node, "auto");
	return contract->floor.bytes_auto ?
		       0 :
		       read_floor(&contract->floor.bytes, contract, field, node);
}

static int read_flops(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;

	return read_floor(&contract->floor.flops, contract, field, node);
}

static const struct kl_value_type bytes_value = { .read = read_bytes };
static const struct kl_value_type flops_value = { .read = read_flops };

/* --- reading `paths` ------------------------------------------------------------- */

static int read_paths(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	static const char *const words[] = { "contract", "repository", NULL };
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, words);
	bool *from_top = at;
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (!err)
		*from_top = which == 1;
	return err;
}

static const struct kl_value_type paths_value = { .read = read_paths };

/* --- reading `values` ------------------------------------------------------------ */

static int read_policy(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, kl_value_policies);
	bool *undefined = at;
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (!err)
		*undefined = which == 1;
	return err;
}

static const struct kl_value_type policy_value = { .read = read_policy };

/* --- tables of the keys of a contract --------------------------------------------- */

#define AT(m) offsetof(struct kl_contract, m)
static const struct kl_field floor_fields[] = {
	KL_VALUE_FIELD("bytes", KL_LOOSE, 0, &bytes_value),
	KL_VALUE_FIELD("flops", KL_LOOSE, 0, &flops_value),
	KL_FIELDS_END,
};
static const struct kl_schema floor_schema = {
	"'floor'", sizeof(struct kl_contract), floor_fields, NULL, NULL, NULL,
};

static const struct kl_field values_fields[] = {
	KL_VALUE_FIELD("nan", 0, AT(values.undefined[KL_VALUE_NAN]), &policy_value),
	KL_VALUE_FIELD("inf", 0, AT(values.undefined[KL_VALUE_INF]), &policy_value),
	KL_VALUE_FIELD("denormal", 0, AT(values.undefined[KL_VALUE_DENORMAL]), &policy_value),
	KL_FIELDS_END,
};
static const struct kl_schema values_schema = {
	"'values'", sizeof(struct kl_contract), values_fields, NULL, NULL, NULL,
};

static const struct kl_field limits_fields[] = {
	KL_INT_FIELD("arena_mib", KL_LOOSE, AT(arena_mib), 1, 65536),
	KL_INT_FIELD("call_s", KL_LOOSE, AT(call_s), 1, 600),
	KL_FIELDS_END,
};
static const struct kl_schema limits_schema = {
	"'limits'", sizeof(struct kl_contract), limits_fields, NULL, NULL, NULL,
};

static const struct kl_field contract_fields[] = {
	/*
	 * read the version first, so that a contract of a later version is not refused for an
	 * unknown key
	 */
	KL_VALUE_FIELD("klineage", KL_NEEDED, 0, &version_value),
	KL_STRING_FIELD("workload", KL_NEEDED | KL_LOOSE, AT(workload), &kl_string_slug),
	KL_VALUE_FIELD("paths", 0, AT(from_top), &paths_value),
	KL_GROUP_FIELD("case", KL_NEEDED, 0, &kl_contract_case),
	KL_VALUES_FIELD("domain", 0, 0, &kl_contract_domain, 0, KL_MAX_DOMAIN),
	KL_VALUES_FIELD("cases", 0, 0, &kl_contract_cases, 1, KL_MAX_PERF),
	KL_VALUES_FIELD("also", 0, 0, &kl_contract_also, 0, KL_MAX_ALSO),
	KL_VALUE_FIELD("surface", KL_NEEDED, 0, &kl_contract_surface),
	KL_VALUES_FIELD("args", KL_NEEDED, 0, &kl_contract_args, 1, KL_MAX_ARGS),
	KL_VALUE_FIELD("returns", 0, 0, &kl_contract_returns),
	KL_VALUES_FIELD("sweep", 0, 0, &kl_contract_sweep, 0, KL_MAX_ARGS),
	KL_VALUE_FIELD("oracle", KL_NEEDED, 0, &kl_contract_oracle),
	KL_VALUE_FIELD("adapter", 0, 0, &kl_contract_adapter),
	KL_VALUES_FIELD("prepares", 0, 0, &kl_contract_prepares, 1, KL_PREPARES_MAX),
	KL_VALUES_FIELD("accept", KL_NEEDED, 0, &kl_contract_accept, 1, KL_MAX_ARGS),
	KL_VALUES_FIELD("exact", 0, 0, &kl_contract_exact, 0, KL_MAX_BANDS),
	KL_VALUES_FIELD("bands", 0, 0, &kl_contract_bands, 0, KL_MAX_BANDS),
	KL_GROUP_FIELD("values", 0, 0, &values_schema),
	KL_BOOL_FIELD("deterministic", 0, AT(deterministic)),
	KL_VALUE_FIELD("baseline", 0, 0, &baseline_value),
	KL_GROUP_FIELD("floor", 0, 0, &floor_schema),
	KL_GROUP_FIELD("limits", 0, 0, &limits_schema),
	KL_FIELDS_END,
};
#undef AT
static const struct kl_schema contract_schema = {
	"the contract", sizeof(struct kl_contract), contract_fields, NULL, NULL, NULL,
};

/* --- parsing a contract ----------------------------------------------------------- */

/*
 * Add a hint with all lines that have TODO to an error, since the parser stops at the first of
 * them.
 */
static int hint_todo(int err, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *whole = kl_strndup(text, len);
	KL_AUTO(kl_todo_release) struct kl_todo todo = KL_TODO_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;

	kl_todo_find(&todo, whole);
	for (size_t i = 0; i < todo.line.n; i++)
		kl_buf_addf(&lines, "%s%.*s", i ? ", " : "", (int)strcspn(todo.line.v[i], ":"),
			    todo.line.v[i]);
	if (!todo.n)
		return err;
	return kl_error_hint(err, "fill in all places marked TODO: %s %s",
			     todo.line.n > 1 ? "lines" : "line", lines.ptr);
}

int kl_contract_parse_in(struct kl_contract **out, const struct kl_languages *known,
			 const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = kl_calloc(1, sizeof(*contract));
	int err;

	if (len > KL_CONTRACT_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s:1:1: the contract is larger than %d KiB", name,
				KL_CONTRACT_MAX_BYTES / 1024);
	contract->name = kl_strdup(name);
	contract->known = known;
	contract->accept = json_array();
	contract->exact = json_array();
	contract->bands = json_array();
	contract->deterministic = true;
	contract->floor.bytes_auto = true;
	contract->arena_mib = 256;
	contract->call_s = 10;
	if ((err = kl_schema_parse(contract, &contract_schema, name, text, len)) < 0)
		return hint_todo(err, text, len);
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
	kl_schema_release(contract, &contract_schema);
	kl_expr_free(contract->floor.bytes);
	kl_expr_free(contract->floor.flops);
	free(contract->baseline);
	free(contract->name);
	free(contract);
}

/* --- places of contracts ---------------------------------------------------------- */

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool kl_contract_place_is_file(const char *place)
{
	const char *leaf = leaf_of(place);
	size_t n = strlen(leaf), suffix = sizeof(KL_CONTRACT_SUFFIX) - 1;

	return n > suffix && !strcmp(leaf + n - suffix, KL_CONTRACT_SUFFIX);
}

char *kl_contract_place_path(const char *place)
{
	return kl_contract_place_is_file(place) ? kl_strdup(place) :
						  kl_fs_join(place, KL_CONTRACT_FILE);
}

char *kl_contract_place_dir(const char *place)
{
	const char *leaf = leaf_of(place);

	if (!kl_contract_place_is_file(place))
		return kl_strdup(place);
	return leaf == place ? kl_strdup("") : kl_strndup(place, (size_t)(leaf - place) - 1);
}

char *kl_contract_place_of(const char *path)
{
	const char *leaf = leaf_of(path);

	if (kl_contract_place_is_file(path))
		return kl_strdup(path);
	if (strcmp(leaf, KL_CONTRACT_FILE))
		return NULL;
	return leaf == path ? kl_strdup("") : kl_strndup(path, (size_t)(leaf - path) - 1);
}
