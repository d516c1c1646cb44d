/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SKELETON_PARTS_H
#define KL_CONTRACT_SKELETON_PARTS_H

#include "base/map.h"
#include "contract/prototype.h"
#include "contract/skeleton.h"

/* skeleton_parts - shared by the files skeleton*.c. */

/** Return true if the kernel only reads through this pointer, as far as its file shows. */
bool kl_skeleton_reads(const struct kl_param *param);
/** Return true if a contract can judge a value that is returned. */
bool kl_skeleton_judges(const struct kl_param *returned);
/** Put the values of templates/init/adapter.c.in into `map`, besides those of the contract. */
void kl_skeleton_adapter_values(struct kl_map *map, const struct kl_proto *proto,
				const struct kl_skeleton *sk);

#endif
