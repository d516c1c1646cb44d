/* SPDX-License-Identifier: Apache-2.0 */
/* sections - reads the sections `surface` and `oracle` of a contract */
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "contract/parts.h"

/*
 * --- reading `sources` --------------------------------------------------------------------
 */

bool kl_contract_path_ok(const char *path)
{
	return kl_fs_path_ok(path) && path[0] != '-' && !strstr(path, "/-") &&
	       !strpbrk(path, " \t\"'$`;&|<>*?()#@");
}

static int check_path(const char *file, const struct kl_yaml *node, const char *key)
{
	const char *path = node->text;

	if (!kl_fs_path_ok(path))
		return kl_yaml_error(
			file, node,
			"'%.200s' is not a relative path inside the contract's directory", path);
	if (!kl_contract_path_ok(path))
		return kl_yaml_error(
			file, node,
			"'%.200s' is not allowed: a path must not contain blanks, shell "
			"metacharacters or a component that begins with '-'",
			path);
	return 0;
}

const struct kl_string_type kl_contract_path = { "a path", NULL, check_path };

static int wrong_suffix(const char *file, const struct kl_yaml *node, const char *const *suffixes)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; suffixes[i]; i++)
		kl_buf_addf(&list, "%s%s", !i ? "" : suffixes[i + 1] ? ", " : " or ", suffixes[i]);
	return kl_yaml_error(file, node, "'%.200s' is not a %s file", node->text, list.ptr);
}

/* Read paths of files. If `any` is true, files may have any suffix. */
static int read_files(struct kl_strvec *out, const struct kl_language *language, bool any,
		      const char *file, const struct kl_field *field, const struct kl_yaml *node)
{
	const struct kl_field paths = KL_SET_FIELD(field->key, 0, 0, &kl_contract_path, field->min,
						   field->max);
	size_t mains = 0;
	int err = kl_schema_read_value(out, file, &paths, node);

	for (size_t i = 0; !err && i < out->n; i++) {
		if (!any && !kl_suffix_in(out->v[i], language->suffixes))
			return wrong_suffix(file, node->item[i], language->suffixes);
		mains += kl_suffix_in(out->v[i], language->mains);
		if (language->unit && mains > 1)
			return kl_yaml_error(
				file, node->item[i],
				"'%.200s' is a second %s file: %s must be one translation unit "
				"that includes the other files",
				out->v[i], language->mains[0], language->unit);
	}
	if (!err && !mains)
		return kl_yaml_error(file, node, "'%s' has no %s file", field->key,
				     language->mains[0]);
	return err;
}

static int read_sources(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct kl_contract *contract = at;

	return read_files(&contract->sources, contract->language, contract->build.units.n > 0, file,
			  field, node);
}

static int read_oracle_sources(void *at, const char *file, const struct kl_field *field,
			       const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	const struct kl_strvec *sources = &contract->oracle_sources;
	int err = read_files(&contract->oracle_sources, contract->language, false, file, field,
			     node);

	/* refuse shared sources, since an edit of the kernel must not change the oracle */
	for (size_t i = 0; !err && i < sources->n; i++)
		if (kl_strvec_has(&contract->sources, sources->v[i]))
			return kl_yaml_error(
				file, node->item[i],
				"'%.200s' is a source of the kernel, so the oracle cannot use it",
				sources->v[i]);
	return err;
}

const struct kl_value_type kl_language_sources = { .read = read_sources };
const struct kl_value_type kl_language_oracle_sources = { .read = read_oracle_sources };

/* --- reading `flags` ---------------------------------------------------------------------- */

static int read_flags(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		const char *flag;

		if ((err = kl_schema_read_text(&flag, file, field, node->item[i])) < 0)
			return err;
		if (contract->language->flag_ok(flag) < 0)
			return kl_yaml_error_inside(file, node->item[i], 0);
		kl_strvec_push(&contract->flags, flag);
	}
	return err;
}

const struct kl_value_type kl_language_flags = { .read = read_flags };

/* --- choosing the language ---------------------------------------------------------------- */

/*
 * Read `language` of a section before its other keys, since the language decides which keys are
 * allowed.
 */
static int read_language(const struct kl_language **out, const struct kl_contract *contract,
			 const struct kl_field *section, const struct kl_yaml *node)
{
	KL_AUTO(kl_freep) char *what = kl_asprintf("'%s'", section->key);
	const char *names[2 * KL_LANGUAGES_MAX + 1];
	const struct kl_field word = KL_WORD_FIELD("language", KL_NEEDED, 0, names);
	int which = 0, err;

	kl_language_names(names, contract->known);
	if ((err = kl_schema_peek(&which, what, contract->name, &word, node)) == 0)
		*out = kl_language_find(contract->known, names[which]);
	return err;
}

/*
 * Choose the row with the language's name whose `variant` key is true; keep the default row if
 * there is none.
 */
static int choose_variant(struct kl_contract *contract, const struct kl_yaml *node)
{
	for (size_t i = 0; contract->known->row[i]; i++) {
		const struct kl_language *language = contract->known->row[i];
		const struct kl_field chosen = KL_BOOL_FIELD(language->variant, 0, 0);
		bool yes = false;
		int err;

		if (!language->variant || strcmp(language->name, contract->language->name))
			continue;
		if ((err = kl_schema_peek(&yes, "'surface'", contract->name, &chosen, node)) < 0)
			return err;
		if (yes) {
			contract->language = language;
			return 0;
		}
	}
	return 0;
}

/* --- reading `surface` and `oracle` ------------------------------------------------------- */

static int read_section(struct kl_contract *contract, const struct kl_language_section *section,
			const struct kl_yaml *node)
{
	int err = kl_schema_read(contract, section->schema, contract->name, node);

	return err < 0 || !section->finish ? err : section->finish(contract, node);
}

static int read_surface(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err;

	if ((err = read_language(&contract->language, contract, field, node)) < 0 ||
	    (err = choose_variant(contract, node)) < 0)
		return err;
	return read_section(contract, &contract->language->surface, node);
}

static void free_surface(void *at)
{
	struct kl_contract *contract = at;

	free(contract->entry);
	free(contract->launch);
	free(contract->arch);
	free(contract->std);
	kl_strvec_release(&contract->sources);
	kl_strvec_release(&contract->flags);
	kl_contract_build_release(&contract->build);
	kl_strvec_release(&contract->headers);
}

static int read_oracle(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	const struct kl_language *own = contract->language, *language;
	int err = read_language(&language, contract, field, node);

	if (err < 0)
		return err;
	if (strcmp(language->name, own->name) &&
	    (!own->oracle_language || strcmp(language->name, own->oracle_language)))
		return kl_yaml_error(
			file, kl_yaml_get(node, "language"),
			"the oracle must be in the surface's language '%s', not in '%s'", own->name,
			language->name);
	return read_section(contract, &own->oracle, node);
}

static void free_oracle(void *at)
{
	struct kl_contract *contract = at;

	free(contract->oracle_entry);
	free(contract->oracle_launch);
	kl_strvec_release(&contract->oracle_sources);
}

const struct kl_value_type kl_contract_surface = { .read = read_surface, .release = free_surface };
const struct kl_value_type kl_contract_oracle = { .read = read_oracle, .release = free_oracle };
