/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_NVCC_H
#define KL_BACKEND_CUDA_NVCC_H

#include "base/mem.h"
#include "base/vec.h"
#include "event/platform.h"

/*
 * nvcc - the CUDA toolkit of this machine. It is optional: found in the setting klineage.nvcc,
 * on PATH, or in /usr/local/cuda/bin; absent, surfaces in cuda cannot be tested here.
 *
 * Its directory is the user's own and trusted; what it compiles is not, and so it runs in the
 * compile jail, where `readable` lets it see itself if it lies outside /usr.
 */
struct kl_nvcc {
	char *nvcc;              /* absolute, no symlinks */
	char *disasm;            /* nvdisasm; NULL: facts are read from PTX alone */
	char *root;              /* what lies above bin/ */
	const char *readable[2]; /* for struct kl_jail_run */
	char version[32];        /* "nvcc 13.0.88" */
};

/** `setting`: path of nvcc or of the toolkit, or NULL. KL_ECANNOT says what to install. */
int kl_nvcc_find(struct kl_nvcc *out, const char *setting);
void kl_nvcc_release(struct kl_nvcc *nvcc);

/**
 * The environment that it runs in: nothing of the caller's is there (NVCC_APPEND_FLAGS and its
 * like), and it writes below `tmp`. Pushed to `env`, which stays the caller's.
 */
void kl_nvcc_env(struct kl_strvec *env, const char *tmp);

/**
 * Platform of an architecture: "sm_90a" is "cuda/sm_90". The device's name is left empty: only a
 * worker knows it.
 */
void kl_nvcc_platform(struct kl_platform *out, const struct kl_nvcc *nvcc, const char *arch);

#endif
