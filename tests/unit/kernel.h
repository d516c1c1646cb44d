/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEST_KERNEL_H
#define KL_TEST_KERNEL_H

#include "test.h"

#include "backend/c/compile.h"
#include "backend/machine.h"
#include "base/fs.h"
#include "base/mem.h"

/*
 * kernel - compile C sources as the gate does, for tests of jail, compile, audit
 * and facts: one or two files, entry "k", in the best jail of this machine.
 */
struct kernel {
	struct kl_jail jail;
	struct kl_platform platform;
	struct kl_compile_tools tools;
	char *dir;
	struct kl_contract contract;
	struct kl_surface surface;
	struct kl_file file[2], oracle[1];
	const char *class_;
};

/* For the platform `id`; NULL: this machine's. */
static inline void kernel_setup_on(struct kernel *kernel, const char *id)
{
	memset(kernel, 0, sizeof(*kernel));
	assert_ok(kl_jail_open(&kernel->jail, KL_JAIL_AUTO));
	assert_ok(kl_machine_platform(&kernel->platform, id));
	assert_ok(kl_compile_tools_open(&kernel->tools, &kernel->jail, &kernel->platform));
	assert_ok(kl_fs_tempdir(&kernel->dir, "kl-kernel"));
	assert_ok(kl_compile_runtime(&kernel->tools, kernel->dir));
	kernel->contract.entry = (char *)"k";
	kernel->contract.oracle_entry = (char *)"oracle";
	kernel->surface.contract = &kernel->contract;
	kernel->surface.file = kernel->file;
	kernel->surface.oracle = kernel->oracle;
}

static inline void kernel_setup(struct kernel *kernel)
{
	kernel_setup_on(kernel, NULL);
}

static inline void kernel_teardown(struct kernel *kernel)
{
	kl_strvec_release(&kernel->contract.flags);
	kl_compile_tools_release(&kernel->tools);
	kl_fs_tempdir_cleanup(&kernel->dir);
}

static inline void kernel_file(struct kl_file *file, const char *path, const char *text)
{
	*file = (struct kl_file){
		.path = (char *)path, .mode = 0100644, .data = (char *)text, .len = strlen(text)
	};
}

/* `second`: another source, or NULL. `flags`: space-separated, or NULL. */
static inline int kernel_compile(struct kl_artefact **out, struct kernel *kernel,
				 const char *source, const char *second, const char *flags)
{
	kernel_file(&kernel->file[0], "k.c", source);
	kernel->surface.nfile = 1;
	if (second) {
		kernel_file(&kernel->file[1], "sub/second.c", second);
		kernel->surface.nfile = 2;
	}
	kl_strvec_release(&kernel->contract.flags);
	if (flags)
		kl_strvec_split(&kernel->contract.flags, flags, " ");
	kernel->class_ = NULL;
	return kl_compile_surface(out, &kernel->class_, &kernel->tools, &kernel->surface,
				  kernel->dir);
}

#endif
