/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/command.h"

#include <ctype.h>
#include <string.h>

#include "adopt/shell_line.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "text/json.h"

static void command_release(struct kl_command *command)
{
	free(command->dir);
	free(command->file);
	kl_strvec_release(&command->word);
	kl_strvec_release(&command->unknown);
}

void kl_commands_release(struct kl_commands *commands)
{
	for (size_t i = 0; i < commands->n; i++)
		command_release(&commands->v[i]);
	free(commands->v);
	free(commands->origin);
	*commands = (struct kl_commands){ .v = NULL };
}

/* --- words ------------------------------------------------------------------------------------ */

bool kl_command_takes_word(const char *option)
{
	static const char *const options[] = {
		"-o",        "-I",           "-D",         "-U",         "-include",
		"-imacros",  "-isystem",     "-iquote",    "-idirafter", "-isysroot",
		"-iprefix",  "-iwithprefix", "-MF",        "-MT",        "-MQ",
		"-MJ",       "-x",           "-L",         "-l",         "-T",
		"-u",        "-z",           "-e",         "-arch",      "-target",
		"-Xlinker",  "-Xassembler",  "-Xclang",    "-B",         "-Xpreprocessor",
		"--param",   "-framework",   "-A",         "-aux-info",  "-wrapper",
		"-specs",    "-dumpbase",    "-Xcompiler", "-gencode",   "-ccbin",
		"--sysroot",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(options); i++)
		if (!strcmp(options[i], option))
			return true;
	return false;
}

/* Return true if the file's suffix is that of C, C++ or CUDA source. */
static bool is_source(const char *path)
{
	static const char *const suffixes[] = { "c", "cc", "cpp", "cxx", "C", "cu" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < KL_ARRAY_SIZE(suffixes); i++)
		if (!strcmp(dot + 1, suffixes[i]))
			return true;
	return false;
}

/* Return true if the word is the name of a compiler, such as "gcc-12" or "/usr/bin/x86_64-linux-gnu-cc". */
static bool is_compiler(const char *word)
{
	static const char *const names[] = { "gcc", "cc",  "clang", "g++", "c++", "clang++",
					     "icc", "icx", "tcc",   "c99", "c89", "nvcc" };
	const char *slash = strrchr(word, '/');
	KL_AUTO(kl_freep) char *name = kl_strdup(slash ? slash + 1 : word);
	char *dash = strrchr(name, '-');

	if (dash && isdigit((unsigned char)dash[1]) && !dash[1 + strspn(dash + 1, "0123456789.")])
		*dash = '\0';
	dash = strrchr(name, '-');
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!strcmp(dash ? dash + 1 : name, names[i]))
			return true;
	return false;
}

/*
 * Return the index of the compiler in a command; assignments and programs such as ccache can
 * precede it. Return word->n if there is no compiler.
 */
static size_t find_compiler(const struct kl_strvec *word)
{
	for (size_t i = 0; i < word->n; i++)
		if (is_compiler(word->v[i]))
			return i;
	return word->n;
}

/* --- adding commands -------------------------------------------------------------------------- */

static int add_command(struct kl_commands *out, const char *dir, const char *file,
		       const struct kl_strvec *word, size_t from, const struct kl_strvec *unknown)
{
	struct kl_command *command;

	if (out->n == KL_COMMANDS_MAX)
		return kl_error(KL_EINVALID, "the build has more than %d commands",
				KL_COMMANDS_MAX);
	KL_GROW(out->v, out->n + 1, out->alloc);
	command = &out->v[out->n++];
	*command = (struct kl_command){
		.dir = kl_strdup(dir),
		.file = kl_fs_resolve(dir, file),
	};
	for (size_t i = from; i < word->n; i++)
		kl_strvec_push(&command->word, word->v[i]);
	if (unknown)
		kl_strvec_copy(&command->unknown, unknown);
	return 0;
}

int kl_commands_add(struct kl_commands *out, const char *dir, const char *file,
		    const char *const *argv)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;

	kl_strvec_pushv(&word, argv);
	return add_command(out, dir, file, &word, 0, NULL);
}

/* Add a command for each source that the compiler's arguments name. */
static int add_sources(struct kl_commands *out, const char *dir, const struct kl_strvec *word,
		       size_t from, const struct kl_strvec *unknown)
{
	int err = 0;

	for (size_t i = from + 1; !err && i < word->n; i++) {
		if (kl_command_takes_word(word->v[i]))
			i++;
		else if (word->v[i][0] != '-' && is_source(word->v[i]))
			err = add_command(out, dir, word->v[i], word, from, unknown);
	}
	return err;
}

/* --- reading compile_commands.json ------------------------------------------------------------ */

static int add_line(struct kl_commands *out, const char *dir, const char *file, const char *text)
{
	KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };
	int err = kl_shell_split(&line, text, strlen(text));

	if (err < 0) {
		kl_error_clear();
		out->skipped++;
		return 0;
	}
	for (size_t i = 0; i < line.n; i++)
		if (find_compiler(&line.v[i]) < line.v[i].n)
			return add_command(out, dir, file, &line.v[i], find_compiler(&line.v[i]),
					   &line.unknown);
	/* the name is not that of a known compiler, but the entry says that the command compiles */
	if (line.n == 1)
		return add_command(out, dir, file, &line.v[0], 0, &line.unknown);
	out->skipped++;
	return 0;
}

static int add_entry(struct kl_commands *out, const char *dir, const json_t *entry)
{
	const char *in = kl_json_str_or(entry, "directory", "");
	const char *file = kl_json_str_or(entry, "file", "");
	const char *text = kl_json_str_or(entry, "command", NULL);
	const json_t *list = json_object_get(entry, "arguments");
	KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *where = kl_fs_resolve(dir, in);

	kl_json_strings(&word, list);
	if (!*file || (!text && (!word.n || word.n != json_array_size(list)))) {
		out->skipped++;
		return 0;
	}
	return word.n ? add_command(out, where, file, &word, find_compiler(&word) % word.n, NULL) :
			add_line(out, where, file, text);
}

int kl_commands_json(struct kl_commands *out, const char *dir, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *list = NULL;
	json_t *entry;
	size_t i;
	int err = kl_json_parse_lenient(&list, text, len);

	if (err < 0)
		return err;
	if (!json_is_array(list))
		return kl_error(KL_EINVALID, "not a JSON list of commands");
	json_array_foreach(list, i, entry) {
		if ((err = add_entry(out, dir, entry)) < 0)
			return err;
	}
	return 0;
}

/* --- reading what make prints ----------------------------------------------------------------- */

struct make_log {
	struct kl_commands *out;
	struct kl_strvec dirs; /* the directories that make is in, the innermost last */
};

/*
 * Return the directory in a line such as "make[1]: Entering directory '/a/b'"; NULL for another
 * line. The caller frees.
 */
static char *moved_to(const char *line, const char *word)
{
	const char *colon = strstr(line, ": "), *open, *close;

	if (!kl_prefix_has(line, "make") && !kl_prefix_has(line, "gmake"))
		return NULL;
	if (!colon || !kl_prefix_has(colon + 2, word))
		return NULL;
	open = strpbrk(colon + 2, "'`");
	close = open ? strrchr(open + 1, '\'') : NULL;
	return close ? kl_strndup(open + 1, (size_t)(close - open) - 1) : NULL;
}

static bool follow_directory(struct make_log *log, const char *line)
{
	char *entered = moved_to(line, "Entering directory");
	KL_AUTO(kl_freep) char *left = moved_to(line, "Leaving directory");

	if (entered && *entered == '/')
		kl_strvec_take(&log->dirs, entered);
	else
		free(entered);
	if (left && log->dirs.n > 1)
		free(log->dirs.v[--log->dirs.n]);
	return entered || left;
}

static int read_line(struct make_log *log, const char *text, size_t len)
{
	KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };
	KL_AUTO(kl_freep) char *copy = kl_strndup(text, len);
	KL_AUTO(kl_freep) char *dir = NULL;
	int err = 0;

	copy[strcspn(copy, "\r\n")] = '\0';
	if (follow_directory(log, copy))
		return 0;
	if (kl_shell_split(&line, text, len) < 0) {
		kl_error_clear();
		log->out->skipped++;
		return 0;
	}
	dir = kl_strdup(log->dirs.v[log->dirs.n - 1]);
	for (size_t i = 0; !err && i < line.n; i++) {
		const struct kl_strvec *word = &line.v[i];
		size_t compiler = find_compiler(word);

		if (word->n == 2 && !strcmp(word->v[0], "cd")) {
			char *next = kl_fs_resolve(dir, word->v[1]);

			free(dir);
			dir = next;
		} else if (compiler < word->n) {
			err = add_sources(log->out, dir, word, compiler, &line.unknown);
		}
	}
	return err;
}

int kl_commands_make(struct kl_commands *out, const char *dir, const char *text, size_t len)
{
	struct make_log log = { .out = out };
	int err = 0;

	kl_strvec_push(&log.dirs, dir);
	for (size_t at = 0; !err && at < len;) {
		size_t n = 0;

		/* a line that ends in a backslash continues in the next line */
		while (at + n < len &&
		       (text[at + n] != '\n' || (n && text[at + n - 1] == '\\') ||
			(n > 1 && text[at + n - 1] == '\r' && text[at + n - 2] == '\\')))
			n++;
		err = read_line(&log, text + at, n);
		at += n + 1;
	}
	kl_strvec_release(&log.dirs);
	return err;
}
