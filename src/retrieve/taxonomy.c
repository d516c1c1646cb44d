/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/taxonomy.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "text/yaml_node.h"

#define MAX_FILE ((size_t)1 << 20)
#define MAX_OPS 4096
#define MAX_WORDS 64

void kl_taxonomy_free(struct kl_taxonomy *taxonomy)
{
	if (!taxonomy)
		return;
	for (size_t i = 0; i < taxonomy->nop; i++) {
		for (size_t dim = 0; dim < taxonomy->op[i].ndim; dim++)
			free(taxonomy->op[i].dim[dim].name);
		free(taxonomy->op[i].dim);
		free(taxonomy->op[i].name);
	}
	for (size_t i = 0; i < taxonomy->nplatform; i++) {
		for (size_t k = 0; k < taxonomy->platform[i].nnumber; k++)
			free(taxonomy->platform[i].number[k].name);
		free(taxonomy->platform[i].number);
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

static int index_of(const struct kl_strvec *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], text))
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

/* --- operators ---------------------------------------------------------------- */

static int read_roles(struct kl_taxonomy *taxonomy, struct kl_node node)
{
	int err = kl_node_map(node, 1, KL_TAX_ROLES);

	for (size_t i = 0; !err && i < node.y->n; i++)
		kl_strvec_push(&taxonomy->roles, node.y->key[i]);
	return err;
}

static int read_dim(struct kl_tax_dim *dim, const struct kl_taxonomy *taxonomy, const char *name,
		    struct kl_node node)
{
	int err = kl_node_list(node, 1, KL_TAX_ROLES);

	dim->name = kl_strdup(name);
	for (size_t i = 0; !err && i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		const char *word;
		int role;

		if ((err = kl_node_text(&word, item)) < 0)
			return err;
		role = kl_taxonomy_role(taxonomy, word);
		if (role < 0)
			return kl_node_error(item, "no role '%.40s'", word);
		dim->roles |= 1u << role;
	}
	return err;
}

static int add_name(struct kl_taxonomy *taxonomy, struct kl_tax_op *op, const char *name,
		    struct kl_node node)
{
	if (!kl_node_is_slug(name))
		return kl_node_error(node, "'%.64s' is no name of an operator", name);
	if (kl_map_get(&taxonomy->op_names, name))
		return kl_node_error(node, "the name '%.64s' is there already", name);
	kl_map_put(&taxonomy->op_names, name, op);
	return 0;
}

static int read_op(struct kl_taxonomy *taxonomy, struct kl_tax_op *op, const char *name,
		   struct kl_node node)
{
	static const char *const known[] = { "text", "under", "aka", "dims", NULL };
	struct kl_node under = kl_node_get(node, "under"), aka = kl_node_get(node, "aka");
	struct kl_node dims = kl_node_get(node, "dims");
	const char *word;
	int err = kl_node_keys(node, known, 1);

	op->name = kl_strdup(name);
	op->parent = -1;
	op->depth = 2;
	if (!err && under.y && !(err = kl_node_text(&word, under))) {
		op->parent = kl_taxonomy_op(taxonomy, word);
		if (op->parent < 0)
			return kl_node_error(under, "no operator '%.64s' above", word);
		op->depth = taxonomy->op[op->parent].depth + 1;
	}
	if (!err)
		err = add_name(taxonomy, op, name, node);
	if (!err && aka.y)
		err = kl_node_list(aka, 1, MAX_WORDS);
	for (size_t i = 0; !err && aka.y && i < aka.y->n; i++) {
		err = kl_node_text(&word, kl_node_item(aka, i));
		if (!err)
			err = add_name(taxonomy, op, word, kl_node_item(aka, i));
	}
	if (!err && dims.y)
		err = kl_node_map(dims, 1, MAX_WORDS);
	if (err || !dims.y)
		return err;
	op->dim = kl_calloc(dims.y->n, sizeof(*op->dim));
	for (; !err && op->ndim < dims.y->n; op->ndim++)
		err = read_dim(&op->dim[op->ndim], taxonomy, dims.y->key[op->ndim],
			       kl_node_item(dims, op->ndim));
	return err;
}

static int read_operators(struct kl_taxonomy *taxonomy, struct kl_node top)
{
	static const char *const known[] = { "klineage-operators", "roles", "operators", NULL };
	struct kl_node ops = kl_node_get(top, "operators");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = read_roles(taxonomy, kl_node_get(top, "roles"));
	if (!err)
		err = kl_node_map(ops, 1, MAX_OPS);
	if (err < 0)
		return err;
	taxonomy->op = kl_calloc(ops.y->n, sizeof(*taxonomy->op));
	for (size_t i = 0; !err && i < ops.y->n; i++) {
		taxonomy->nop++;
		err = read_op(taxonomy, &taxonomy->op[i], ops.y->key[i], kl_node_item(ops, i));
	}
	return err;
}

/* --- languages ----------------------------------------------------------------- */

static int read_pair(struct kl_taxonomy *taxonomy, struct kl_node node)
{
	static const char *const known[] = { "of", "similarity", NULL };
	struct kl_node of = kl_node_get(node, "of");
	size_t all = taxonomy->languages.n;
	double value;
	int err = kl_node_keys(node, known, 2), at[2] = { 0, 0 };

	if (!err)
		err = kl_node_list(of, 2, 2);
	for (size_t i = 0; !err && i < 2; i++) {
		const char *word;

		if ((err = kl_node_text(&word, kl_node_item(of, i))) < 0)
			return err;
		at[i] = kl_taxonomy_language(taxonomy, word);
		if (at[i] < 0)
			return kl_node_error(kl_node_item(of, i), "no language '%.40s'", word);
	}
	if (!err)
		err = kl_node_num_in(&value, kl_node_get(node, "similarity"), 0, 1);
	if (err < 0)
		return err;
	taxonomy->language_ppm[(size_t)at[0] * all + (size_t)at[1]] = (int64_t)(value * 1e6 + 0.5);
	taxonomy->language_ppm[(size_t)at[1] * all + (size_t)at[0]] = (int64_t)(value * 1e6 + 0.5);
	return 0;
}

static int read_languages(struct kl_taxonomy *taxonomy, struct kl_node top)
{
	static const char *const known[] = { "klineage-languages", "languages", "pairs", NULL };
	struct kl_node names = kl_node_get(top, "languages"), pairs = kl_node_get(top, "pairs");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = kl_node_map(names, 1, MAX_WORDS);
	if (!err)
		err = kl_node_list(pairs, 0, MAX_WORDS * MAX_WORDS);
	for (size_t i = 0; !err && i < names.y->n; i++)
		kl_strvec_push(&taxonomy->languages, names.y->key[i]);
	taxonomy->language_ppm = kl_calloc(taxonomy->languages.n * taxonomy->languages.n + 1,
					   sizeof(*taxonomy->language_ppm));
	for (size_t i = 0; i < taxonomy->languages.n; i++)
		taxonomy->language_ppm[i * taxonomy->languages.n + i] = 1000000;
	for (size_t i = 0; !err && i < pairs.y->n; i++)
		err = read_pair(taxonomy, kl_node_item(pairs, i));
	return err;
}

/* --- capabilities ---------------------------------------------------------------- */

/* set or clear each capability of a list */
static int read_set(struct kl_capset *set, const struct kl_taxonomy *taxonomy, struct kl_node node,
		    bool on)
{
	int err = node.y ? kl_node_list(node, 1, KL_TAX_CAPS) : 0;

	for (size_t i = 0; !err && node.y && i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		const char *word;
		int cap;

		if ((err = kl_node_text(&word, item)) < 0)
			return err;
		cap = kl_taxonomy_cap(taxonomy, word);
		if (cap < 0)
			return kl_node_error(item, "no capability '%.40s'", word);
		if (kl_capset_has(set, cap) == on)
			return kl_node_error(item, "'%.40s' is %s already", word,
					     on ? "there" : "gone");
		set->w[cap / 64] ^= (uint64_t)1 << cap % 64;
	}
	return err;
}

static void put_number(struct kl_tax_platform *platform, const char *name, int64_t value)
{
	size_t i;

	for (i = 0; i < platform->nnumber && strcmp(platform->number[i].name, name); i++)
		;
	if (i == platform->nnumber) {
		platform->number = kl_realloc(platform->number, ++platform->nnumber,
					      sizeof(*platform->number));
		platform->number[i].name = kl_strdup(name);
	}
	platform->number[i].v = value;
}

static int read_numbers(struct kl_tax_platform *platform, struct kl_node node)
{
	int err = node.y ? kl_node_map(node, 1, MAX_WORDS) : 0;
	int64_t value;

	for (size_t i = 0; !err && node.y && i < node.y->n; i++) {
		err = kl_node_int(&value, kl_node_item(node, i), 0, INT64_MAX / 2);
		if (!err)
			put_number(platform, node.y->key[i], value);
	}
	return err;
}

static int read_platform(struct kl_taxonomy *taxonomy, struct kl_tax_platform *platform,
			 const char *name, struct kl_node node)
{
	static const char *const known[] = { "like", "has", "without", "numbers", NULL };
	struct kl_node like = kl_node_get(node, "like");
	const struct kl_tax_platform *base;
	const char *word;
	int err = kl_node_keys(node, known, 0);

	if (!err && like.y && !(err = kl_node_text(&word, like))) {
		base = kl_taxonomy_platform(taxonomy, word);
		if (!base)
			return kl_node_error(like, "no platform '%.40s' above", word);
		platform->has = base->has;
		for (size_t i = 0; i < base->nnumber; i++)
			put_number(platform, base->number[i].name, base->number[i].v);
	}
	platform->name = kl_strdup(name);
	if (!err)
		err = read_set(&platform->has, taxonomy, kl_node_get(node, "has"), true);
	if (!err)
		err = read_set(&platform->has, taxonomy, kl_node_get(node, "without"), false);
	return err ? err : read_numbers(platform, kl_node_get(node, "numbers"));
}

static int read_capabilities(struct kl_taxonomy *taxonomy, struct kl_node top)
{
	static const char *const known[] = { "klineage-capabilities", "capabilities", "platforms",
					     NULL };
	struct kl_node caps = kl_node_get(top, "capabilities"), all = kl_node_get(top, "platforms");
	int64_t version;
	int err = kl_node_keys(top, known, 3);

	if (!err)
		err = kl_node_int(&version, kl_node_get(top, known[0]), 1, 1);
	if (!err)
		err = kl_node_map(caps, 1, KL_TAX_CAPS);
	if (!err)
		err = kl_node_map(all, 1, MAX_OPS);
	if (err < 0)
		return err;
	for (size_t i = 0; i < caps.y->n; i++)
		kl_strvec_push(&taxonomy->caps, caps.y->key[i]);
	taxonomy->platform = kl_calloc(all.y->n, sizeof(*taxonomy->platform));
	for (size_t i = 0; !err && i < all.y->n; i++) {
		err = read_platform(taxonomy, &taxonomy->platform[i], all.y->key[i],
				    kl_node_item(all, i));
		taxonomy->nplatform++;
	}
	return err;
}

/* --- files ------------------------------------------------------------------------ */

static int read_file(struct kl_taxonomy *taxonomy, struct kl_digest *digest, const char *dir,
		     const char *name,
		     int (*read)(struct kl_taxonomy *taxonomy, struct kl_node top))
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&node, path, text.ptr, text.len);
	if (!err)
		err = read(taxonomy, (struct kl_node){ path, node, "the file" });
	kl_digest_adds(digest, name);
	kl_digest_add(digest, text.ptr, text.len);
	return err;
}

int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *taxonomy = kl_calloc(1, sizeof(*taxonomy));
	struct kl_digest *digest = kl_digest_new();
	int err = read_file(taxonomy, digest, dir, "operators.yaml", read_operators);

	if (!err)
		err = read_file(taxonomy, digest, dir, "languages.yaml", read_languages);
	if (!err)
		err = read_file(taxonomy, digest, dir, "capabilities.yaml", read_capabilities);
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
