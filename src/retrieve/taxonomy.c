/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/taxonomy.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "card/card_types.h"
#include "text/schema.h"

#define MAX_FILE ((size_t)1 << 20)
#define MAX_OPS 4096
#define MAX_WORDS 64

void kl_taxonomy_free(struct kl_taxonomy *taxonomy)
{
	if (!taxonomy)
		return;
	for (size_t i = 0; i < taxonomy->nop; i++) {
		for (size_t k = 0; k < taxonomy->op[i].ndim; k++)
			free(taxonomy->op[i].dim[k].name);
		free(taxonomy->op[i].dim);
		free(taxonomy->op[i].name);
	}
	for (size_t i = 0; i < taxonomy->nplatform; i++) {
		kl_card_dims_value.release(&taxonomy->platform[i].numbers);
		free(taxonomy->platform[i].name);
	}
	free(taxonomy->op);
	free(taxonomy->platform);
	free(taxonomy->language_ppm);
	kl_map_release(&taxonomy->op_names);
	kl_strvec_release(&taxonomy->roles);
	kl_strvec_release(&taxonomy->languages);
	kl_strvec_release(&taxonomy->caps);
	free(taxonomy);
}

static int index_of(const struct kl_strvec *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], name))
			return (int)i;
	return -1;
}

int kl_taxonomy_role(const struct kl_taxonomy *taxonomy, const char *role)
{
	return index_of(&taxonomy->roles, role);
}

int kl_taxonomy_language(const struct kl_taxonomy *taxonomy, const char *name)
{
	return index_of(&taxonomy->languages, name);
}

int kl_taxonomy_cap(const struct kl_taxonomy *taxonomy, const char *name)
{
	return index_of(&taxonomy->caps, name);
}

int kl_taxonomy_op(const struct kl_taxonomy *taxonomy, const char *name)
{
	const struct kl_tax_op *op = kl_map_get(&taxonomy->op_names, name);

	return op ? (int)(op - taxonomy->op) : -1;
}

unsigned kl_taxonomy_roles(const struct kl_taxonomy *taxonomy, int op, const char *dim)
{
	for (; op >= 0; op = taxonomy->op[op].parent)
		for (size_t i = 0; i < taxonomy->op[op].ndim; i++)
			if (!strcmp(taxonomy->op[op].dim[i].name, dim))
				return taxonomy->op[op].dim[i].roles;
	return 0;
}

const struct kl_tax_platform *kl_taxonomy_platform(const struct kl_taxonomy *taxonomy,
						   const char *name)
{
	for (size_t i = 0; i < taxonomy->nplatform; i++)
		if (!strcmp(taxonomy->platform[i].name, name))
			return &taxonomy->platform[i];
	return NULL;
}

/* --- shared by the three files ---------------------------------------------------------------- */

/* Return the node at which to report an error: the value of a key, or item i of a list. */
static const struct kl_yaml *entry_at(const struct kl_yaml *map, const char *key, size_t i)
{
	const struct kl_yaml *value = kl_yaml_get(map, key);

	return value->kind == KL_YAML_SCALAR ? value : value->item[i];
}

static void copy_names(struct kl_strvec *out, const struct kl_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		kl_strvec_push(out, texts->v[i].name);
}

/* --- operators ------------------------------------------------------------------- */

/* The roles of each dim of an operator, in the order of the file. */
struct dim_rows {
	struct dim_row {
		char *name;
		struct kl_strvec roles;
	} * v;
	size_t n, alloc;
};

struct op_row {
	char *name, *text, *under;
	struct kl_strvec aka;
	struct dim_rows dims;
};

struct operators {
	struct {
		struct op_row *v;
		size_t n, alloc;
	} ops;
	struct kl_texts roles;
	int64_t version;
};

static int read_dims(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct dim_rows *dims = at;

	if (node->kind != KL_YAML_MAP || !node->n || node->n > MAX_WORDS)
		return kl_yaml_error(file, node, "'%s' must be a map of 1 to %d dims", field->key,
				     MAX_WORDS);
	for (size_t i = 0; i < node->n; i++) {
		const struct kl_field roles = { .key = node->key[i],
						.min = 1,
						.max = KL_TAX_ROLES,
						.string = &kl_string_line };
		int err;

		KL_GROW(dims->v, dims->n + 1, dims->alloc);
		dims->v[dims->n++] = (struct dim_row){ .name = kl_strdup(node->key[i]) };
		err = kl_schema_read_set(&dims->v[i].roles, file, &roles, node->item[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

static void release_dims(void *at)
{
	struct dim_rows *dims = at;

	for (size_t i = 0; i < dims->n; i++) {
		free(dims->v[i].name);
		kl_strvec_release(&dims->v[i].roles);
	}
	free(dims->v);
}

/* a taxonomy is never written or copied, so the callbacks `read` and `release` are enough */
static const struct kl_value_type dims_value = { .read = read_dims, .release = release_dims };

static const struct kl_field op_fields[] = {
#define AT(m) offsetof(struct op_row, m)
	KL_STRING_FIELD("name", KL_KEY, AT(name), &kl_string_slug),
	KL_STRING_FIELD("text", KL_NEEDED, AT(text), &kl_string_line),
	KL_STRING_FIELD("under", 0, AT(under), &kl_string_slug),
	KL_SET_FIELD("aka", 0, AT(aka), &kl_string_slug, 1, MAX_WORDS),
	KL_VALUE_FIELD("dims", 0, AT(dims), &dims_value),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema op_schema = {
	"an operator", sizeof(struct op_row), op_fields, NULL, NULL, NULL,
};

static const struct kl_field operators_fields[] = {
#define AT(m) offsetof(struct operators, m)
	KL_INT_FIELD("klineage-operators", KL_NEEDED, AT(version), 1, 1),
	{ .key = "roles",
	  .kind = KL_FIELD_VALUE,
	  .flags = KL_NEEDED,
	  .at = AT(roles),
	  .min = 1,
	  .max = KL_TAX_ROLES,
	  .value = &kl_texts_value },
	KL_MAP_FIELD("operators", KL_NEEDED, AT(ops), &op_schema, 1, MAX_OPS),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema operators_schema = {
	"the file", sizeof(struct operators), operators_fields, NULL, NULL, NULL,
};

static int add_name(struct kl_taxonomy *taxonomy, struct kl_tax_op *op, const char *name,
		    const char *file, const struct kl_yaml *node)
{
	if (kl_map_get(&taxonomy->op_names, name))
		return kl_yaml_error(file, node, "duplicate name '%.64s'", name);
	kl_map_put(&taxonomy->op_names, name, op);
	return 0;
}

static int add_dim(struct kl_tax_op *op, const struct kl_taxonomy *taxonomy,
		   const struct dim_row *row, const char *file, const struct kl_yaml *node)
{
	struct kl_tax_dim *dim = &op->dim[op->ndim++];

	dim->name = kl_strdup(row->name);
	for (size_t i = 0; i < row->roles.n; i++) {
		int role = kl_taxonomy_role(taxonomy, row->roles.v[i]);

		if (role < 0)
			return kl_yaml_error(file, node->item[i], "unknown role '%.40s'",
					     row->roles.v[i]);
		dim->roles |= 1u << role;
	}
	return 0;
}

static int add_op(struct kl_taxonomy *taxonomy, struct kl_tax_op *op, const struct op_row *row,
		  const char *file, const struct kl_yaml *node)
{
	int err;

	op->name = kl_strdup(row->name);
	op->parent = -1;
	op->depth = 2;
	if (row->under) {
		op->parent = kl_taxonomy_op(taxonomy, row->under);
		if (op->parent < 0)
			return kl_yaml_error(file, entry_at(node, "under", 0),
					     "unknown operator '%.64s' (an operator must be listed "
					     "before those under it)",
					     row->under);
		op->depth = taxonomy->op[op->parent].depth + 1;
	}
	err = add_name(taxonomy, op, row->name, file, node);
	for (size_t i = 0; !err && i < row->aka.n; i++)
		err = add_name(taxonomy, op, row->aka.v[i], file, entry_at(node, "aka", i));
	op->dim = kl_calloc(row->dims.n + 1, sizeof(*op->dim));
	for (size_t i = 0; !err && i < row->dims.n; i++)
		err = add_dim(op, taxonomy, &row->dims.v[i], file, entry_at(node, "dims", i));
	return err;
}

static int add_operators(struct kl_taxonomy *taxonomy, const void *rows, const char *file,
			 const struct kl_yaml *node)
{
	const struct operators *operators = rows;
	int err = 0;

	copy_names(&taxonomy->roles, &operators->roles);
	taxonomy->op = kl_calloc(operators->ops.n, sizeof(*taxonomy->op));
	for (size_t i = 0; !err && i < operators->ops.n; i++)
		err = add_op(taxonomy, &taxonomy->op[taxonomy->nop++], &operators->ops.v[i], file,
			     entry_at(node, "operators", i));
	return err;
}

/* --- languages -------------------------------------------------------------------- */

struct pair_row {
	struct kl_strvec of;
	int64_t similarity; /* millionths */
};

struct languages {
	struct {
		struct pair_row *v;
		size_t n, alloc;
	} pairs;
	struct kl_texts languages;
	int64_t version;
};

static const struct kl_field pair_fields[] = {
#define AT(m) offsetof(struct pair_row, m)
	KL_SET_FIELD("of", KL_NEEDED, AT(of), &kl_string_slug, 2, 2),
	KL_DECIMAL_FIELD("similarity", KL_NEEDED, AT(similarity), 0, 1000000), KL_FIELDS_END
#undef AT
};
static const struct kl_schema pair_schema = {
	"a pair", sizeof(struct pair_row), pair_fields, NULL, NULL, NULL,
};

static const struct kl_field languages_fields[] = {
#define AT(m) offsetof(struct languages, m)
	KL_INT_FIELD("klineage-languages", KL_NEEDED, AT(version), 1, 1),
	{ .key = "languages",
	  .kind = KL_FIELD_VALUE,
	  .flags = KL_NEEDED,
	  .at = AT(languages),
	  .min = 1,
	  .max = MAX_WORDS,
	  .value = &kl_texts_value },
	KL_LIST_FIELD("pairs", KL_NEEDED, AT(pairs), &pair_schema, 0, MAX_WORDS *MAX_WORDS),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema languages_schema = {
	"the file", sizeof(struct languages), languages_fields, NULL, NULL, NULL,
};

static int add_pair(struct kl_taxonomy *taxonomy, const struct pair_row *row, const char *file,
		    const struct kl_yaml *node)
{
	size_t n = taxonomy->languages.n, at[2];

	for (size_t i = 0; i < 2; i++) {
		int found = kl_taxonomy_language(taxonomy, row->of.v[i]);

		if (found < 0)
			return kl_yaml_error(file, entry_at(node, "of", i),
					     "unknown language '%.40s'", row->of.v[i]);
		at[i] = (size_t)found;
	}
	taxonomy->language_ppm[at[0] * n + at[1]] = row->similarity;
	taxonomy->language_ppm[at[1] * n + at[0]] = row->similarity;
	return 0;
}

static int add_languages(struct kl_taxonomy *taxonomy, const void *rows, const char *file,
			 const struct kl_yaml *node)
{
	const struct languages *languages = rows;
	size_t n = languages->languages.n;
	int err = 0;

	copy_names(&taxonomy->languages, &languages->languages);
	taxonomy->language_ppm = kl_calloc(n * n + 1, sizeof(*taxonomy->language_ppm));
	for (size_t i = 0; i < n; i++)
		taxonomy->language_ppm[i * n + i] = 1000000;
	for (size_t i = 0; !err && i < languages->pairs.n; i++)
		err = add_pair(taxonomy, &languages->pairs.v[i], file, entry_at(node, "pairs", i));
	return err;
}

/* --- capabilities ----------------------------------------------------------------- */

struct platform_row {
	char *name, *like;
	struct kl_strvec has, without;
	struct kl_card_dims numbers;
};

struct capabilities {
	struct {
		struct platform_row *v;
		size_t n, alloc;
	} platforms;
	struct kl_texts capabilities;
	int64_t version;
};

static const struct kl_field platform_fields[] = {
#define AT(m) offsetof(struct platform_row, m)
	KL_STRING_FIELD("name", KL_KEY, AT(name), &kl_string_path),
	KL_STRING_FIELD("like", 0, AT(like), &kl_string_path),
	KL_SET_FIELD("has", 0, AT(has), &kl_string_line, 1, KL_TAX_CAPS),
	KL_SET_FIELD("without", 0, AT(without), &kl_string_line, 1, KL_TAX_CAPS),
	KL_VALUE_FIELD("numbers", 0, AT(numbers), &kl_card_dims_value),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema platform_schema = {
	"a platform", sizeof(struct platform_row), platform_fields, NULL, NULL, NULL,
};

static const struct kl_field capabilities_fields[] = {
#define AT(m) offsetof(struct capabilities, m)
	KL_INT_FIELD("klineage-capabilities", KL_NEEDED, AT(version), 1, 1),
	{ .key = "capabilities",
	  .kind = KL_FIELD_VALUE,
	  .flags = KL_NEEDED,
	  .at = AT(capabilities),
	  .min = 1,
	  .max = KL_TAX_CAPS,
	  .value = &kl_texts_value },
	KL_MAP_FIELD("platforms", KL_NEEDED, AT(platforms), &platform_schema, 1, MAX_OPS),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema capabilities_schema = {
	"the file", sizeof(struct capabilities), capabilities_fields, NULL, NULL, NULL,
};

/*
 * Set or clear the capabilities in a list. Return KL_EINVALID if a capability already has the new
 * state.
 */
static int apply_caps(struct kl_capset *set, const struct kl_taxonomy *taxonomy,
		      const struct kl_strvec *caps, bool on, const char *file,
		      const struct kl_yaml *node)
{
	for (size_t i = 0; i < caps->n; i++) {
		const struct kl_yaml *at = entry_at(node, on ? "has" : "without", i);
		int cap = kl_taxonomy_cap(taxonomy, caps->v[i]);

		if (cap < 0)
			return kl_yaml_error(file, at, "unknown capability '%.40s'", caps->v[i]);
		if (kl_capset_has(set, cap) == on)
			return kl_yaml_error(file, at, "'%.40s' is already %s", caps->v[i],
					     on ? "present" : "absent");
		set->w[cap / 64] ^= (uint64_t)1 << cap % 64;
	}
	return 0;
}

static void put_number(struct kl_card_dims *numbers, const char *name, int64_t value)
{
	for (size_t i = 0; i < numbers->n; i++)
		if (!strcmp(numbers->v[i].name, name)) {
			numbers->v[i].v = value;
			return;
		}
	kl_card_dims_add(numbers, name, value);
}

static int add_platform(struct kl_taxonomy *taxonomy, const struct platform_row *row,
			const char *file, const struct kl_yaml *node)
{
	struct kl_tax_platform platform = { 0 };
	const struct kl_tax_platform *base;
	int err = 0;

	if (row->like) {
		base = kl_taxonomy_platform(taxonomy, row->like);
		if (!base)
			return kl_yaml_error(file, entry_at(node, "like", 0),
					     "unknown platform '%.40s' (a platform must be listed "
					     "before those that are like it)",
					     row->like);
		platform.has = base->has;
		kl_card_dims_copy(&platform.numbers, &base->numbers);
	}
	for (size_t i = 0; i < row->numbers.n; i++) {
		if (row->numbers.v[i].v < 0)
			err = kl_yaml_error(file, kl_yaml_get(node, "numbers"),
					    "'%s' must not be negative", row->numbers.v[i].name);
		put_number(&platform.numbers, row->numbers.v[i].name, row->numbers.v[i].v);
	}
	if (!err)
		err = apply_caps(&platform.has, taxonomy, &row->has, true, file, node);
	if (!err)
		err = apply_caps(&platform.has, taxonomy, &row->without, false, file, node);
	platform.name = kl_strdup(row->name);
	taxonomy->platform[taxonomy->nplatform++] = platform;
	return err;
}

static int add_capabilities(struct kl_taxonomy *taxonomy, const void *rows, const char *file,
			    const struct kl_yaml *node)
{
	const struct capabilities *capabilities = rows;
	int err = 0;

	copy_names(&taxonomy->caps, &capabilities->capabilities);
	taxonomy->platform = kl_calloc(capabilities->platforms.n, sizeof(*taxonomy->platform));
	for (size_t i = 0; !err && i < capabilities->platforms.n; i++)
		err = add_platform(taxonomy, &capabilities->platforms.v[i], file,
				   entry_at(node, "platforms", i));
	return err;
}

/* --- reading the files ------------------------------------------------------------------------ */

static const struct table {
	const char *name;
	const struct kl_schema *schema;
	int (*add)(struct kl_taxonomy *taxonomy, const void *rows, const char *file,
		   const struct kl_yaml *node);
} tables[] = {
	{ "operators.yaml", &operators_schema, add_operators },
	{ "languages.yaml", &languages_schema, add_languages },
	{ "capabilities.yaml", &capabilities_schema, add_capabilities },
};

static int read_table(struct kl_taxonomy *taxonomy, struct kl_digest *digest, const char *dir,
		      const struct table *table)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, table->name);
	KL_AUTO(kl_freep) void *rows = kl_calloc(1, table->schema->size);
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&node, path, text.ptr, text.len);
	if (!err)
		err = kl_schema_read(rows, table->schema, path, node);
	if (!err)
		err = table->add(taxonomy, rows, path, node);
	kl_schema_release(rows, table->schema);
	kl_digest_adds(digest, table->name);
	kl_digest_add(digest, text.ptr, text.len);
	return err;
}

int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *taxonomy = kl_calloc(1, sizeof(*taxonomy));
	struct kl_digest *digest = kl_digest_new();
	int err = 0;

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(tables); i++)
		err = read_table(taxonomy, digest, dir, &tables[i]);
	kl_digest_end(digest, taxonomy->digest);
	if (err < 0)
		return err;
	*out = kl_steal(&taxonomy);
	return 0;
}

int kl_taxonomy_load(struct kl_taxonomy **out)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	int err = kl_fs_share(&dir, "templates");

	return err < 0 ? err : kl_taxonomy_load_dir(out, dir);
}
