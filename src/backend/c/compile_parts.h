/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_COMPILE_PARTS_H
#define KL_BACKEND_C_COMPILE_PARTS_H

#include "backend/c/code/code.h"
#include "backend/c/compile.h"
#include "backend/tool.h"

/*
 * compile_parts - the build of one image, shared by the files compile*.c.
 *
 *	compile.c		compiles and audits the sources of a kernel, an oracle or the runtime
 *	compile_adapter.c	compiles and audits the untimed half of an adapter
 *	compile_audit.c		audits the objects
 *	compile_cxx.c		finds the entry of a kernel in C++
 *	compile_link.c		links the objects and checks the image
 *	compile_missing.c	names all headers that are missing
 */
/* The build of one image in `dir` (the jail's work directory). */
struct kl_build {
	const struct kl_compile_tools *tools;
	/* name: the stem of the image, and the folder of its objects */
	const char *dir, *name, *entry;
	const struct kl_file *file;
	size_t nfile;
	const struct kl_contract
		*contract; /* how a kernel is built; NULL if an oracle or the runtime is built */
	/*
	 * the gate's flags for an oracle or the untimed half of an adapter, before fixed_flags;
	 * NULL if the sources are a kernel
	 */
	const char *const *extra;
	bool cxx;     /* the kernel is in C++ */
	char tag[17]; /* tag of the entry's declaration (cxx.h) */
	char *symbol; /* symbol of the entry; NULL if not found yet */
	/* path of the contract's adapter, which is one of the files; NULL if there is none */
	const char *adapter;
	const char **class_;
	struct kl_object **obj; /* objects; if there is an adapter, the last is its timed half */
	size_t nobj;
	/* the untimed half of the adapter; NULL if there is none, or it is empty */
	struct kl_object *untimed;
	struct kl_strvec objpath; /* paths of the objects, relative to `dir` */
	struct kl_code code;
	struct kl_tool tool;
};

void kl_build_release(struct kl_build *build);

/* Names of the functions of the image that are called, the entry first; NULL-terminated. */
struct kl_entries {
	const char *name[3];
};
struct kl_entries kl_build_entries(const struct kl_build *build);

/** Write the sources into the jail's work directory. */
int kl_build_lay_out(const struct kl_build *build);
/** Compile the sources to build->obj. */
int kl_build_sources(struct kl_build *build);
/** Read the machine code of build->obj into build->code. */
int kl_build_disassemble(struct kl_build *build);
/** If `err` is KL_ENO, set the class "cheat" and prefix the message with `what`. Return `err`. */
int kl_build_failed(struct kl_build *build, int err, const char *what);
/** Return the names that the linker turns into traps; NULL if there is none. */
const struct kl_strvec *kl_build_traps(const struct kl_build *build);
/** Compile the untimed half of the adapter, the last of the files, to build->untimed. */
int kl_build_untimed(struct kl_build *build);
/** Audit the objects, and read the machine code into build->code. */
int kl_build_audit(struct kl_build *build);
/** Append the notes about the adapter, if there is one. */
void kl_build_notes(struct kl_strvec *notes, const struct kl_build *build);
/** Replace the entry's name in C++ by its symbol. */
int kl_build_find_symbol(struct kl_build *build);
/** Explain the error if C++ is its reason, and name functions as the source does. Return `err`. */
int kl_build_explain_cxx(struct kl_build *build, int err);
/**
 * If `err` is that of a source which includes a missing file, name all files that it misses: run
 * `command`, the compiler with -M and -MG. Return `err`.
 */
int kl_build_explain_missing(struct kl_build *build, int err, const struct kl_strvec *command);
/** Link the objects to the image `bytes` and check it. */
int kl_build_link(struct kl_buf *bytes, struct kl_build *build);

#endif
