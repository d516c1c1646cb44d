/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_NVCC_H
#define KL_BACKEND_CUDA_NVCC_H

#include "base/mem.h"
#include "base/vec.h"
#include "event/platform.h"

/*
 * nvcc - the CUDA toolkit of this machine. It is optional, and searched for in the setting
 * klineage.nvcc, on PATH, and in /usr/local/cuda/bin; without it, kernels in CUDA cannot be judged
 * here.
 *
 * The toolkit is trusted, but its input is not, so it runs in the compile jail. If it is outside
 * /usr, `readable` makes its directory visible there.
 */
struct kl_nvcc {
	char *nvcc;              /* absolute, no symlinks */
	char *disasm;            /* nvdisasm; NULL: facts are read from PTX alone */
	char *root;              /* the directory above bin/ */
	const char *readable[2]; /* for struct kl_jail_run */
	char version[32];        /* "nvcc 13.0.88" */
};

/**
 * Find the toolkit. `setting`: path of nvcc or of the toolkit, or NULL. KL_ECANNOT: there is none;
 * a hint says what to install.
 */
int kl_nvcc_find(struct kl_nvcc *out, const char *setting);
void kl_nvcc_release(struct kl_nvcc *nvcc);

/**
 * Append the environment for nvcc to `env`. It has no variables of the caller (NVCC_APPEND_FLAGS
 * and the like), and makes nvcc write below `tmp`.
 */
void kl_nvcc_env(struct kl_strvec *env, const char *tmp);
/**
 * Append flags that tell the compiler that the source at `path`, relative to its work directory,
 * lies in a fixed directory. Names of static functions and variables are made from a source's
 * absolute path; without these flags the same source gives another object in every directory.
 */
void kl_nvcc_fixed_path(struct kl_strvec *argv, const char *path);

/**
 * The platform of an architecture: "cuda/sm_90" for "sm_90a". The device's name is left empty: only
 * a worker knows it.
 */
void kl_nvcc_platform(struct kl_platform *out, const struct kl_nvcc *nvcc, const char *arch);

#endif
