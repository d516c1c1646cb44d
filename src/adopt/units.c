/* SPDX-License-Identifier: Apache-2.0 */
/* units - finds the files of a project that define what a kernel's entry needs */
#include <string.h>

#include "adopt/adopt_parts.h"
#include "backend/c/cxx.h"
#include "backend/c/link/reached.h"
#include "backend/demangle.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "contract/contract.h"
#include "image/symbols.h"

#define MAX_UNITS 64
/* maximum number of files that are compiled to see which symbols they define */
#define MAX_COMPILED 400
#define MAX_SOURCE ((size_t)4 << 20)
#define MAX_TREE 1000000

void kl_units_release(struct kl_units *units)
{
	kl_strvec_release(&units->path);
	kl_strvec_release(&units->why);
	kl_strvec_release(&units->traps);
	kl_strvec_release(&units->missing);
	kl_strvec_release(&units->runtime);
	kl_options_release(&units->options);
}

/* A compiled source. If it does not compile, `object` is NULL. */
struct compiled {
	char *path;
	struct kl_object *object;
	struct kl_options options;
};

struct search {
	struct kl_adopting *adopting;
	struct kl_units *out;
	struct compiled *all;
	size_t n, alloc;
	const struct kl_object **unit; /* objects of the units, borrowed */
	size_t nunit;
	struct kl_strvec others; /* tracked sources, as absolute paths */
	bool listed;             /* `others` has been filled */
	char *entry;             /* symbol of the entry */
	/* undefined symbols for which no definition was found */
	struct kl_strvec failed;
};

static void search_release(struct search *search)
{
	for (size_t i = 0; i < search->n; i++) {
		free(search->all[i].path);
		if (search->all[i].object)
			kl_object_free(search->all[i].object);
		kl_options_release(&search->all[i].options);
	}
	free(search->all);
	free(search->unit);
	free(search->entry);
	kl_strvec_release(&search->failed);
	kl_strvec_release(&search->others);
}

/* --- compiling -------------------------------------------------------------------------------- */

static int compile_object(struct kl_object **out, struct kl_adopting *adopting, const char *path,
			  const struct kl_options *options)
{
	static const char *const fixed[] = { "-fPIC",
					     "-fvisibility=default",
					     "-ffunction-sections",
					     "-fdata-sections",
					     "-fno-common",
					     "-fno-lto",
					     "-fno-stack-protector",
					     "-fno-asynchronous-unwind-tables",
					     "-fno-exceptions",
					     "-c",
					     "-o",
					     NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *name = kl_asprintf("%zu.o", adopting->runs++);
	KL_AUTO(kl_freep) char *object = kl_fs_join(adopting->scratch.path, name);
	const char *below = kl_adopt_below(adopting, path);
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", below ? below : path);
	int err;

	kl_adopt_gcc(&argv, adopting, options);
	kl_strvec_pushv(&argv, fixed);
	kl_strvec_push(&argv, name);
	kl_strvec_push(&argv, path);
	err = kl_adopt_run_gcc(NULL, adopting, &argv, what);
	return err ? err : kl_object_read(out, object);
}

static const struct kl_command *command_of(const struct kl_adopting *adopting, const char *path)
{
	for (size_t i = 0; i < adopting->commands.n; i++)
		if (!strcmp(adopting->commands.v[i].file, path))
			return &adopting->commands.v[i];
	return NULL;
}

/*
 * Compile a file, unless it was compiled before. Use the options of the file's own command or, if
 * it has none, the kernel's. If the file does not compile, its `object` is NULL; with `must`, this
 * is an error.
 */
static int look_into(struct compiled **out, struct search *search, const char *path, bool must)
{
	const struct kl_command *command = command_of(search->adopting, path);
	struct compiled *one;
	int err;

	for (size_t i = 0; i < search->n; i++)
		if (!strcmp(search->all[i].path, path)) {
			*out = &search->all[i];
			return 0;
		}
	if (search->n == MAX_COMPILED)
		return kl_error(KL_EINVALID,
				"the first %d files searched do not define all that the kernel "
				"needs; name the right files with --source",
				MAX_COMPILED);
	KL_GROW(search->all, search->n + 1, search->alloc);
	one = &search->all[search->n++];
	*one = (struct compiled){ .path = kl_strdup(path) };
	if (command) {
		kl_options_read(&one->options, command, search->adopting->language);
		kl_closure_drop_dirs(&one->options, search->adopting);
	} else {
		kl_options_copy(&one->options, &search->out->options);
	}
	err = compile_object(&one->object, search->adopting, path, &one->options);
	*out = one;
	if (err < 0 && (must || (err != KL_ENO && err != KL_EIO)))
		return err == KL_ENO ?
			       kl_error_in(KL_EINVALID, "compiled with the options of the build") :
			       err;
	kl_error_clear();
	return 0;
}

static void add_unit(struct search *search, const struct compiled *one, const char *why)
{
	const char *below = kl_adopt_below(search->adopting, one->path);

	kl_strvec_push(&search->out->path, one->path);
	kl_strvec_push(&search->out->why, why);
	search->unit = kl_realloc(search->unit, search->nunit + 1, sizeof(*search->unit));
	search->unit[search->nunit++] = one->object;
	if (search->nunit > 1)
		kl_options_merge(&search->out->options, &one->options, below ? below : one->path);
}

/* --- looking for a definition ----------------------------------------------------------------- */

/*
 * Return the binding of the symbol's definition: STB_GLOBAL or STB_WEAK; STB_LOCAL if there is
 * none.
 */
static int find_binding(const struct kl_object *object, const char *symbol)
{
	for (size_t i = 0; object && i < object->nsym; i++)
		if (object->sym[i].sec != KL_SYM_UNDEF && object->sym[i].bind != STB_LOCAL &&
		    !strcmp(object->sym[i].name, symbol))
			return object->sym[i].bind;
	return STB_LOCAL;
}

static bool in_name(char ch)
{
	return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') ||
	       (ch >= 'a' && ch <= 'z');
}

/* Return true if the file has the symbol's name as a word. A file without it is not compiled. */
static bool mentions(const char *path, const char *symbol)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t n = strlen(symbol);
	const char *at;

	if (kl_fs_read(&text, path, MAX_SOURCE) < 0) {
		kl_error_clear();
		return false;
	}
	for (at = text.ptr; at && (at = memmem(at, (size_t)(text.ptr + text.len - at), symbol, n));
	     at += n)
		if ((at == text.ptr || !in_name(at[-1])) &&
		    (at + n == text.ptr + text.len || !in_name(at[n])))
			return true;
	return false;
}

static int list_others(struct search *search)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs blobs = { 0 };
	struct kl_adopting *adopting = search->adopting;
	int err = kl_repo_tree_list(&blobs, adopting->repo, &adopting->tree, MAX_TREE);

	for (size_t i = 0; !err && i < blobs.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(adopting->top, blobs.b[i].path);

		if (kl_adopt_is_unit(adopting, path) && !command_of(adopting, path))
			kl_strvec_push(&search->others, path);
	}
	search->listed = true;
	return err;
}

/*
 * Two files that define a symbol; the second is NULL if there is only one. As for a linker, a weak
 * definition, such as an instance of a template, gives way to any other.
 */
struct definers {
	struct compiled *first, *second;
	bool weak; /* the first definition is weak */
};

/* Compile a file if it contains the identifier `word`, and see if it defines the symbol. */
static int try_file(struct definers *out, struct search *search, const char *path,
		    const char *symbol, const char *word)
{
	struct compiled *one;
	size_t first = out->first ? (size_t)(out->first - search->all) : 0;
	bool had = out->first != NULL;
	int binding, err;

	if (!kl_adopt_is_unit(search->adopting, path) || !kl_adopt_below(search->adopting, path) ||
	    !mentions(path, word))
		return 0;
	err = look_into(&one, search, path, false);
	if (had) /* look_into() may have moved the array */
		out->first = &search->all[first];
	binding = err < 0 ? STB_LOCAL : find_binding(one->object, symbol);
	if (binding == STB_LOCAL || one == out->first || (had && binding == STB_WEAK))
		return err;
	if (had && !out->weak) {
		out->second = one;
		return 0;
	}
	out->first = one;
	out->weak = binding == STB_WEAK;
	return 0;
}

/*
 * Find the files that define a symbol: first among the files that the build compiles, then among
 * the other tracked files.
 */
static int find_definition(struct definers *out, struct search *search, const char *symbol,
			   const char *word)
{
	const struct kl_commands *commands = &search->adopting->commands;
	int err = 0;

	*out = (struct definers){ .first = NULL };
	for (size_t i = 0; !err && !out->second && i < commands->n; i++)
		err = try_file(out, search, commands->v[i].file, symbol, word);
	if (err < 0 || out->first)
		return err;
	if (!search->listed)
		err = list_others(search);
	for (size_t i = 0; !err && !out->second && i < search->others.n; i++)
		err = try_file(out, search, search->others.v[i], symbol, word);
	return err;
}

static int refuse_two(const struct search *search, const struct definers *two, const char *name)
{
	const char *first = kl_adopt_below(search->adopting, two->first->path);
	const char *second = kl_adopt_below(search->adopting, two->second->path);

	kl_error(KL_EINVALID, "two files define '%s', which the kernel needs: '%s' and '%s'", name,
		 first, second);
	return kl_error_hint(KL_EINVALID, "choose a file with --source <file>");
}

/*
 * If the symbol belongs to the C++ runtime, return a text that names the part of the runtime and
 * gives advice; the caller frees it. Otherwise return NULL.
 */
static char *runtime_part(const char *symbol)
{
	const char *class_ = NULL;
	KL_AUTO(kl_freep) char *quoted = kl_asprintf("'%s'", symbol);
	KL_AUTO(kl_freep) char *advice = kl_cxx_explain(quoted, &class_, NULL, NULL, 0);

	return advice ? kl_strdup(advice + strlen(quoted) + 2) : NULL;
}

/* Set *out to the name that the symbol has in the source. The caller frees it. */
static int name_symbol(char **out, const struct kl_adopting *adopting, const char *symbol)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec symbols = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err;

	kl_strvec_push(&symbols, symbol);
	err = kl_demangle(&names, &adopting->jail, adopting->scratch.path, &symbols, true);
	*out = err < 0 ? NULL : kl_strdup(names.v[0]);
	return err == KL_ENO ? kl_error(KL_EINVALID, "a name of the kernel is too long") : err;
}

/* Add the file that defines a symbol. If no file defines it, add the symbol to `missing`. */
static int resolve_symbol(struct search *search, const char *symbol)
{
	struct definers definers;
	KL_AUTO(kl_freep) char *runtime = runtime_part(symbol), *name = NULL, *word = NULL;
	int err;

	if (kl_contract_may_trap(symbol)) {
		kl_strvec_push(&search->out->traps, symbol);
		return 0;
	}
	if (runtime) {
		kl_strvec_push(&search->failed, symbol);
		kl_strvec_add_once(&search->out->runtime, runtime);
		return 0;
	}
	if ((err = name_symbol(&name, search->adopting, symbol)) < 0)
		return err;
	word = kl_cxx_identifier(name);
	if (search->nunit == MAX_UNITS)
		return kl_error(KL_EINVALID, "the kernel needs more than %d files", MAX_UNITS);
	if ((err = find_definition(&definers, search, symbol, word)) < 0)
		return err;
	if (definers.second)
		return refuse_two(search, &definers, name);
	if (definers.first) {
		add_unit(search, definers.first, name);
		return 0;
	}
	kl_strvec_push(&search->failed, symbol);
	kl_strvec_add_once(&search->out->missing, name);
	return 0;
}

/* --- following what the entry reaches --------------------------------------------------------- */

static bool is_settled(const struct search *search, const struct kl_symbol_index *defined,
		       const char *name)
{
	return !*name || !strcmp(name, "_GLOBAL_OFFSET_TABLE_") ||
	       kl_symbol_kind(name) != KL_SYMBOL_FOREIGN || kl_symbol_index_find(defined, name) ||
	       kl_strvec_has(&search->out->traps, name) || kl_strvec_has(&search->failed, name);
}

/*
 * Return the name of an undefined symbol that the entry reaches; NULL if none is left. The caller
 * frees.
 */
static char *next_symbol(const struct search *search)
{
	const char *const entries[] = { search->entry, NULL };
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index defined = { .entry = NULL };
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };

	kl_symbol_index_build(&defined, search->unit, search->nunit);
	kl_reached_find(&reached, search->unit, search->nunit, &defined, entries);
	for (size_t k = 0; k < search->nunit; k++)
		for (size_t i = 0; i < search->unit[k]->nsym; i++) {
			const struct kl_osym *symbol = &search->unit[k]->sym[i];

			if (symbol->sec == KL_SYM_UNDEF && reached.sym[k][i] &&
			    !is_settled(search, &defined, symbol->name))
				return kl_strdup(symbol->name);
		}
	return NULL;
}

/* Compile the kernel's own file, with the command that was chosen for it. */
static int compile_own(struct search *search, const struct kl_adopt_entry *entry)
{
	KL_AUTO(kl_freep) char *own = kl_strdup(search->out->path.v[0]);
	struct compiled *one;
	int err;

	KL_GROW(search->all, search->n + 1, search->alloc);
	one = &search->all[search->n++];
	*one = (struct compiled){ .path = kl_strdup(own) };
	kl_options_copy(&one->options, &search->out->options);
	err = kl_adopt_compile_entry(&one->object, &search->entry, search->adopting, entry,
				     &one->options, compile_object);
	if (err < 0)
		return err == KL_ENO ?
			       kl_error_in(KL_EINVALID, "compiled with the options of the build") :
			       err;
	kl_strvec_release(&search->out->path);
	kl_strvec_release(&search->out->why);
	add_unit(search, one, "");
	return 0;
}

/* Compile the kernel's own file and the files that the user named. */
static int compile_first(struct search *search, const struct kl_adopt_entry *entry)
{
	const struct kl_strvec *sources = &search->adopting->opts->sources;
	struct compiled *one;
	int err = compile_own(search, entry);

	for (size_t i = 0; !err && i < sources->n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_resolve(search->adopting->top, sources->v[i]);

		err = look_into(&one, search, path, true);
		if (!err && !kl_strvec_has(&search->out->path, path))
			add_unit(search, one, "");
	}
	return err;
}

int kl_units_find(struct kl_units *out, struct kl_adopting *adopting,
		  const struct kl_adopt_entry *entry)
{
	KL_AUTO(search_release) struct search search = { .adopting = adopting, .out = out };
	int err = compile_first(&search, entry);

	while (!err) {
		KL_AUTO(kl_freep) char *symbol = next_symbol(&search);

		if (!symbol)
			break;
		err = resolve_symbol(&search, symbol);
	}
	return err;
}
