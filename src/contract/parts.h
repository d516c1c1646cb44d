/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PARTS_H
#define KL_CONTRACT_PARTS_H

#include "contract/contract.h"
#include "plan/expr.h"
#include "text/yaml_node.h"

/*
 * parts - the parsers of a contract's sections. kl_contract_parse() calls them in this order,
 * since each checks against what came before. `top` is the document; what a piece has put into `c`
 * is freed with `c` also when it fails half way.
 */

/** case, domain, cases, also. */
int kl_contract_points_read(struct kl_contract *contract, struct kl_node top);
/** args and sweep; every shape is evaluated at every point. */
int kl_contract_args_read(struct kl_contract *contract, struct kl_node top);
/** surface: language, sources, flags, and how the code is called. Sets c->language. */
int kl_contract_surface_read(struct kl_contract *contract, struct kl_node surface);
/** oracle, of the same language. */
int kl_contract_oracle_read(struct kl_contract *contract, struct kl_node oracle);
/** accept. */
int kl_contract_accept_read(struct kl_contract *contract, struct kl_node top);
/** exact, bands. */
int kl_contract_bands_read(struct kl_contract *contract, struct kl_node top);

/** A fill for an argument, its index checked at every point. */
int kl_contract_fill_read(json_t **out, const struct kl_contract *contract, size_t arg,
			  struct kl_node node);

/**
 * For messages and checks: the case itself, then the points. `id` gets
 * "case", "case0", ...; NULL after the last.
 */
const struct kl_dims *kl_contract_check_point(const struct kl_contract *contract, size_t i,
					      char id[32]);

#endif
