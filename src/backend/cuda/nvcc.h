/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_NVCC_H
#define KL_BACKEND_CUDA_NVCC_H

#include "base/mem.h"
#include "base/vec.h"
#include "event/platform.h"

/*
 * nvcc - finds the CUDA toolkit of this machine. It looks at the setting klineage.nvcc, then on
 * PATH, then in /usr/local/cuda/bin. The toolkit is optional: without it, kernels in CUDA cannot be
 * judged on this machine.
 *
 * The toolkit is trusted, but its input is not, so it runs in the compile jail. If the toolkit is
 * outside /usr, `readable` makes its directory visible in the jail.
 */
struct kl_nvcc {
	char *nvcc; /* absolute path of nvcc, without symlinks */
	/* path of nvdisasm; NULL if not installed, so facts are read from PTX alone */
	char *disasm;
	char *root;              /* directory of the toolkit, which contains bin/ */
	const char *readable[2]; /* for `readable` of struct kl_jail_run */
	char version[32];        /* "nvcc 13.0.88" */
};

/**
 * Find the toolkit. `setting` is the absolute path of nvcc or of the toolkit, or NULL to search for
 * it. Return KL_ECANNOT if there is no usable toolkit; if none was found, a hint says what to
 * install.
 */
int kl_nvcc_find(struct kl_nvcc *out, const char *setting);
void kl_nvcc_release(struct kl_nvcc *nvcc);

/**
 * Append the environment for nvcc to `env`. It contains no variables of the caller, such as
 * NVCC_APPEND_FLAGS, and makes nvcc write temporary files below `tmp`.
 */
void kl_nvcc_env(struct kl_strvec *env, const char *tmp);
/**
 * Append flags that tell the compiler that the source at `path`, relative to its work directory,
 * lies in a fixed directory. The compiler makes names of static functions and variables from the
 * absolute path of the source; without these flags, the object would depend on the directory.
 */
void kl_nvcc_fixed_path(struct kl_strvec *argv, const char *path);

/**
 * Write the platform of an architecture: "cuda/sm_90" for "sm_90a". The name of the device is left
 * empty, because only a worker knows it.
 */
void kl_nvcc_platform(struct kl_platform *out, const struct kl_nvcc *nvcc, const char *arch);

#endif
