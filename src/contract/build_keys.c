/* SPDX-License-Identifier: Apache-2.0 */
/* build_keys - reads the keys of `surface` that say how C sources are built: defines, includes ... */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/parts.h"

#define MAX_NAME 63
#define MAX_DEFINE 256

/* --- names and values of macros ----------------------------------------------------------- */

/* macros that select what the headers of the C library declare */
static const char *const features[] = {
	"_GNU_SOURCE",
	"_DEFAULT_SOURCE",
	"_BSD_SOURCE",
	"_SVID_SOURCE",
	"_POSIX_C_SOURCE",
	"_POSIX_SOURCE",
	"_XOPEN_SOURCE",
	"_XOPEN_SOURCE_EXTENDED",
	"_ISOC99_SOURCE",
	"_ISOC11_SOURCE",
	"_LARGEFILE_SOURCE",
	"_LARGEFILE64_SOURCE",
	"_FILE_OFFSET_BITS",
	"_REENTRANT",
	"_THREAD_SAFE",
	"_ATFILE_SOURCE",
	NULL,
};

static bool is_listed(const char *const *list, const char *text, size_t n)
{
	for (; *list; list++)
		if (strlen(*list) == n && !strncmp(*list, text, n))
			return true;
	return false;
}

/*
 * Return true if a contract may define or undefine the macro. Names that begin with '_' belong to
 * the compiler, except those in the list; `kl_` and `KL_` belong to the gate.
 */
static bool is_macro(const char *text, size_t n)
{
	if (!n || n > MAX_NAME || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	if (!strncmp(text, "kl_", 3) || !strncmp(text, "KL_", 3))
		return false;
	return *text != '_' || is_listed(features, text, n);
}

static bool is_define(const char *text, size_t len)
{
	size_t n = strcspn(text, "=");

	if (len > MAX_DEFINE || strlen(text) != len || !is_macro(text, n))
		return false;
	for (const char *ch = text + n; *ch; ch++)
		if ((unsigned char)*ch < 0x20 || (unsigned char)*ch >= 0x7f)
			return false;
	return true;
}

static bool is_plain_define(const char *text, size_t len)
{
	const char *value = text + strcspn(text, "=");

	return is_define(text, len) && !value[strspn(value, "=abcdefghijklmnopqrstuvwxyz"
							    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							    "0123456789_.+-")];
}

static bool is_undefine(const char *text, size_t len)
{
	return strlen(text) == len && is_macro(text, len) && strcmp(text, "NDEBUG");
}

const struct kl_string_type kl_contract_define = {
	"a macro (NAME or NAME=value, of at most 256 printable characters; no name of the compiler, "
	"of the gate or with parameters)",
	is_define, NULL
};
const struct kl_string_type kl_contract_plain_define = {
	"a macro for nvcc (NAME or NAME=value, whose value has only letters, digits and _ . + -; no "
	"name of the compiler or of the gate)",
	is_plain_define, NULL
};
const struct kl_string_type kl_contract_undefine = {
	"a macro's name (none of the compiler or the gate, which always defines NDEBUG)",
	is_undefine, NULL
};

/* --- directories and traps ------------------------------------------------------------------ */

static int check_directory(const char *file, const struct kl_yaml *node, const char *key)
{
	return !strcmp(node->text, ".") ? 0 : kl_contract_path.check(file, node, key);
}

const struct kl_string_type kl_contract_directory = { "a directory", NULL, check_directory };

/*
 * functions that programs call when they report an error or give up, and the streams that these
 * write to
 */
static const char *const traps[] = {
	"abort",
	"exit",
	"_exit",
	"_Exit",
	"__assert_fail",
	"__assert",
	"raise",
	"printf",
	"fprintf",
	"vprintf",
	"vfprintf",
	"puts",
	"putchar",
	"putc",
	"fputs",
	"fputc",
	"fwrite",
	"fflush",
	"perror",
	"snprintf",
	"vsnprintf",
	"sprintf",
	"__printf_chk",
	"__fprintf_chk",
	"__stack_chk_fail",
	"err",
	"errx",
	"warn",
	"warnx",
	"error",
	"strerror",
	"__errno_location",
	"stderr",
	"stdout",
	NULL,
};

bool kl_contract_may_trap(const char *name)
{
	return is_listed(traps, name, strlen(name));
}

static bool is_trap(const char *text, size_t len)
{
	return strlen(text) == len && kl_contract_may_trap(text);
}

const struct kl_string_type kl_contract_trap = {
	"a function that reports an error or ends the program (docs/formats.md, section 1, lists them)",
	is_trap, NULL
};

/* --- what the keys mean ------------------------------------------------------------------------ */

/*
 * Append "<option><folder>/<path>" for each path; if `apart`, append the option and the path as two
 * arguments.
 */
static void add_paths(struct kl_strvec *argv, const char *option, bool apart, const char *folder,
		      const struct kl_strvec *paths)
{
	for (size_t i = 0; i < paths->n; i++) {
		bool top = !strcmp(paths->v[i], ".");
		KL_AUTO(kl_freep) char *path = top ? kl_strdup(folder) :
						     kl_fs_join(folder, paths->v[i]);

		if (apart)
			kl_strvec_push(argv, option);
		kl_strvec_pushf(argv, "%s%s", apart ? "" : option, path);
	}
}

void kl_contract_build_flags(struct kl_strvec *argv, const struct kl_contract *contract,
			     const char *folder)
{
	const struct kl_contract_build *build = &contract->build;

	for (size_t i = 0; i < build->undefine.n; i++)
		kl_strvec_pushf(argv, "-U%s", build->undefine.v[i]);
	for (size_t i = 0; i < build->define.n; i++)
		kl_strvec_pushf(argv, "-D%s", build->define.v[i]);
	add_paths(argv, "-iquote", true, folder, &build->iquote);
	add_paths(argv, "-I", false, folder, &build->include);
	add_paths(argv, "-isystem", true, folder, &build->isystem);
	add_paths(argv, "-include", true, folder, &build->preinclude);
}

static int check_listed(const struct kl_contract *contract, const struct kl_yaml *section,
			const char *key, const struct kl_strvec *paths)
{
	const struct kl_yaml *node = kl_yaml_get(section, key);

	for (size_t i = 0; i < paths->n; i++)
		if (!kl_strvec_has(&contract->sources, paths->v[i]))
			return kl_yaml_error(contract->name, node->item[i],
					     "'%.200s' is not one of the sources", paths->v[i]);
	return 0;
}

int kl_contract_build_finish(struct kl_contract *contract, const struct kl_yaml *section)
{
	const struct kl_contract_build *build = &contract->build;
	const struct kl_yaml *units = kl_yaml_get(section, "units");
	int err = check_listed(contract, section, "units", &build->units);

	if (!err)
		err = check_listed(contract, section, "preinclude", &build->preinclude);
	for (size_t i = 0; !err && i < build->units.n; i++)
		if (!kl_suffix_in(build->units.v[i], contract->language->mains))
			err = kl_yaml_error(contract->name, units->item[i],
					    "'%.200s' is not a %s file", build->units.v[i],
					    contract->language->mains[0]);
	return err;
}

void kl_contract_build_release(struct kl_contract_build *build)
{
	kl_strvec_release(&build->units);
	kl_strvec_release(&build->define);
	kl_strvec_release(&build->undefine);
	kl_strvec_release(&build->include);
	kl_strvec_release(&build->iquote);
	kl_strvec_release(&build->isystem);
	kl_strvec_release(&build->preinclude);
	kl_strvec_release(&build->traps);
}
