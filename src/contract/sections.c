/* SPDX-License-Identifier: Apache-2.0 */
/* sections - reads what is judged and by what: `surface` and `oracle` of a contract */
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "contract/parts.h"

#define MAX_SOURCES 64
#define MAX_FLAGS 64

/* --- sources ------------------------------------------------------------------------------ */

static int wrong_suffix(struct kl_node node, const char *path, const char *const *suffixes)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; suffixes[i]; i++)
		kl_buf_addf(&list, "%s%s", !i ? "" : suffixes[i + 1] ? ", " : " or ", suffixes[i]);
	return kl_node_error(node, "'%.200s' is no %s file", path, list.ptr);
}

static int read_source(struct kl_strvec *out, const struct kl_contract *contract,
		       struct kl_node node)
{
	const char *path;
	int err = kl_node_text(&path, node);

	if (err < 0)
		return err;
	if (!kl_fs_path_ok(path))
		return kl_node_error(node,
				     "'%.200s' leaves the contract's directory, or is no "
				     "plain path",
				     path);
	if (path[0] == '-' || strstr(path, "/-") || strpbrk(path, " \t\"'$`;&|<>*?()#@"))
		return kl_node_error(node,
				     "'%.200s': a path here holds no blanks, no shell signs "
				     "and no part that begins with '-'",
				     path);
	if (!kl_suffix_in(path, contract->language->suffixes))
		return wrong_suffix(node, path, contract->language->suffixes);
	if (kl_strvec_has(out, path))
		return kl_node_error(node, "'%.200s' stands here twice", path);
	/* else an edit of the kernel would move the yardstick */
	if (out != &contract->sources && kl_strvec_has(&contract->sources, path))
		return kl_node_error(node,
				     "'%.200s' is judged as a source, the oracle may not use "
				     "it",
				     path);
	kl_strvec_push(out, path);
	return 0;
}

static int read_sources(struct kl_strvec *out, const struct kl_contract *contract,
			struct kl_node node)
{
	const struct kl_language *language = contract->language;
	int err = kl_node_list(node, 1, MAX_SOURCES);
	size_t mains = 0;

	if (err < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		if ((err = read_source(out, contract, kl_node_item(node, i))) < 0)
			return err;
		mains += kl_suffix_in(out->v[i], language->mains);
		if (language->unit && mains > 1)
			return kl_node_error(kl_node_item(node, i),
					     "'%.200s' is a second %s file: "
					     "%s is one translation unit, the rest is included",
					     out->v[i], language->mains[0], language->unit);
	}
	return mains ? 0 :
		       kl_node_error(node, "'%s' has no %s file", node.what, language->mains[0]);
}

/* --- flags and headers -------------------------------------------------------------------- */

static int read_flags(struct kl_contract *contract, struct kl_node node)
{
	int err = node.y ? kl_node_list(node, 0, MAX_FLAGS) : 0;

	if (err < 0 || !node.y)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		const char *flag;

		if ((err = kl_node_text(&flag, item)) < 0)
			return err;
		if (contract->language->flag_ok(flag) < 0)
			return kl_node_error_at(item, 0);
		kl_strvec_push(&contract->flags, flag);
	}
	return 0;
}

static int read_headers(struct kl_strvec *out, struct kl_node node)
{
	int err = node.y ? kl_node_list(node, 0, KL_HEADERS_MAX) : 0;

	for (size_t i = 0; node.y && !err && i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		const char *name;

		err = kl_node_slug(&name, item);
		if (!err && kl_strvec_has(out, name))
			return kl_node_error(item, "'%s' twice", name);
		if (!err)
			kl_strvec_push(out, name);
	}
	return err;
}

/* --- the language ------------------------------------------------------------------------- */

/* It says which other keys there may be, so it is looked at first. */
static int read_language(const struct kl_language **out, const struct kl_contract *contract,
			 struct kl_node node)
{
	const char *names[KL_LANGUAGES_MAX + 1];
	struct kl_node language;
	int which, err = kl_node_map(node, 0, 64);

	if (err < 0)
		return err;
	language = kl_node_get(node, "language");
	if (!language.y)
		return kl_node_error(node, "'language' is missing in '%s'", node.what);
	kl_language_names(names, contract->known);
	if ((err = kl_node_choice(&which, language, names)) < 0)
		return err;
	*out = kl_language_find(contract->known, names[which]);
	return 0;
}

/* Rows of one name differ by a key that is true. */
static int choose_variant(struct kl_contract *contract, struct kl_node node)
{
	for (size_t i = 0; contract->known->row[i]; i++) {
		const struct kl_language *language = contract->known->row[i];
		struct kl_node chosen;
		bool yes = false;
		int err;

		if (!language->variant || strcmp(language->name, contract->language->name))
			continue;
		chosen = kl_node_get(node, language->variant);
		if (chosen.y && (err = kl_node_bool(&yes, chosen)) < 0)
			return err;
		if (yes) {
			contract->language = language;
			return 0;
		}
	}
	return 0;
}

/* --- the sections ------------------------------------------------------------------------- */

int kl_contract_surface_read(struct kl_contract *contract, struct kl_node surface)
{
	const struct kl_language_section *section;
	struct kl_node sources;
	int err;

	if ((err = read_language(&contract->language, contract, surface)) < 0 ||
	    (err = choose_variant(contract, surface)) < 0)
		return err;
	section = &contract->language->surface;
	sources = kl_node_get(surface, "sources");
	if ((err = kl_node_keys(surface, section->keys, section->required)) < 0 ||
	    (err = read_sources(&contract->sources, contract, sources)) < 0 ||
	    (err = section->read(contract, surface)) < 0 ||
	    (err = read_flags(contract, kl_node_get(surface, "flags"))) < 0)
		return err;
	return read_headers(&contract->headers, kl_node_get(surface, "headers"));
}

int kl_contract_oracle_read(struct kl_contract *contract, struct kl_node oracle)
{
	const struct kl_language *own = contract->language, *language;
	struct kl_node sources;
	int err;

	if ((err = read_language(&language, contract, oracle)) < 0)
		return err;
	if (strcmp(language->name, own->name))
		return kl_node_error(kl_node_get(oracle, "language"),
				     "the oracle of a surface in "
				     "'%s' is written in it, not in '%s'",
				     own->name, language->name);
	sources = kl_node_get(oracle, "sources");
	if ((err = kl_node_keys(oracle, own->oracle.keys, own->oracle.required)) < 0 ||
	    (err = read_sources(&contract->oracle_sources, contract, sources)) < 0)
		return err;
	return own->oracle.read(contract, oracle);
}
