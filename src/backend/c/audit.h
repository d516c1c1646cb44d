/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_AUDIT_H
#define KL_BACKEND_C_AUDIT_H

#include "backend/c/object.h"

/*
 * audit - checks what a kernel's object contains, before any byte of it runs. All answer 0 or
 * KL_ENO with the reason, which is a verdict of class "cheat": these are things no kernel needs,
 * and all published cheats do.
 */

/**
 * One relocatable object, before it is linked: sections of code and data alone,
 * no constructors, IFUNC, TLS, executable stack; undefined symbols on the
 * list below or defined by `others`; nothing defined under the name of a
 * library function or of the gate.
 */
int kl_audit_object(const struct kl_object *object, const struct kl_object *const *others,
		    size_t n);

/**
 * The linked object: exports `entry` and the arena alone, no foreign library, nothing that runs at
 * load.
 */
int kl_audit_linked(const struct kl_object *so, const char *entry);

/* The same for an object of another kind. */
struct kl_audit_link {
	const char *entry;
	const char *exports[3];    /* beside the entry; NULL-terminated */
	const char *const *needed; /* libraries; NULL-terminated */
	bool (*may_use)(const char *symbol);
	size_t constructors; /* in .init_array, which the caller has looked at */
};
int kl_audit_linked_as(const struct kl_object *so, const struct kl_audit_link *may);

enum kl_symbol_kind {
	KL_SYMBOL_FOREIGN, /* nothing a kernel may call */
	KL_SYMBOL_MEMORY,  /* mem*, str* */
	KL_SYMBOL_MATH,    /* libm, and its vector forms in libmvec */
	KL_SYMBOL_ALLOC,   /* the runtime's allocator */
	KL_SYMBOL_HELPER,  /* the compiler's own, from libgcc */
};
/** What an undefined symbol of a kernel is; docs/formats.md lists them. */
enum kl_symbol_kind kl_symbol_kind(const char *name);
/**
 * May no kernel define it? Names above, names of the gate, names that other processes' cheats
 * interposed.
 */
bool kl_symbol_reserved(const char *name);

#endif
