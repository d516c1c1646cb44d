/* SPDX-License-Identifier: Apache-2.0 */
/* entry - finds the function to adopt, its name in a contract, and its symbol */
#include <stdio.h>
#include <string.h>

#include "adopt/adopt_parts.h"
#include "backend/c/cxx.h"
#include "backend/demangle.h"
#include "base/error.h"
#include "base/fs.h"
#include "contract/prototype.h"
#include "contract/surface.h"
#include "plan/plan.h"
#include "text/digest.h"

#define MAX_SOURCE ((size_t)4 << 20)
#define UNIT "entry.cpp"

void kl_adopt_entry_release(struct kl_adopt_entry *entry)
{
	free(entry->name);
}

static char *file_path(const struct kl_adopting *adopting)
{
	return kl_fs_resolve(adopting->top, adopting->opts->file);
}

int kl_adopt_read(struct kl_buf *out, const struct kl_adopting *adopting,
		  const struct kl_options *options, bool preprocessed)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *path = file_path(adopting);

	if (!preprocessed)
		return kl_fs_read(out, path, MAX_SOURCE);
	kl_adopt_gcc(&argv, adopting, options);
	kl_strvec_push(&argv, "-E");
	kl_strvec_push(&argv, "-P");
	kl_strvec_push(&argv, path);
	return kl_adopt_run_gcc(out, adopting, &argv, "preprocessing");
}

/* --- the function's name ---------------------------------------------------------------------- */

/*
 * Read the prototype from the source as it is written or, if it cannot be read there, after
 * preprocessing. If the user names no function, read only the source as it is written, because
 * headers define functions, too.
 */
static int read_prototype(struct kl_proto **out, const struct kl_adopting *adopting,
			  const struct kl_options *options)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, expanded = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *why = NULL;
	const char *entry = adopting->opts->entry;
	int err = kl_adopt_read(&text, adopting, options, false);

	if (!err)
		err = kl_proto_read(out, text.ptr, text.len, entry, false);
	if (!err || !entry)
		return err;
	why = kl_strdup(kl_error_last());
	if (kl_adopt_read(&expanded, adopting, options, true) < 0 ||
	    kl_proto_read(out, expanded.ptr, expanded.len, entry, false) < 0)
		return kl_error(err, "%s", why);
	kl_error_clear();
	return 0;
}

static int refuse_template(const struct kl_adopting *adopting, const char *name)
{
	kl_error(KL_EINVALID, "'%s' is a template, of which the contract judges one instance",
		 adopting->opts->entry ? adopting->opts->entry : name);
	return kl_error_hint(KL_EINVALID,
			     "name an instance, such as 'scale<float, 8>': git klineage adopt "
			     "'%s:<function><<arguments>>'",
			     adopting->opts->file);
}

int kl_adopt_find_entry(struct kl_adopt_entry *out, const struct kl_adopting *adopting,
			const struct kl_options *options)
{
	const struct kl_adopt_opts *opts = adopting->opts;
	bool cxx = adopting->language == &kl_language_cpp;
	KL_AUTO(kl_proto_freep) struct kl_proto *proto = NULL;
	int err;

	if (opts->entry && !cxx) {
		out->name = kl_strdup(opts->entry);
		return 0;
	}
	err = read_prototype(&proto, adopting, options);
	if (err < 0) {
		KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

		/* Set a new error, because the hint of the old one is about init. */
		kl_error(err, "%s: %s", opts->file, why);
		return kl_error_hint(err, "name the function: git klineage adopt %s:<function>",
				     opts->file);
	}
	out->name = cxx ? kl_proto_full_name(proto) : kl_strdup(proto->name);
	out->params = cxx ? proto->n : 0;
	return strstr(out->name, "TODO") ? refuse_template(adopting, out->name) : 0;
}

/* --- a contract to try the entry with ---------------------------------------------------------- */

int kl_adopt_parse(struct kl_contract **out, const struct kl_adopting *adopting,
		   const struct kl_skeleton_build *build, const struct kl_adopt_entry *entry)
{
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf args = KL_BUF_INIT;

	kl_buf_adds(&args, "{name: out, kind: out, dtype: i32, shape: [n]}");
	/* In C++, the contract must have as many arguments as the function has parameters. */
	for (size_t i = 1; i < entry->params; i++)
		kl_buf_addf(&args,
			    ", {name: in%zu, kind: in, dtype: f32, shape: [n], fill: normal}", i);
	text = kl_asprintf(
		"klineage: 1\nworkload: adopted\npaths: repository\n"
		"case: {op: adopted, dims: {n: 1}}\n"
		"surface:\n  language: %s\n  sources: [%s]\n  entry: %s\n%s"
		"args: [%s]\n"
		"oracle: {language: c, sources: [%s], entry: oracle}\naccept: {rule: exact}\n",
		adopting->language->name, build->sources, entry->name, build->lines, args.ptr,
		build->oracle);
	return kl_contract_parse(out, "the contract", text, strlen(text));
}

/* --- the entry's symbol ------------------------------------------------------------------------ */

static bool can_call(const struct kl_object *object, const char *symbol)
{
	for (size_t i = 0; symbol && i < object->nsym; i++)
		if (object->sym[i].sec != KL_SYM_UNDEF && object->sym[i].bind != STB_LOCAL &&
		    !strcmp(object->sym[i].name, symbol))
			return true;
	return false;
}

/*
 * Write a unit that includes the kernel's file and declares the entry. `file` receives the text of
 * the kernel's file, and `tag` that of the declaration.
 */
static int write_unit(struct kl_file *file, char tag[17], const struct kl_adopting *adopting,
		      const struct kl_contract *contract)
{
	KL_AUTO(kl_freep) char *path = file_path(adopting);
	KL_AUTO(kl_freep) char *unit = kl_fs_join(adopting->scratch.path, UNIT);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, source = KL_BUF_INIT;
	char digest[KL_DIGEST_HEX];
	int err = kl_fs_read(&source, path, MAX_SOURCE);

	if (err < 0)
		return err;
	kl_digest_hex(digest, source.ptr, source.len);
	snprintf(tag, 17, "%.16s", digest);
	kl_buf_addf(&text, "#include \"%s\"\n", path);
	kl_cxx_declare(&text, contract, tag);
	file->len = source.len;
	file->data = kl_buf_detach(&source);
	return kl_fs_write(unit, text.ptr, text.len);
}

static int explain_failure(int err, const struct kl_adopting *adopting,
			   const struct kl_contract *contract, const struct kl_file *file)
{
	const char *class_ = NULL;
	KL_AUTO(kl_freep) char *message = NULL;

	if (err != KL_ENO)
		return err;
	message = kl_cxx_explain(kl_error_last(), &class_, contract, file, 1);
	if (message)
		kl_error(err, "%s", message);
	return kl_demangle_error(err, &adopting->jail, adopting->scratch.path);
}

/* Compile the kernel's file with a declaration of the entry, a function in C++. */
static int compile_declared(struct kl_object **out, char **symbol, struct kl_adopting *adopting,
			    const struct kl_adopt_entry *entry, const struct kl_options *options,
			    kl_adopt_compile_fn *compile)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	const struct kl_skeleton_build build = { .sources = UNIT, .lines = "", .oracle = "o.c" };
	struct kl_file file = { .path = (char *)adopting->opts->file };
	const char *found;
	char tag[17];
	int err = kl_adopt_parse(&contract, adopting, &build, entry);

	if (!err)
		err = write_unit(&file, tag, adopting, contract);
	if (!err)
		err = compile(out, adopting, UNIT, options);
	err = explain_failure(err, adopting, contract, &file);
	free(file.data);
	if (err < 0)
		return err;
	found = kl_cxx_entry_symbol((const struct kl_object *const *)out, 1, tag);
	if (can_call(*out, found)) {
		*symbol = kl_strdup(found);
		return 0;
	}
	return kl_error(KL_ENOTFOUND,
			"'%s' is only declared in '%s', static or in an unnamed namespace; adopt a "
			"function that other files can call",
			entry->name, adopting->opts->file);
}

int kl_adopt_compile_entry(struct kl_object **out, char **symbol, struct kl_adopting *adopting,
			   const struct kl_adopt_entry *entry, const struct kl_options *options,
			   kl_adopt_compile_fn *compile)
{
	KL_AUTO(kl_freep) char *path = file_path(adopting);
	int err;

	if (adopting->language == &kl_language_cpp)
		return compile_declared(out, symbol, adopting, entry, options, compile);
	err = compile(out, adopting, path, options);
	if (err < 0)
		return err;
	if (!can_call(*out, entry->name))
		return kl_error(KL_ENOTFOUND,
				"'%s', compiled with the options of the build, defines no function "
				"'%s' that other files can call",
				adopting->opts->file, entry->name);
	*symbol = kl_strdup(entry->name);
	return 0;
}
