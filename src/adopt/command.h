/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_COMMAND_H
#define KL_ADOPT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/vec.h"

/*
 * command - reads the commands by which a project compiles its files. They are read from
 * compile_commands.json or from the output of `make -n -w`. Both are hostile input, and no command
 * in them is run.
 */
#define KL_COMMANDS_MAX 100000
#define KL_COMMANDS_MAX_BYTES ((size_t)256 << 20)

/* How one source file is compiled. Paths are absolute, without "." and "..". */
struct kl_command {
	char *dir;                /* directory in which the compiler runs */
	char *file;               /* the source */
	struct kl_strvec word;    /* the compiler and its arguments */
	struct kl_strvec unknown; /* words whose value depends on a shell */
};

struct kl_commands {
	struct kl_command *v;
	size_t n, alloc;
	char *origin;   /* source of the commands, for messages */
	size_t skipped; /* lines or entries that could not be read */
};

/**
 * Read a compile_commands.json that lies in the directory `dir`. Entries of another form are
 * counted in `skipped`. Return KL_EINVALID if the text is not a list in JSON, or has too many
 * entries.
 */
int kl_commands_json(struct kl_commands *out, const char *dir, const char *text, size_t len);
/**
 * Read the output of `make -n -w`, started in the directory `dir`: lines of shell, and between them
 * the directories that make enters and leaves.
 */
int kl_commands_make(struct kl_commands *out, const char *dir, const char *text, size_t len);
/** Add the command `argv`, NULL-terminated, which compiles `file` in the directory `dir`. */
int kl_commands_add(struct kl_commands *out, const char *dir, const char *file,
		    const char *const *argv);
void kl_commands_release(struct kl_commands *commands);

/** Return true if the compiler's option takes the next word as its value: "-I", "-include" ... */
bool kl_command_takes_word(const char *option);

#endif
