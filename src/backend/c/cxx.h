/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CXX_H
#define KL_BACKEND_C_CXX_H

#include <stdbool.h>

#include "backend/c/link/object.h"
#include "base/buf.h"
#include "contract/surface.h"

/*
 * cxx - the differences between kernels in C++ and in C: in C++ the entry has a C++ name, and the
 * compiler needs parts of the language's runtime that an image does not have.
 *
 * The compiler alone knows the symbol of an entry such as "ns::tile<float, 8>", and an instance of
 * a template has code only where something uses it. Therefore the gate appends a declaration to the
 * source of one unit: a constant with the address of the entry. The constant makes the compiler
 * generate the instance, and its relocation names the symbol. The linker leaves the constant out,
 * because no kernel reaches it.
 *
 *	unit = kl_cxx_entry_unit(file, nfile, contract, ...);
 *	kl_cxx_declare(&text, contract, tag);			after the source of the unit
 *	symbol = kl_cxx_entry_symbol(objects, n, tag);
 */

/** Return true if the compiler reads a file of this name as C++. */
bool kl_cxx_is_source(const char *path);

/** Return the identifier of a name: "tile" of "ns::tile<float, 8>(int)". The caller frees it. */
char *kl_cxx_identifier(const char *name);

/** Compiler flags for units in C++, after those of the contract; NULL-terminated. */
extern const char *const kl_cxx_flags[];

/**
 * Return the index of the unit in C++ that defines the contract's entry. If no unit defines it,
 * return the first unit in C++ that contains the entry's name; if no unit contains the name, return
 * the first unit in C++. Return nfile if no unit is in C++.
 */
size_t kl_cxx_entry_unit(const struct kl_file *file, size_t nfile,
			 const struct kl_contract *contract,
			 bool (*is_unit)(const void *payload, const char *path),
			 const void *payload);
/**
 * Append the declaration of the contract's entry to `source`, the text of that unit. `tag` consists
 * of letters and digits that no source can foresee, such as a digest of all sources.
 */
void kl_cxx_declare(struct kl_buf *source, const struct kl_contract *contract, const char *tag);
/**
 * Find the symbol of the entry declared with `tag`; the object owns it. Return NULL if no object
 * has the declaration.
 */
const char *kl_cxx_entry_symbol(const struct kl_object *const *object, size_t n, const char *tag);

/**
 * Explain an error of the compiler, the audit or the linker whose message is `message`. If the
 * kernel uses a part of C++ that kernels cannot use, or if its entry does not fit the contract,
 * return a message that says so and gives advice; the caller frees it. Return NULL for all other
 * errors. Set *class_ to "compile" if the kernel needs a part of the C++ runtime that an image does
 * not have.
 */
char *kl_cxx_explain(const char *message, const char **class_, const struct kl_contract *contract,
		     const struct kl_file *file, size_t nfile);

#endif
