/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/lookups.h"

#include <string.h>

#include "backend/tool.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/prefix.h"
#include "base/vec.h"

#define SOURCE "lookups.c"
#define MAX_RECORD ((size_t)64 << 20)

/* --- recording lookups -------------------------------------------------------------------- */

int kl_lookups_make(const struct kl_jail *jail, const char *dir)
{
	static const char *const command[] = {
		"gcc", "-shared",          "-fPIC",      "-O1",  "-w",
		"-o",  KL_LOOKUPS_LIBRARY, "rt/" SOURCE, "-ldl", NULL
	};
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, KL_LOOKUPS_LIBRARY);
	const char *class_ = NULL;
	struct kl_tool tool = {
		.jail = jail, .dir = dir, .prefix = "rt/", .class_ = &class_, .log = KL_BUF_INIT
	};
	int err;

	if (kl_fs_exists(path))
		return 0;
	kl_strvec_pushv(&argv, command);
	err = kl_tool_put_runtime(dir, SOURCE);
	if (!err)
		err = kl_tool_run(&tool, &argv, NULL, "compiling '" SOURCE "'");
	kl_buf_release(&tool.log);
	return err == KL_ENO ? kl_error_in(KL_ECANNOT, "the gate's library that records lookups") :
			       err;
}

int kl_lookups_recipe(struct kl_digest *digest)
{
	return kl_tool_digest_runtime(digest, SOURCE);
}

void kl_lookups_watch(struct kl_strvec *argv, const char *folder)
{
	/*
	 * set the variables with env inside the jail, because in the environment of the jail itself
	 * they would also make the program that sets up the jail load the library
	 */
	kl_strvec_push(argv, "env");
	kl_strvec_push(argv, "LD_PRELOAD=" KL_LOOKUPS_LIBRARY);
	kl_strvec_pushf(argv, "KL_LOOKUPS=%s/lookups", folder);
}

/* --- checking a record ----------------------------------------------------------------------- */

/*
 * The headers of C and POSIX in the GNU C library. Headers that reveal more about a machine than
 * the compiler does (linux/version.h, gnu/libc-version.h) are left out.
 */
static const char headers[] =
	" aio.h alloca.h assert.h byteswap.h complex.h ctype.h dirent.h dlfcn.h endian.h err.h"
	" errno.h error.h fcntl.h features-time64.h features.h fenv.h float.h fnmatch.h getopt.h"
	" glob.h inttypes.h iso646.h langinfo.h libgen.h libintl.h limits.h locale.h malloc.h"
	" math.h mcheck.h memory.h monetary.h nl_types.h obstack.h poll.h printf.h pthread.h "
	"regex.h"
	" sched.h search.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h"
	" stdbool.h stdc-predef.h stddef.h stdint.h stdio.h stdio_ext.h stdlib.h stdnoreturn.h"
	" string.h strings.h syscall.h sysexits.h syslog.h termios.h tgmath.h threads.h time.h "
	"uchar.h"
	" ucontext.h unistd.h utime.h values.h wait.h wchar.h wctype.h wordexp.h xlocale.h"
	" gnu/stubs.h gnu/stubs-32.h gnu/stubs-64.h gnu/stubs-x32.h"
	" linux/errno.h linux/limits.h linux/posix_types.h linux/stddef.h linux/types.h"
	" linux/sched/types.h linux/falloc.h linux/stat.h linux/close_range.h linux/param.h"
	" linux/ioctl.h linux/prctl.h"
	" sys/cdefs.h sys/errno.h sys/file.h sys/ioctl.h sys/ipc.h sys/mman.h sys/param.h "
	"sys/poll.h"
	" sys/prctl.h sys/procfs.h sys/queue.h sys/random.h sys/resource.h sys/select.h sys/shm.h"
	" sys/signal.h sys/single_threaded.h sys/socket.h sys/stat.h sys/syscall.h sys/syslog.h"
	" sys/sysmacros.h sys/time.h sys/times.h sys/ttydefaults.h sys/types.h sys/ucontext.h"
	" sys/uio.h sys/un.h sys/unistd.h sys/user.h sys/utsname.h sys/wait.h"
	" arpa/inet.h net/if.h netdb.h netinet/in.h netinet/tcp.h rpc/netdb.h ";

/* Folders of headers that the headers above include. A source may look for any header in them. */
static const char *const folders[] = { "bits/", "asm/", "asm-generic/" };

bool kl_lookups_is_header_of_c(const char *name)
{
	KL_AUTO(kl_freep) char *word = kl_asprintf(" %s ", name);

	for (size_t i = 0; i < KL_ARRAY_SIZE(folders); i++)
		if (kl_prefix_has(name, folders[i]) && !strstr(name, ".."))
			return true;
	return !strchr(name, ' ') && strstr(headers, word);
}

struct reader {
	const struct kl_lookups_rules *rules;
	/* directories in which the current cc1 process searches for headers */
	struct kl_strvec dirs;
	bool reading; /* the current cc1 process has opened a file */
	size_t compilers, assemblers;
};

static void reader_release(struct reader *reader)
{
	kl_strvec_release(&reader->dirs);
}

/*
 * Return the part of a path below a folder, without "." and doubled slashes. Return NULL if the
 * path is not below the folder, or contains "..", which a source could use to find out the folder's
 * name.
 */
static char *path_below(const char *folder, const char *path)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec parts = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf rest = KL_BUF_INIT;
	size_t n = strlen(folder);

	if (strncmp(path, folder, n) || (path[n] != '/' && path[n]))
		return NULL;
	kl_strvec_split(&parts, path + n, "/");
	for (size_t i = 0; i < parts.n; i++) {
		if (!strcmp(parts.v[i], ".."))
			return NULL;
		if (strcmp(parts.v[i], "."))
			kl_buf_addf(&rest, "%s%s", rest.len ? "/" : "", parts.v[i]);
	}
	return kl_buf_detach(&rest);
}

static bool is_below(const char *folder, const char *path)
{
	KL_AUTO(kl_freep) char *rest = folder ? path_below(folder, path) : NULL;

	return rest != NULL;
}

/*
 * Return true if the path is below the folder of sources. It may contain ".." (`#include "../b.h"`
 * in a file of a subfolder) if it never leaves the folder.
 */
static bool is_source(const struct reader *reader, const char *path)
{
	size_t n = strlen(reader->rules->sources);
	int depth = 0;

	/* gcc looks for the file of -include in the directory in which it runs, "./" */
	if (!strncmp(path, "./", 2))
		path += 2;
	if (strncmp(path, reader->rules->sources, n) || path[n] != '/')
		return false;
	for (const char *part = path + n; *part; part += strcspn(part, "/")) {
		size_t len;

		part += strspn(part, "/");
		len = strcspn(part, "/");
		if (len == 2 && !strncmp(part, "..", 2))
			depth--;
		else if (len && !(len == 1 && *part == '.'))
			depth++;
		if (depth < 0)
			return false;
	}
	return true;
}

static int refuse_path(const char *path)
{
	return kl_error(
		KL_ENO,
		"a source looks for the file '%.200s'; it may look only for the kernel's own files "
		"and for headers of C, because other files can differ between machines",
		path);
}

/* Check a header or source that the compiler opened or tried to open. */
static int check_open(const struct reader *reader, const char *path)
{
	if (is_source(reader, path) || is_below(reader->rules->gate, path))
		return 0;
	for (size_t i = 0; i < reader->dirs.n; i++) {
		const char *dir = reader->dirs.v[i];
		KL_AUTO(kl_freep) char *name = path_below(dir, path);

		/*
		 * the compiler's own headers are allowed, because a verdict depends on the compiler
		 * anyway
		 */
		if (name && (strstr(dir, "/gcc/") || strstr(dir, "/c++/") ||
			     kl_lookups_is_header_of_c(name)))
			return 0;
	}
	return refuse_path(path);
}

/*
 * Check a file that the assembler opened or tried to open. A file that it could not open (`there`
 * is false) is allowed: the assembler then failed, so the source gains nothing from the lookup.
 */
static int check_assembler(const struct reader *reader, const char *path, bool there)
{
	if (!there || is_source(reader, path) || is_below(reader->rules->objects, path))
		return 0;
	return refuse_path(path);
}

static int take_record(struct reader *reader, const char *text)
{
	bool compiler = text[0] == 'c', there = text[2] == '+';
	const char *path = text + 3;

	if ((text[0] != 'c' && text[0] != 'a') || (text[2] != '+' && text[2] != '-'))
		return kl_error(KL_ECANNOT, "the record of the compiler's files is damaged");
	switch (text[1]) {
	case 's':
		reader->compilers += compiler;
		reader->assemblers += !compiler;
		if (compiler) {
			kl_strvec_release(&reader->dirs);
			reader->reading = false;
		}
		return 0;
	case 'd':
		if (compiler && there && !reader->reading && *path == '/')
			kl_strvec_push(&reader->dirs, path);
		return 0;
	case 'o':
		if (!compiler)
			return check_assembler(reader, path, there);
		reader->reading = true;
		return check_open(reader, path);
	}
	return kl_error(KL_ECANNOT, "the record of the compiler's files is damaged");
}

int kl_lookups_check_record(const char *record, size_t len, const struct kl_lookups_rules *rules)
{
	KL_AUTO(reader_release) struct reader reader = { .rules = rules };
	int err = 0;

	for (size_t at = 0; !err && at < len;) {
		const char *end = memchr(record + at, 0, len - at);

		if (!end || end - (record + at) < 3)
			return kl_error(KL_ECANNOT,
					"the record of the compiler's files is damaged");
		err = take_record(&reader, record + at);
		at = (size_t)(end - record) + 1;
	}
	if (!err && (!reader.compilers || reader.compilers != reader.assemblers))
		err = kl_error(KL_ECANNOT,
			       "the programs of gcc on this machine cannot be watched, so the gate "
			       "does not know which files they look for");
	return err;
}

int kl_lookups_check(const char *dir, const char *folder, const struct kl_lookups_rules *rules)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s/lookups", dir, folder);
	KL_AUTO(kl_buf_release) struct kl_buf record = KL_BUF_INIT;
	int err = kl_fs_exists(path) ? kl_fs_read(&record, path, MAX_RECORD) : 0;

	return err ? err : kl_lookups_check_record(record.ptr, record.len, rules);
}
