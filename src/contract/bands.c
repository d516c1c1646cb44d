/* SPDX-License-Identifier: Apache-2.0 */
/* bands - reads a contract's bands, which fill inputs with other values: `exact` and `bands` */
#include "contract/parts.h"

static const char *const places[] = { "cases", "also", NULL };
enum { PLACE_NONE = -1, PLACE_CASES, PLACE_ALSO };

/* A band as written in the contract. */
struct band {
	const struct kl_contract *contract;
	json_t *json;
	int place;
	double must_exceed; /* 0 if absent */
};

static void band_release(struct band *band)
{
	json_decref(band->json);
}

static int read_band_fill(void *at, const char *file, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	struct band *band = at;
	const struct kl_contract *contract = band->contract;
	const struct kl_arg *arg = &contract->arg[kl_contract_arg(contract, field->key)];
	json_t *fill;
	int err = kl_contract_fill_read(&fill, contract, arg, field, node);

	if (!err)
		kl_json_set(band->json, arg->name, fill);
	return err;
}

static const struct kl_value_type band_fill_value = { .read = read_band_fill };

/* Make the table of the keys of a band: each input, `at` and, in `exact`, `must_exceed`. */
static void band_table(struct kl_field *fields, const struct kl_contract *contract, bool exact)
{
	size_t n = 0;

	for (size_t i = 0; i < contract->nargs; i++)
		if (contract->arg[i].fill)
			fields[n++] = (struct kl_field)KL_VALUE_FIELD(contract->arg[i].name, 0, 0,
								      &band_fill_value);
	fields[n++] = (struct kl_field)KL_WORD_FIELD("at", 0, offsetof(struct band, place), places);
	if (exact)
		fields[n++] = (struct kl_field)KL_DOUBLE_FIELD(
			"must_exceed", 0, offsetof(struct band, must_exceed), 1e-300, 1e300);
	fields[n] = (struct kl_field)KL_FIELDS_END;
}

static int read_band(json_t *out, const struct kl_contract *contract, const char *key, bool exact,
		     const struct kl_yaml *node)
{
	KL_AUTO(band_release) struct band band = { contract, json_object(), PLACE_NONE, 0 };
	KL_AUTO(kl_freep) char *what = kl_asprintf("a band of '%s'", key);
	struct kl_field fields[KL_MAX_ARGS + 3];
	const struct kl_schema schema = { what, sizeof(band), fields, NULL, NULL, NULL };
	const struct kl_field keys = KL_VALUES_FIELD(key, 0, 0, NULL, 1, KL_MAX_ARGS);
	const struct kl_yaml *must = kl_yaml_get(node, "must_exceed");
	int err = kl_schema_check_map(contract->name, &keys, node);

	if (err < 0)
		return err;
	if (must && !exact)
		return kl_yaml_error(contract->name, must,
				     "'must_exceed' is only allowed in a band of 'exact'");
	band_table(fields, contract, exact);
	if ((err = kl_schema_read(&band, &schema, contract->name, node)) < 0)
		return err;
	if (!json_object_size(band.json))
		return kl_yaml_error(contract->name, node, "%s must fill at least one input", what);
	if (must && band.place == PLACE_ALSO)
		return kl_yaml_error(
			contract->name, node,
			"'must_exceed' is checked at the cases, but this band is only at 'also'");
	if (band.place != PLACE_NONE)
		kl_json_set_str(band.json, "at", places[band.place]);
	if (must)
		kl_json_set_num(band.json, "must_exceed", band.must_exceed);
	json_array_append(out, band.json);
	return 0;
}

static int read_bands_of(json_t *out, const struct kl_contract *contract, bool exact,
			 const struct kl_field *field, const struct kl_yaml *node)
{
	int err = kl_schema_check_list(contract->name, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_band(out, contract, field->key, exact, node->item[i]);
	return err;
}

static int read_exact(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;

	return read_bands_of(contract->exact, contract, true, field, node);
}

static int read_bands(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;

	return read_bands_of(contract->bands, contract, false, field, node);
}

static void free_exact(void *at)
{
	struct kl_contract *contract = at;

	json_decref(contract->exact);
}

static void free_bands(void *at)
{
	struct kl_contract *contract = at;

	json_decref(contract->bands);
}

const struct kl_value_type kl_contract_exact = { .read = read_exact, .release = free_exact };
const struct kl_value_type kl_contract_bands = { .read = read_bands, .release = free_bands };
