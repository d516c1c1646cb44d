/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_ARGUMENT_H
#define KL_JOB_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/limits.h"

/*
 * argument - defines the kinds and element types of arguments, with their names in contracts and
 * jobs.
 */
enum kl_arg_kind { KL_ARG_DIM, KL_ARG_SCALAR, KL_ARG_IN, KL_ARG_OUT, KL_ARG_INOUT };

/* Floats come first, which kl_dtype_is_float() relies on; unsigned types come last. */
enum kl_dtype {
	KL_F64,
	KL_F32,
	KL_F16,
	KL_BF16,
	KL_I64,
	KL_I32,
	KL_I16,
	KL_I8,
	KL_U64,
	KL_U32,
	KL_U16,
	KL_U8
};
#define KL_DTYPES (KL_U8 + 1)

/** Names indexed by enum kl_arg_kind: "dim", "scalar", "in", "out", "inout"; NULL at the end. */
extern const char *const kl_arg_kind_names[];

/** Return true if an argument of this kind is a pointer to elements. */
bool kl_arg_kind_is_tensor(enum kl_arg_kind kind);
/** Return true if the kernel reads the elements. */
bool kl_arg_kind_is_input(enum kl_arg_kind kind);
/** Return true if the kernel writes the elements. */
bool kl_arg_kind_is_output(enum kl_arg_kind kind);

/** Set *out to the element type with this name. Return false if no type has this name. */
bool kl_dtype_parse(enum kl_dtype *out, const char *name);
/** Return the name of an element type, such as "f64". */
const char *kl_dtype_name(enum kl_dtype dtype);
/** Return all names as "f64, f32, ...", for messages. */
const char *kl_dtype_list(void);
/** Return the size of one element in bytes. */
size_t kl_dtype_bytes(enum kl_dtype dtype);
bool kl_dtype_is_float(enum kl_dtype dtype);
/**
 * Return the ends of the range in which every integer is exact both in the type and as a double. A
 * contract can state only integers in this range; for i64 and u64 it ends at 2^53.
 */
double kl_dtype_int_min(enum kl_dtype dtype);
double kl_dtype_int_max(enum kl_dtype dtype);
/** Return true if an integer type holds the value. */
bool kl_dtype_holds(enum kl_dtype dtype, int64_t value);

#endif
