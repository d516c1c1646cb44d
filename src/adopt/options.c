/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/options.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "contract/contract.h"
#include "contract/flags.h"

void kl_options_release(struct kl_options *options)
{
	kl_strvec_release(&options->include);
	kl_strvec_release(&options->iquote);
	kl_strvec_release(&options->isystem);
	kl_strvec_release(&options->outside);
	kl_strvec_release(&options->preinclude);
	kl_strvec_release(&options->define);
	kl_strvec_release(&options->undefine);
	kl_strvec_release(&options->flags);
	kl_strvec_release(&options->dropped);
}

void kl_options_copy(struct kl_options *to, const struct kl_options *from)
{
	kl_strvec_copy(&to->include, &from->include);
	kl_strvec_copy(&to->iquote, &from->iquote);
	kl_strvec_copy(&to->isystem, &from->isystem);
	kl_strvec_copy(&to->outside, &from->outside);
	kl_strvec_copy(&to->preinclude, &from->preinclude);
	kl_strvec_copy(&to->define, &from->define);
	kl_strvec_copy(&to->undefine, &from->undefine);
	kl_strvec_copy(&to->flags, &from->flags);
	kl_strvec_copy(&to->dropped, &from->dropped);
}

/*
 * Remove the strings that begin with a prefix. If `macro` is true, remove only those in which
 * nothing or a '=' follows the prefix.
 */
static void remove_all(struct kl_strvec *list, const char *prefix, bool macro)
{
	size_t n = strlen(prefix), to = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->v[i];

		if (kl_prefix_has(text, prefix) && (!macro || !text[n] || text[n] == '='))
			free(list->v[i]);
		else
			list->v[to++] = list->v[i];
	}
	list->n = to;
	if (list->v)
		list->v[to] = NULL;
}

static void drop_option(struct kl_options *out, const char *option, const char *reason)
{
	KL_AUTO(kl_freep) char *line = kl_asprintf("%.200s: %s", option, reason);

	kl_strvec_add_once(&out->dropped, line);
}

/*
 * --- macros -----------------------------------------------------------------------------------
 */

static void take_macro(struct kl_options *out, const char *text, bool defined)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(text, strcspn(text, "="));
	KL_AUTO(kl_freep) char *option = kl_asprintf("-%c%s", defined ? 'D' : 'U', text);

	remove_all(&out->define, name, true);
	remove_all(&out->undefine, name, true);
	if (!strcmp(name, "NDEBUG") || !strcmp(name, "_FORTIFY_SOURCE")) {
		if (!defined || name[0] == '_')
			drop_option(out, option, "the gate sets this macro itself");
		return;
	}
	if (defined ? kl_contract_define.is_valid(text, strlen(text)) :
		      kl_contract_undefine.is_valid(text, strlen(text)))
		kl_strvec_push(defined ? &out->define : &out->undefine, text);
	else
		drop_option(out, option,
			    "a contract cannot define this macro, because its name is reserved, or "
			    "it has parameters or characters other than printable ASCII");
}

/*
 * --- flags ------------------------------------------------------------------------------------
 */

/*
 * Return true for an option that concerns building and linking, but does not change the code of a
 * file.
 */
static bool is_silent(const char *word)
{
	/* clang-format off */
	static const char *const exact[] = {
		"-c", "-S", "-E", "-s", "-v", "-pipe", "-w", "-pg", "-pthread", "-shared", "-static",
		"-m64", "-rdynamic", "-fPIC", "-fpic", "-fPIE", "-fpie", "-pie", "-no-pie", "-fno-pie",
		"-fno-common", "-save-temps", "-MMD", "-MD", "-MP", "-MG", "-M", "-MM", "-pedantic",
		"-pedantic-errors", "-fno-plt", "-ffunction-sections", "-fdata-sections", "-fno-ident",
		"-fno-stack-protector", "-fno-exceptions", "-fno-asynchronous-unwind-tables",
		"-fno-lto",
	};
	static const char *const prefix[] = {
		"-W", "-g", "-l", "-L", "-fdiagnostics-", "-fmessage-length", "-fvisibility",
		"-fmacro-prefix-map", "-ffile-prefix-map", "-fdebug-prefix-map",
	};
	/* clang-format on */

	if (kl_prefix_has(word, "-Wp,"))
		return false; /* because it could define a macro */
	for (size_t i = 0; i < KL_ARRAY_SIZE(exact); i++)
		if (!strcmp(exact[i], word))
			return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(prefix); i++)
		if (kl_prefix_has(word, prefix[i]))
			return true;
	return false;
}

static const char *reason_of(const char *word)
{
	static const struct {
		const char *prefix, *reason;
	} rows[] = {
		{ "-march", "the platform sets the architecture" },
		{ "-mtune", "the platform sets the architecture" },
		{ "-mcpu", "the platform sets the architecture" },
		{ "-fopenmp",
		  "a kernel runs on one thread, so OpenMP's pragmas are ignored, unless "
		  "you add 'threads: <n>' to 'surface'" },
		{ "-fopen", "a kernel runs on one thread" },
		{ "-flto", "each file is compiled by itself" },
		{ "-fwhole-program", "each file is compiled by itself" },
		{ "-fprofile", "a kernel is compiled without a recorded profile" },
		{ "-fexceptions", "a kernel has no exceptions" },
		{ "-frtti", "a kernel has no run-time type information" },
		{ "-stdlib", "a kernel is compiled with the headers of libstdc++" },
		{ "-fsanitize", "a sanitizer makes system calls, which a kernel may not make" },
		{ "-fstack", "the gate sets this itself" },
		{ "-fcf-protection", "the gate sets this itself" },
		{ "-Wp,", "adopt does not read lists of preprocessor options" },
		{ "@", "adopt does not read files of options" },
		{ "-nostdinc", "a kernel can always include the headers of the C library" },
		{ "-isysroot", "a kernel is compiled with the headers of this system" },
		{ "--sysroot", "a kernel is compiled with the headers of this system" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (kl_prefix_has(word, rows[i].prefix))
			return rows[i].reason;
	return "a contract cannot have this flag (docs/formats.md, Flags)";
}

/* Return the name that a contract has for a flag with several names. */
static const char *usual_name(const char *word)
{
	static const char *const names[][2] = {
		{ "-O", "-O1" },
		{ "-O4", "-O3" },
		{ "-std=c++0x", "-std=c++11" },
		{ "-std=gnu++0x", "-std=gnu++11" },
		{ "-std=c++1y", "-std=c++14" },
		{ "-std=gnu++1y", "-std=gnu++14" },
		{ "-std=c++1z", "-std=c++17" },
		{ "-std=gnu++1z", "-std=gnu++17" },
		{ "-std=c++2a", "-std=c++20" },
		{ "-std=gnu++2a", "-std=gnu++20" },
		{ "-std=c++2b", "-std=c++23" },
		{ "-std=gnu++2b", "-std=gnu++23" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i][0], word))
			return names[i][1];
	return word;
}

static void take_flag(struct kl_options *out, const char *word, const struct kl_language *language)
{
	const char *flag = usual_name(word);

	if (is_silent(word))
		return;
	if (language->flag_ok(flag) < 0) {
		kl_error_clear();
		drop_option(out, word, reason_of(word));
		return;
	}
	if (kl_prefix_has(flag, "-O"))
		remove_all(&out->flags, "-O", false);
	if (kl_prefix_has(flag, "-std=") || !strcmp(flag, "-ansi")) {
		remove_all(&out->flags, "-std=", false);
		remove_all(&out->flags, "-ansi", false);
	}
	kl_strvec_add_once(&out->flags, flag);
}

/* --- words of a command ----------------------------------------------------------------------- */

enum value_kind { VALUE_DIR, VALUE_PREINCLUDE, VALUE_DEFINE, VALUE_UNDEFINE };

/* Options whose value matters; the value is the rest of the word, or the next word. */
static const struct valued {
	const char *name;
	enum value_kind kind;
	size_t list; /* VALUE_DIR: offset of the list in struct kl_options */
} valued[] = {
	{ "-include", VALUE_PREINCLUDE, 0 },
	{ "-isystem", VALUE_DIR, offsetof(struct kl_options, isystem) },
	{ "-idirafter", VALUE_DIR, offsetof(struct kl_options, isystem) },
	{ "-iquote", VALUE_DIR, offsetof(struct kl_options, iquote) },
	{ "-I", VALUE_DIR, offsetof(struct kl_options, include) },
	{ "-D", VALUE_DEFINE, 0 },
	{ "-U", VALUE_UNDEFINE, 0 },
};

static void take_value(struct kl_options *out, const struct valued *option, const char *value,
		       const struct kl_command *command)
{
	KL_AUTO(kl_freep) char *path = NULL;

	switch (option->kind) {
	case VALUE_DIR:
		path = kl_fs_resolve(command->dir, value);
		kl_strvec_add_once((struct kl_strvec *)((char *)out + option->list), path);
		break;
	case VALUE_PREINCLUDE:
		kl_strvec_add_once(&out->preinclude, value);
		break;
	case VALUE_DEFINE:
	case VALUE_UNDEFINE:
		take_macro(out, value, option->kind == VALUE_DEFINE);
		break;
	}
}

/* Read the word at `i` with its value, and return the index of the word after them. */
static size_t read_word(struct kl_options *out, const struct kl_command *command, size_t i,
			const struct kl_language *language)
{
	const struct kl_strvec *words = &command->word;
	const char *word = words->v[i];

	for (size_t k = 0; k < KL_ARRAY_SIZE(valued); k++) {
		size_t n = strlen(valued[k].name);

		if (strncmp(word, valued[k].name, n))
			continue;
		if (word[n]) {
			take_value(out, &valued[k], word + n, command);
			return i + 1;
		}
		if (i + 1 < words->n)
			take_value(out, &valued[k], words->v[i + 1], command);
		return i + 2;
	}
	if (kl_command_takes_word(word)) {
		if (!strcmp(word, "-imacros") || !strcmp(word, "-Xpreprocessor") ||
		    !strcmp(word, "-specs") || !strcmp(word, "-isysroot"))
			drop_option(out, word, reason_of(word));
		return i + 2;
	}
	if (word[0] == '-' || word[0] == '@')
		take_flag(out, word, language);
	return i + 1;
}

void kl_options_read(struct kl_options *out, const struct kl_command *command,
		     const struct kl_language *language)
{
	for (size_t i = 1; i < command->word.n;)
		i = read_word(out, command, i, language);
	for (size_t i = 0; i < command->unknown.n; i++)
		drop_option(out, command->unknown.v[i],
			    "only a shell can expand this, and adopt does not run the commands of "
			    "the build");
}

/* --- options of further units ----------------------------------------------------------------- */

static void merge_list(struct kl_strvec *to, const struct kl_strvec *from)
{
	for (size_t i = 0; i < from->n; i++)
		kl_strvec_add_once(to, from->v[i]);
}

/* Return the definition of a macro in a list; NULL if there is none. */
static const char *find_macro(const struct kl_strvec *list, const char *text)
{
	size_t n = strcspn(text, "=");

	for (size_t i = 0; i < list->n; i++)
		if (!strncmp(list->v[i], text, n) && (!list->v[i][n] || list->v[i][n] == '='))
			return list->v[i];
	return NULL;
}

/* Add an option of another unit to `dropped`, because the kernel is compiled without it. */
static void report_other(struct kl_options *to, const char *option, const char *text,
			 const char *unit)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s of %s", option, text, unit);

	drop_option(to, name, "the kernel's own file is compiled with other options");
}

static void merge_macros(struct kl_options *to, const struct kl_options *from, const char *unit)
{
	for (size_t i = 0; i < from->define.n; i++) {
		const char *text = from->define.v[i], *other = find_macro(&to->define, text);

		if (!other && !find_macro(&to->undefine, text))
			kl_strvec_push(&to->define, text);
		else if (!other || strcmp(other, text))
			report_other(to, "-D", text, unit);
	}
	for (size_t i = 0; i < from->undefine.n; i++) {
		const char *name = from->undefine.v[i];

		if (find_macro(&to->define, name))
			report_other(to, "-U", name, unit);
		else
			kl_strvec_add_once(&to->undefine, name);
	}
}

void kl_options_merge(struct kl_options *to, const struct kl_options *from, const char *unit)
{
	merge_list(&to->include, &from->include);
	merge_list(&to->iquote, &from->iquote);
	merge_list(&to->isystem, &from->isystem);
	merge_list(&to->outside, &from->outside);
	merge_list(&to->preinclude, &from->preinclude);
	merge_macros(to, from, unit);
	for (size_t i = 0; i < from->flags.n; i++)
		if (!kl_strvec_has(&to->flags, from->flags.v[i]))
			report_other(to, "", from->flags.v[i], unit);
}
