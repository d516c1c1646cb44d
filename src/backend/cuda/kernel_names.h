/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_KERNEL_NAMES_H
#define KL_BACKEND_CUDA_KERNEL_NAMES_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "contract/launch.h"
#include "jail/jail.h"

/*
 * kernel_names - finds the kernels that a launch plan names as C++ source does: "scale", which is
 * not extern "C", or "ns::tile<128, 8>", which is an instance of a template.
 *
 * An instance has code only where something uses it, and only the compiler knows its symbol. So
 * declarations follow the judged source, in the same file: for each name with template arguments,
 * scopes or parameter types, a variable that has the kernel as a template argument. This makes the
 * instance, and the demangled name of the variable has that of the kernel in full. No kernel reaches
 * the variable, so it changes neither the code digest nor the features.
 *
 *	kl_kernel_names_declare(&text, names);		after the source
 *	kl_kernel_names_find(&symbols, cubin, names, jail, dir);
 */

/** Append the declarations for `names` to a source; nothing if all names are plain identifiers. */
void kl_kernel_names_declare(struct kl_buf *source, const struct kl_strvec *names);

/**
 * If the error of a compiler is about one of these declarations, return a message that names the
 * kernel and those that the sources define; else NULL. The caller frees it.
 */
char *kl_kernel_names_explain(const char *message, const struct kl_strvec *names,
			      const struct kl_file *file, size_t nfile);

/**
 * Append to `out` the symbol of each kernel, which is the name itself if the cubin has a kernel of
 * that name, or if there is none to be found. KL_ENO: the cubin has several kernels that the name can
 * mean. KL_ECANNOT: c++filt is not installed.
 */
int kl_kernel_names_find(struct kl_strvec *out, const struct kl_cubin *cubin,
			 const struct kl_strvec *names, const struct kl_jail *jail,
			 const char *dir);

#endif
