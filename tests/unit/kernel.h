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
	char *dir;
	struct kl_contract contract;
	struct kl_surface surface;
	struct kl_file file[2], oracle[1];
	const char *class_;
};

static inline void kernel_setup(struct kernel *k)
{
	memset(k, 0, sizeof(*k));
	assert_ok(kl_jail_open(&k->jail, KL_JAIL_AUTO));
	assert_ok(kl_machine_platform(&k->platform, NULL));
	assert_ok(kl_fs_tempdir(&k->dir, "kl-kernel"));
	k->contract.entry = (char *)"k";
	k->contract.oracle_entry = (char *)"oracle";
	k->surface.contract = &k->contract;
	k->surface.file = k->file;
	k->surface.oracle = k->oracle;
}

static inline void kernel_teardown(struct kernel *k)
{
	kl_strvec_release(&k->contract.flags);
	kl_fs_tempdir_cleanup(&k->dir);
}

static inline void kernel_file(struct kl_file *f, const char *path, const char *text)
{
	*f = (struct kl_file){
		.path = (char *)path, .mode = 0100644, .data = (char *)text, .len = strlen(text)
	};
}

/* `second`: another source, or NULL. `flags`: space-separated, or NULL. */
static inline int kernel_compile(struct kl_artefact **out, struct kernel *k, const char *source,
				 const char *second, const char *flags)
{
	kernel_file(&k->file[0], "k.c", source);
	k->surface.nfile = 1;
	if (second) {
		kernel_file(&k->file[1], "sub/second.c", second);
		k->surface.nfile = 2;
	}
	kl_strvec_release(&k->contract.flags);
	if (flags)
		kl_strvec_split(&k->contract.flags, flags, " ");
	k->class_ = NULL;
	return kl_compile_surface(out, &k->class_, &k->jail, &k->platform, &k->surface, k->dir);
}

#endif
