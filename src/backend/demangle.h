/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_DEMANGLE_H
#define KL_BACKEND_DEMANGLE_H

#include "base/vec.h"
#include "jail/jail.h"

/*
 * demangle - translates symbols, such as "_Z4tileILi8EEvPf", into the names that C++ source has for
 * them: "void tile<8>(float*)". c++filt (binutils) does this, in the compile jail: the symbols come
 * from untrusted code, and a short symbol can stand for a name of any length.
 */

/**
 * Append to `out` the name of each symbol, in order. A symbol that is not mangled is its own name.
 * `dir` is the compile jail's work directory; the function leaves a file there. If `brief` is true,
 * leave out the types of results and parameters ("tile<8>"). Return KL_ENO if the names are too
 * long. Return KL_ECANNOT if c++filt is not installed, or the machine is in trouble.
 */
int kl_demangle(struct kl_strvec *out, const struct kl_jail *jail, const char *dir,
		const struct kl_strvec *symbols, bool brief);

/**
 * Replace the mangled symbols in the message of the last error by brief names. If that is not
 * possible, leave the message unchanged. Return `err`, the error that the message belongs to.
 */
int kl_demangle_error(int err, const struct kl_jail *jail, const char *dir);

#endif
