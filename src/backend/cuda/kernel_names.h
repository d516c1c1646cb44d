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
 * An instance has code only where something uses it, and only the compiler knows its symbol.
 * Therefore the gate appends declarations to the judged source: for each name with template
 * arguments, scopes or parameter types, a variable that has the kernel as a template argument. The
 * variable makes the compiler generate the instance, and its demangled name contains the full name
 * of the kernel. No kernel reaches the variable, so it changes neither the code digest nor the
 * features.
 *
 *	kl_kernel_names_declare(&text, names);		after the source
 *	kl_kernel_names_find(&symbols, cubin, names, jail, dir);
 */

/** Append the declarations for `names` to a source. Plain identifiers need no declaration. */
void kl_kernel_names_declare(struct kl_buf *source, const struct kl_strvec *names);

/**
 * If the compiler's error `message` is about one of these declarations, return a message that names
 * the kernel and lists the kernels that the sources define; otherwise return NULL. The caller frees
 * the message.
 */
char *kl_kernel_names_explain(const char *message, const struct kl_strvec *names,
			      const struct kl_file *file, size_t nfile);

/**
 * Append to `out` the symbol of the kernel that each name means. The symbol is the name itself if
 * the cubin has a kernel with that symbol, or if it has no kernel that the name can mean. Return
 * KL_ENO if a name can mean several kernels of the cubin. Return KL_ECANNOT if c++filt is not
 * installed.
 */
int kl_kernel_names_find(struct kl_strvec *out, const struct kl_cubin *cubin,
			 const struct kl_strvec *names, const struct kl_jail *jail,
			 const char *dir);

#endif
