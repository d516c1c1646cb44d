/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_INCLUDE_NAME_H
#define KL_REWRITE_INCLUDE_NAME_H

#include <stdbool.h>

#include "base/map.h"

/*
 * include_name - reads the name of the file in an #include, which may be a macro (#include BODY).
 *
 * The directives of a source are read in order, and #define and #undef change the definition of a
 * macro. Conditions are not evaluated. So a macro that is defined twice without an #undef in
 * between, as in both branches of an #if, stands for nothing, unless both definitions are equal.
 *
 *	for each directive
 *		if (!kl_include_name_define(&macros, text, len) &&
 *		    kl_include_name_read(&name, &macros, text, len) == KL_INCLUDE_FILE)
 *			... name.text, name.quoted
 *	kl_map_release(&macros.value);
 */
struct kl_include_macros {
	struct kl_map
		value; /* name -> text that the macro stands for, or "" if there are several */
	/* set by the caller if the order of the directives is not known; then #undef is ignored */
	bool unordered;
};
#define KL_INCLUDE_MACROS_INIT                 \
	{                                      \
		.value = {.free_value = free } \
	}

struct kl_include_name {
	char *text;  /* the file's name, or that of the macro; NULL if it is neither */
	bool quoted; /* the name is in quotes, not in <> */
};

enum kl_include_kind {
	KL_INCLUDE_NONE,  /* the directive includes no file */
	KL_INCLUDE_FILE,  /* `text` is the name of the file */
	KL_INCLUDE_MACRO, /* `text` is a macro of which the value is not known */
};

/** Define a macro as the compiler's option -D does: "NAME=value". */
void kl_include_name_option(struct kl_include_macros *macros, const char *option);
/** If the directive is #define or #undef, update the macros and return true. */
bool kl_include_name_define(struct kl_include_macros *macros, const char *text, size_t len);
/** Read a directive, and return the name that it includes. The caller releases *out. */
enum kl_include_kind kl_include_name_read(struct kl_include_name *out,
					  const struct kl_include_macros *macros, const char *text,
					  size_t len);
void kl_include_name_release(struct kl_include_name *name);

#endif
