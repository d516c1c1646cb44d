/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/conditions.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/c/declarations.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/key.h"
#include "base/mem.h"

#define EARLIEST UINT64_C(315532800) /* 1 January 1980, in seconds since 1970 */
#define SPAN UINT64_C(3786912000)    /* 120 years, in seconds */

/* The conditions of one preprocessor run. */
struct world {
	char folder[64];
	bool absolute; /* name sources by absolute paths */
	uint64_t date; /* seconds since 1970 */
};

static void draw_world(struct world *world, bool absolute)
{
	struct {
		uint64_t name[2], length, date;
	} draw;

	kl_key_random(&draw, sizeof(draw));
	snprintf(world->folder, sizeof(world->folder), "%.*s%016llx%016llx",
		 1 + (int)(draw.length % 16), "kernels-of-this-project",
		 (unsigned long long)draw.name[0], (unsigned long long)draw.name[1]);
	world->absolute = absolute;
	world->date = EARLIEST + draw.date % SPAN;
}

static int lay_out(const struct kl_conditions *conditions, const struct world *world)
{
	const struct timespec when = { .tv_sec = (time_t)world->date };
	const struct timespec times[2] = { when, when };
	int err = 0;

	for (size_t i = 0; !err && i < conditions->nfile; i++) {
		const struct kl_file *file = &conditions->file[i];
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s/%s", conditions->dir,
							   world->folder, file->path);

		err = kl_tool_put(conditions->dir, world->folder, file->path, file->data,
				  file->len);
		if (!err && utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
			err = kl_error_errno("cannot set the time of '%s'", path);
	}
	return err;
}

/* --- running gcc --------------------------------------------------------------------------- */

static void make_env(struct kl_strvec *env, const struct kl_conditions *conditions,
		     const struct world *world)
{
	kl_strvec_push(env, "PATH=/usr/bin:/bin");
	kl_strvec_pushf(env, "HOME=%s", conditions->dir);
	kl_strvec_push(env, "LC_ALL=C");
	kl_strvec_pushf(env, "TMPDIR=%s", conditions->dir);
	kl_strvec_pushf(env, "SOURCE_DATE_EPOCH=%llu", (unsigned long long)world->date);
}

static int run_gcc(const struct kl_conditions *conditions, const struct world *world,
		   const struct kl_strvec *argv, struct kl_buf *out, const char *source)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("preprocessing '%s'", source);
	KL_AUTO(kl_freep) char *prefix = world->absolute ? kl_asprintf("%s/%s/", conditions->dir,
								       world->folder) :
							   kl_asprintf("%s/", world->folder);
	const char *class_ = NULL;
	struct kl_tool tool = { .jail = conditions->jail,
				.dir = conditions->dir,
				.prefix = prefix,
				.class_ = &class_,
				.log = KL_BUF_INIT };
	int err;

	make_env(&env, conditions, world);
	tool.env = (const char *const *)env.v;
	err = kl_tool_run(&tool, argv, out, what);
	kl_buf_release(&tool.log);
	return err;
}

/* Preprocess source `i`. With -P, the output has no lines that name files. */
static int preprocess(struct kl_buf *out, const struct kl_conditions *conditions,
		      const struct world *world, size_t i)
{
	const char *path = conditions->file[i].path;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;

	conditions->command(&argv, conditions->payload, world->folder);
	kl_strvec_push(&argv, "-E");
	kl_strvec_push(&argv, "-P");
	kl_strvec_pushf(&argv, "%s%s%s/%s", world->absolute ? conditions->dir : "",
			world->absolute ? "/" : "", world->folder, path);
	return run_gcc(conditions, world, &argv, out, path);
}

/* --- comparing the preprocessed texts --------------------------------------------------------- */

static bool in_name(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

static bool has_word(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = memmem(at, (size_t)(text + len - at), word, n)); at += n)
		if ((at == text || !in_name(at[-1])) && (at + n == text + len || !in_name(at[n])))
			return true;
	return false;
}

/*
 * Find a macro that can explain the difference, for the message; NULL if the sources mention none.
 */
static const char *find_macro(const struct kl_conditions *conditions)
{
	static const char *const macros[] = { "__FILE__",     "__BASE_FILE__", "__DATE__",
					      "__TIME__",     "__TIMESTAMP__", "__builtin_FILE",
					      "__has_include" };

	for (size_t i = 0; i < conditions->nfile; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(macros); k++)
			if (has_word(conditions->file[i].data, conditions->file[i].len, macros[k]))
				return macros[k];
	return NULL;
}

static int refuse_source(const struct kl_conditions *conditions, size_t i)
{
	const char *macro = find_macro(conditions);

	return kl_error(KL_ENO, "%s: depends on where or when it is compiled%s%s",
			conditions->file[i].path, macro ? ": remove " : "", macro ? macro : "");
}

/* Preprocess all units in one world. */
static int read_world(struct kl_strvec *out, const struct kl_conditions *conditions,
		      const struct world *world)
{
	int err = 0;

	for (size_t i = 0; !err && i < conditions->nfile; i++) {
		struct kl_buf text = KL_BUF_INIT;

		if (!conditions->is_unit(conditions->payload, conditions->file[i].path))
			continue;
		kl_buf_adds(&text, "");
		err = preprocess(&text, conditions, world, i);
		/* replace NULs, because a NUL in a literal would hide the text after it */
		for (size_t k = 0; k < text.len; k++)
			text.ptr[k] = text.ptr[k] ? text.ptr[k] : '\1';
		kl_strvec_take(out, kl_buf_detach(&text));
	}
	return err;
}

/*
 * Return a copy of the text with `mark` in place of __builtin_FILE. The preprocessor leaves this
 * word to the compiler, so without the marks two texts would be equal even if a source uses it.
 */
static char *mark_builtin(const char *text, const char *mark)
{
	static const char word[] = "__builtin_FILE";
	struct kl_buf out = KL_BUF_INIT;
	const char *at;

	kl_buf_adds(&out, "");
	while ((at = strstr(text, word))) {
		kl_buf_add(&out, text, (size_t)(at - text));
		kl_buf_adds(&out, mark);
		text = at + sizeof(word) - 1;
	}
	kl_buf_adds(&out, text);
	return kl_buf_detach(&out);
}

static size_t nth_unit(const struct kl_conditions *conditions, size_t nth)
{
	for (size_t i = 0; i < conditions->nfile; i++)
		if (conditions->is_unit(conditions->payload, conditions->file[i].path) && !nth--)
			return i;
	return 0;
}

/* Compare the parts that the kernel reaches in the texts of two worlds. */
static int compare_worlds(const struct kl_conditions *conditions, struct kl_strvec *left,
			  struct kl_strvec *right)
{
	size_t differs = left->n;

	for (size_t i = 0; i < left->n; i++)
		if (strcmp(left->v[i], right->v[i]) || strstr(left->v[i], "__builtin_FILE"))
			differs = i < differs ? i : differs;
	if (differs == left->n)
		return 0;
	for (size_t i = 0; i < left->n; i++) {
		char *one = mark_builtin(left->v[i], "__builtin_FILE_here");
		char *other = mark_builtin(right->v[i], "__builtin_FILE_there");

		free(left->v[i]);
		free(right->v[i]);
		left->v[i] = one;
		right->v[i] = other;
	}
	if (conditions->entries && kl_declarations_alike(left, right, conditions->entries))
		return 0;
	return refuse_source(conditions, nth_unit(conditions, differs));
}

int kl_conditions_check(const struct kl_conditions *conditions)
{
	struct world world[2];
	struct kl_strvec text[KL_ARRAY_SIZE(world)] = { KL_STRVEC_INIT };
	/* a jail without mounts cannot reach the directory by its absolute path */
	bool reachable = !conditions->jail->no_mounts;
	int err = kl_fs_remove(conditions->dir);

	if (!err)
		err = kl_fs_mkdir(conditions->dir);
	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(world); i++) {
		draw_world(&world[i], i == 1 && reachable);
		err = lay_out(conditions, &world[i]);
	}
	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(world); i++)
		err = read_world(&text[i], conditions, &world[i]);
	if (!err)
		err = compare_worlds(conditions, &text[0], &text[1]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(world); i++)
		kl_strvec_release(&text[i]);
	return err;
}
