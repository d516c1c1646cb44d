/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/recompile.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/key.h"
#include "base/mem.h"

#define MAX_OBJECT ((size_t)64 << 20)
#define EARLIEST UINT64_C(315532800) /* 1980 */
#define SPAN UINT64_C(3786912000)    /* 120 years */

/* The conditions of one run. */
struct world {
	char folder[64];
	bool absolute; /* sources are named by absolute paths */
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

static bool is_c(const struct kl_file *file)
{
	size_t n = strlen(file->path);

	return n > 2 && !strcmp(file->path + n - 2, ".c");
}

static int lay_out(const struct kl_recompile *recompile, const struct world *world)
{
	const struct timespec when = { .tv_sec = (time_t)world->date };
	const struct timespec times[2] = { when, when };
	int err = 0;

	for (size_t i = 0; !err && i < recompile->nfile; i++) {
		const struct kl_file *file = &recompile->file[i];
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s/%s", recompile->dir,
							   world->folder, file->path);

		err = kl_tool_put(recompile->dir, world->folder, file->path, file->data, file->len);
		if (!err && utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
			err = kl_error_errno("cannot set the time of '%s'", path);
	}
	return err;
}

/* --- running gcc --------------------------------------------------------------------------- */

static void make_env(struct kl_strvec *env, const struct kl_recompile *recompile,
		     const struct world *world)
{
	kl_strvec_push(env, "PATH=/usr/bin:/bin");
	kl_strvec_pushf(env, "HOME=%s", recompile->dir);
	kl_strvec_push(env, "LC_ALL=C");
	kl_strvec_pushf(env, "TMPDIR=%s", recompile->dir);
	kl_strvec_pushf(env, "SOURCE_DATE_EPOCH=%llu", (unsigned long long)world->date);
}

static int run_gcc(const struct kl_recompile *recompile, const struct world *world,
		   const struct kl_strvec *argv, struct kl_buf *out, const char *source)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s' once more", source);
	KL_AUTO(kl_freep) char *prefix = world->absolute ? kl_asprintf("%s/%s/", recompile->dir,
								       world->folder) :
							   kl_asprintf("%s/", world->folder);
	const char *class_ = NULL;
	struct kl_tool tool = { .jail = recompile->jail,
				.dir = recompile->dir,
				.prefix = prefix,
				.class_ = &class_,
				.log = KL_BUF_INIT };
	int err;

	make_env(&env, recompile, world);
	tool.env = (const char *const *)env.v;
	err = kl_tool_run(&tool, argv, out, what);
	kl_buf_release(&tool.log);
	return err;
}

static void make_command(struct kl_strvec *argv, const struct kl_recompile *recompile,
			 const struct world *world, const struct kl_file *file, const char *object)
{
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s%s%s/%s",
						     world->absolute ? recompile->dir : "",
						     world->absolute ? "/" : "", world->folder,
						     file->path);

	recompile->command(argv, recompile->payload, world->folder, source, object);
}

static char *object_path(const struct kl_recompile *recompile, size_t i)
{
	return kl_asprintf("%s/object/%zu.o", recompile->dir, i);
}

static int compile_source(const struct kl_recompile *recompile, const struct world *world, size_t i)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *object = kl_asprintf("object/%zu.o", i);

	make_command(&argv, recompile, world, &recompile->file[i], object);
	return run_gcc(recompile, world, &argv, NULL, recompile->file[i].path);
}

/* Preprocess it, without the lines that name files. */
static int preprocess(struct kl_buf *out, const struct kl_recompile *recompile,
		      const struct world *world, size_t i)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec whole = KL_STRVEC_INIT, argv = KL_STRVEC_INIT;

	make_command(&whole, recompile, world, &recompile->file[i], "-");
	for (size_t k = 0; k < whole.n; k++) {
		if (!strcmp(whole.v[k], "-o"))
			k++;
		else
			kl_strvec_push(&argv, strcmp(whole.v[k], "-c") ? whole.v[k] : "-E");
	}
	kl_strvec_push(&argv, "-P");
	return run_gcc(recompile, world, &argv, out, recompile->file[i].path);
}

/* --- what a source depends on ----------------------------------------------------------------- */

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

/* One of the macros that the sources mention, or NULL. */
static const char *find_macro(const struct kl_recompile *recompile)
{
	static const char *const macros[] = { "__FILE__",     "__BASE_FILE__", "__DATE__",
					      "__TIME__",     "__TIMESTAMP__", "__builtin_FILE",
					      "__has_include" };

	for (size_t i = 0; i < recompile->nfile; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(macros); k++)
			if (has_word(recompile->file[i].data, recompile->file[i].len, macros[k]))
				return macros[k];
	return NULL;
}

static int refuse_source(const struct kl_recompile *recompile, size_t i)
{
	const char *macro = find_macro(recompile);

	return kl_error(KL_ENO, "%s: depends on where or when it is compiled%s%s",
			recompile->file[i].path, macro ? ": remove " : "", macro ? macro : "");
}

static int check_text(const struct kl_recompile *recompile, const struct world *left,
		      const struct world *right, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf one = KL_BUF_INIT, other = KL_BUF_INIT;
	int err = preprocess(&one, recompile, left, i);

	if (!err)
		err = preprocess(&other, recompile, right, i);
	if (err < 0)
		return err;
	/* this one is no macro: the compiler replaces it */
	if (has_word(one.ptr, one.len, "__builtin_FILE") || one.len != other.len ||
	    memcmp(one.ptr, other.ptr, one.len))
		return refuse_source(recompile, i);
	return 0;
}

int kl_recompile_run(const struct kl_recompile *recompile)
{
	struct world world[3];
	KL_AUTO(kl_freep) char *objects = kl_fs_join(recompile->dir, "object");
	int err = kl_fs_remove(recompile->dir);

	if (!err)
		err = kl_fs_mkdir(objects);
	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(world); i++) {
		draw_world(&world[i], i != 1);
		err = lay_out(recompile, &world[i]);
	}
	for (size_t i = 0; !err && i < recompile->nfile; i++) {
		if (!is_c(&recompile->file[i]))
			continue;
		err = compile_source(recompile, &world[0], i);
		if (!err)
			err = check_text(recompile, &world[1], &world[2], i);
	}
	return err;
}

int kl_recompile_compare(const struct kl_recompile *recompile, size_t i, const void *bytes,
			 size_t len)
{
	KL_AUTO(kl_freep) char *path = object_path(recompile, i);
	KL_AUTO(kl_buf_release) struct kl_buf object = KL_BUF_INIT;
	int err = kl_fs_read(&object, path, MAX_OBJECT);

	if (err < 0)
		return err;
	return object.len == len && !memcmp(object.ptr, bytes, len) ? 0 :
								      refuse_source(recompile, i);
}
