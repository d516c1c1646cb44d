/* SPDX-License-Identifier: Apache-2.0 */
/* compiler - runs gcc in the compile jail on the files of a project */
#include <string.h>

#include "adopt/adopt_parts.h"
#include "backend/c/cxx.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"

static void push_pairs(struct kl_strvec *argv, const char *option, const struct kl_strvec *values)
{
	for (size_t i = 0; i < values->n; i++) {
		kl_strvec_push(argv, option);
		kl_strvec_push(argv, values->v[i]);
	}
}

void kl_adopt_gcc(struct kl_strvec *argv, const struct kl_adopting *adopting,
		  const struct kl_options *options)
{
	kl_strvec_push(argv, "gcc");
	if (adopting->language == &kl_language_c)
		kl_strvec_push(argv, "-std=gnu11");
	kl_strvec_push(argv, "-O2");
	kl_strvec_copy(argv, &options->flags);
	push_pairs(argv, "-U", &options->undefine);
	push_pairs(argv, "-D", &options->define);
	push_pairs(argv, "-iquote", &options->iquote);
	push_pairs(argv, "-I", &options->include);
	push_pairs(argv, "-isystem", &options->isystem);
	push_pairs(argv, "-include", &options->preinclude);
	kl_strvec_pushf(argv, "-march=%s", adopting->platform.march);
	kl_strvec_push(argv, "-DNDEBUG");
	kl_strvec_push(argv, "-w");
	kl_strvec_push(argv, "-fmax-errors=5");
	kl_strvec_push(argv, "-fdiagnostics-color=never");
	kl_strvec_push(argv, "-fno-diagnostics-show-caret");
	if (adopting->language == &kl_language_cpp)
		kl_strvec_pushv(argv, kl_cxx_flags);
}

/* Append the directories outside of the repository that the compiler may read. */
static void list_readable(struct kl_strvec *out, const struct kl_adopting *adopting,
			  const struct kl_strvec *argv)
{
	kl_strvec_push(out, adopting->top);
	for (size_t i = 0; i + 1 < argv->n; i++) {
		const char *dir = argv->v[i + 1];

		if (strcmp(argv->v[i], "-I") && strcmp(argv->v[i], "-iquote") &&
		    strcmp(argv->v[i], "-isystem"))
			continue;
		if (!kl_adopt_below(adopting, dir) && !kl_prefix_has(dir, "/usr/") &&
		    !kl_prefix_has(dir, adopting->scratch.path) &&
		    kl_closure_may_have(adopting, dir) && kl_fs_is_dir(dir) &&
		    !kl_strvec_has(out, dir))
			kl_strvec_push(out, dir);
	}
}

int kl_adopt_run_gcc(struct kl_buf *out, const struct kl_adopting *adopting,
		     const struct kl_strvec *argv, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec readable = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *prefix = kl_asprintf("%s/", adopting->top);
	const char *class_ = NULL;
	struct kl_tool tool = {
		.jail = &adopting->jail,
		.dir = adopting->scratch.path,
		.prefix = prefix,
		.class_ = &class_,
		.log = KL_BUF_INIT,
	};
	int err;

	list_readable(&readable, adopting, argv);
	tool.readable = (const char *const *)readable.v;
	err = kl_tool_run(&tool, argv, out, what);
	kl_buf_release(&tool.log);
	return err;
}
