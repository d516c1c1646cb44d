/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SKELETON_PARTS_H
#define KL_CONTRACT_SKELETON_PARTS_H

#include "base/map.h"
#include "contract/language.h"
#include "contract/prototype.h"
#include "contract/skeleton.h"

/* skeleton_parts - declares the functions that the files skeleton*.c share. */

/*
 * The kind of argument that a parameter is, as far as the kernel's file shows. KL_USE_TENSOR is a
 * pointer if init cannot see whether the kernel writes through it. KL_USE_UNKNOWN is a parameter of
 * a type that contracts do not have.
 */
enum kl_skeleton_use {
	KL_USE_DIM,
	KL_USE_SCALAR,
	KL_USE_IN,
	KL_USE_OUT,
	KL_USE_INOUT,
	KL_USE_TENSOR,
	KL_USE_UNKNOWN,
};
enum kl_skeleton_use kl_skeleton_use(const struct kl_param *param);
bool kl_skeleton_is_float(const struct kl_param *param);
/** Return true if a contract can have an output for the returned value. */
bool kl_skeleton_judges(const struct kl_param *returned);
/**
 * Put the values of a contract's template that the prototype gives into `map`. `adapter` is true if
 * an adapter is written.
 */
void kl_skeleton_contract_values(struct kl_map *map, const struct kl_language *language,
				 const struct kl_proto *proto, bool adapter);
/**
 * Put the values of templates/init/adapter.c.in that the contract's template does not have into
 * `map`.
 */
void kl_skeleton_adapter_values(struct kl_map *map, const struct kl_proto *proto,
				const struct kl_skeleton *sk);

#endif
