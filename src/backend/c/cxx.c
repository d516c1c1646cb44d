/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/cxx.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "contract/prototype.h"
#include "plan/plan.h"

#define PLACE "kl_entry" /* name of the declaration's file in messages */
#define CONSTANT "kl_entry_address"

/*
 * Make no guards of static variables, no symbols that are unique in a process, and no type
 * information. Keep the headers of the standard library from looking for another library (TBB).
 */
const char *const kl_cxx_flags[] = { "-fno-rtti", "-fno-threadsafe-statics", "-fno-gnu-unique",
				     "-D_GLIBCXX_USE_TBB_PAR_BACKEND=0", NULL };

bool kl_cxx_is_source(const char *path)
{
	static const char *const suffixes[] = { ".cpp", ".cc", ".cxx", NULL };

	return kl_suffix_in(path, suffixes);
}

/*
 * --- declaring the entry ----------------------------------------------------------------------
 */

char *kl_cxx_identifier(const char *name)
{
	const char *end = kl_plan_cxx_parameters(name), *from = name;
	int depth = 0;

	for (const char *at = name; at < end; at++) {
		depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
		if (*at == ':' && !depth)
			from = at + 1;
	}
	return kl_strndup(from, strspn(from, "abcdefghijklmnopqrstuvwxyz"
					     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
}

/* Return true if the source defines a function of this name, in any scope. */
static bool defines(const struct kl_file *file, const char *identifier)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;

	kl_proto_names(&all, file->data, file->len, false);
	for (size_t i = 0; i < all.n; i++) {
		KL_AUTO(kl_freep) char *name = kl_cxx_identifier(all.v[i]);

		if (!strcmp(name, identifier))
			return true;
	}
	return false;
}

size_t kl_cxx_entry_unit(const struct kl_file *file, size_t nfile,
			 const struct kl_contract *contract,
			 bool (*is_unit)(const void *payload, const char *path),
			 const void *payload)
{
	KL_AUTO(kl_freep) char *identifier = kl_cxx_identifier(contract->entry);
	size_t named = nfile, first = nfile;

	for (size_t i = 0; i < nfile; i++) {
		if (!is_unit(payload, file[i].path) || !kl_cxx_is_source(file[i].path))
			continue;
		if (defines(&file[i], identifier))
			return i;
		if (named == nfile &&
		    memmem(file[i].data, file[i].len, identifier, strlen(identifier)))
			named = i;
		first = first == nfile ? i : first;
	}
	return named < nfile ? named : first;
}

/* Return the number of arguments with which the worker calls the entry. */
static size_t count_arguments(const struct kl_contract *contract)
{
	size_t n = 0;

	for (size_t i = 0; i < contract->nargs; i++)
		n += !contract->arg[i].returned;
	return n;
}

/*
 * The declaration of the entry. "@" stands for the digest of the surface; no source can know it, so
 * no source can declare functions that match better. None of `words` may be a macro.
 */
static const char words[] =
	"template typename struct enum constexpr static_assert sizeof return auto decltype static used "
	"__attribute__ plain";
static const char declaration[] =
	"template <typename kl_type_@> struct kl_passed_@ { enum { plain = 1 }; };\n"
	"template <typename kl_type_@> struct kl_passed_@<kl_type_@ &> { enum { plain = 0 }; };\n"
	"template <typename kl_type_@> struct kl_passed_@<kl_type_@ &&> { enum { plain = 0 }; };\n"
	"template <typename... kl_types_@> struct kl_all_@ { enum { plain = 1 }; };\n"
	"template <typename kl_first_@, typename... kl_rest_@>\n"
	"struct kl_all_@<kl_first_@, kl_rest_@...> {\n"
	"enum { plain = kl_passed_@<kl_first_@>::plain && kl_all_@<kl_rest_@...>::plain }; };\n"
	"template <typename kl_result_@, typename... kl_types_@>\n"
	"constexpr kl_result_@ (*kl_checked_@(kl_result_@ (*kl_function_@)(kl_types_@...)))"
	"(kl_types_@...)\n{\n"
	"static_assert(kl_all_@<kl_types_@...>::plain, \"a parameter is a reference: the gate passes "
	"pointers and values\");\n";
static const char choice[] =
	"template <typename kl_result_@>\n"
	"constexpr auto kl_chosen_@(kl_result_@ (*kl_function_@)%s) -> decltype(kl_function_@)\n"
	"{ return kl_function_@; }\n";

/* Append text with the digest in place of each "@". */
static void add_tagged(struct kl_buf *out, const char *text, const char *tag)
{
	for (; *text; text++)
		if (*text == '@')
			kl_buf_adds(out, tag);
		else
			kl_buf_addch(out, *text);
}

/* Append lines that make the compiler fail if the word is a macro. */
static void forbid_macro(struct kl_buf *source, const char *word, size_t n)
{
	kl_buf_addf(
		source,
		"#ifdef %.*s\n#line 1 \"" PLACE "\"\n"
		"#error static assertion failed: '%.*s' is a macro at the end of the file\n#endif\n",
		(int)n, word, (int)n, word);
}

/*
 * Forbid macros for the words of a text or, if `types` is true, only for the words of basic types.
 */
static void forbid_macros(struct kl_buf *source, const char *text, size_t len, bool types)
{
	static const char basic[] =
		" float double int unsigned signed long short char bool void const ";

	for (size_t i = 0; i < len;) {
		size_t n = 0;
		char word[80];

		while (i + n < len && (isalnum((unsigned char)text[i + n]) || text[i + n] == '_'))
			n++;
		snprintf(word, sizeof(word), " %.*s ", (int)n, text + i);
		if (n && !isdigit((unsigned char)text[i]) && (!types || strstr(basic, word)))
			forbid_macro(source, text + i, n);
		i += n ? n : 1;
	}
}

void kl_cxx_declare(struct kl_buf *source, const struct kl_contract *contract, const char *tag)
{
	const char *name = contract->entry, *types = kl_plan_cxx_parameters(name);
	size_t n = count_arguments(contract), plain = strcspn(name, "<(");

	kl_buf_adds(source, "\n#line 1 \"" PLACE "\"\n");
	forbid_macros(source, words, strlen(words), false);
	forbid_macros(source, name, plain, false);
	forbid_macros(source, name + plain, strlen(name + plain), true);
	kl_buf_adds(source, "#line 1 \"" PLACE "\"\n");
	add_tagged(source, declaration, tag);
	kl_buf_addf(
		source,
		"static_assert(sizeof...(kl_types_%s) == %zu, \"the contract passes %zu arguments\");\n"
		"return kl_function_%s;\n}\n",
		tag, n, n, tag);
	if (*types) {
		KL_AUTO(kl_freep) char *text = kl_asprintf(choice, types);

		add_tagged(source, text, tag);
	}
	kl_buf_addf(source,
		    "#line 2 \"" PLACE "\"\n"
		    "__attribute__((used)) static constexpr auto " CONSTANT "_%s = kl_checked_%s(",
		    tag, tag);
	if (*types)
		kl_buf_addf(source, "kl_chosen_%s(&%.*s)", tag, (int)(types - name), name);
	else
		kl_buf_addf(source, "&%s", name);
	kl_buf_adds(source, ");\n");
}

/* --- finding the entry's symbol ----------------------------------------------------------------- */

/*
 * Return the name of the function that begins at offset `value` of a section; NULL if there is
 * none.
 */
static const char *function_at(const struct kl_object *object, int sec, uint64_t value)
{
	for (size_t i = 0; i < object->nsym; i++)
		if (object->sym[i].sec == sec && object->sym[i].value == value &&
		    object->sym[i].type == STT_FUNC)
			return object->sym[i].name;
	return NULL;
}

const char *kl_cxx_entry_symbol(const struct kl_object *const *object, size_t n, const char *tag)
{
	KL_AUTO(kl_freep) char *constant = kl_asprintf(CONSTANT "_%s", tag);

	for (size_t k = 0; k < n; k++) {
		const struct kl_object *one = object[k];

		for (size_t i = 0; i < one->nsym; i++) {
			const struct kl_osym *symbol = &one->sym[i];
			size_t at;

			if (symbol->sec < 0 || symbol->type != STT_OBJECT ||
			    !strstr(symbol->name, constant))
				continue;
			at = kl_object_rel_at(one, (size_t)symbol->sec, symbol->value);
			if (at == one->nrel || one->rel[at].sec != (size_t)symbol->sec ||
			    one->rel[at].off != symbol->value)
				continue;
			symbol = &one->sym[one->rel[at].sym];
			return symbol->type == STT_SECTION ?
				       function_at(one, symbol->sec,
						   (uint64_t)one->rel[at].addend) :
				       symbol->name;
		}
	}
	return NULL;
}

/* --- explaining errors of a kernel in C++ ------------------------------------------------------ */

/*
 * For each part of the language that kernels cannot use: a text that its error messages contain
 * (`mark`), and advice for the user.
 */
static const struct {
	const char *mark, *advice;
	bool runtime; /* the message is about a symbol of the runtime */
} parts[] = {
	{ "'_Znw", "operator new: let the contract pass the memory, or call malloc", true },
	{ "'_Zna", "operator new: let the contract pass the memory, or call malloc", true },
	{ "'_Zdl", "operator delete: let the contract pass the memory, or call free", true },
	{ "'_Zda", "operator delete: let the contract pass the memory, or call free", true },
	{ "'__cxa_pure_virtual'", "virtual functions: call the function directly", true },
	{ "'__cxa_guard",
	  "a static variable that is initialized at the first call: make it constexpr", true },
	{ "'__cxa_atexit'", "a static object with a destructor: make it local", true },
	{ "'__dso_handle'", "a static object with a destructor: make it local", true },
	{ "'__cxa_", "exceptions, which kernels do not have: return instead", true },
	{ "'_Unwind_", "exceptions, which kernels do not have: return instead", true },
	{ "'__gxx_personality", "exceptions, which kernels do not have: return instead", true },
	{ "'_ZSt", "a function of libstdc++, which is not linked: use only what headers define",
	  true },
	{ "'_ZNSt", "a function of libstdc++, which is not linked: use only what headers define",
	  true },
	{ "'_ZNKSt", "a function of libstdc++, which is not linked: use only what headers define",
	  true },
	{ "'_ZTV", "virtual functions: call the function directly", true },
	{ "section '.init_array",
	  "a variable that code initializes at load (such as std::cout, or an "
	  "object with a constructor): make it constexpr or local",
	  true },
	{ "section '.ctors", "a variable that code initializes at load: make it constexpr or local",
	  true },
	{ "exception handling disabled", "kernels have no exceptions: return instead", false },
	{ "with '-fno-rtti'", "kernels have no run-time type information", false },
	{ "with \xe2\x80\x98-fno-rtti\xe2\x80\x99", "kernels have no run-time type information",
	  false },
};

/* Explain an error in the declaration of the entry. */
static char *explain_entry(const char *message, const struct kl_contract *contract,
			   const struct kl_file *file, size_t nfile)
{
	KL_AUTO(kl_buf_release) struct kl_buf have = KL_BUF_INIT;
	const char *what = strstr(message, "error: "), *failed = "static assertion failed: ";

	if (!what)
		return NULL;
	what += strlen("error: ");
	what += !strncmp(what, "#error ", 7) ? 7 : 0;
	if (!strncmp(what, failed, strlen(failed)))
		return kl_asprintf("the entry '%s' does not fit the contract: %s", contract->entry,
				   what + strlen(failed));
	kl_proto_list(&have, file, nfile, false);
	return kl_asprintf("no source defines the entry '%s': %s (defined: %s)", contract->entry,
			   what, have.len ? have.ptr : "no function");
}

char *kl_cxx_explain(const char *message, const char **class_, const struct kl_contract *contract,
		     const struct kl_file *file, size_t nfile)
{
	if (!strncmp(message, PLACE ":", strlen(PLACE) + 1))
		return explain_entry(message, contract, file, nfile);
	for (size_t i = 0; i < KL_ARRAY_SIZE(parts); i++) {
		if (!strstr(message, parts[i].mark))
			continue;
		if (parts[i].runtime)
			*class_ = "compile";
		return kl_asprintf("%s: %s", message, parts[i].advice);
	}
	return NULL;
}
