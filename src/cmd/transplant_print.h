/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_TRANSPLANT_PRINT_H
#define KL_CMD_TRANSPLANT_PRINT_H

#include "text/json.h"
#include "transplant/relations.h"

/* transplant_print - prints a transplant: its table, what follows from it, or all of it as JSON. */

/** Append a factor with its interval: "1.10x [1.08, 1.12]"; "-" if it is not known. */
void kl_transplant_add_ratio(struct kl_buf *out, const struct kl_ratio *ratio);

/** Print the table of gains by step and state, and what is found. `step` 0: all steps. */
void kl_transplant_print(const struct kl_transplant *transplant, size_t step, int64_t within_ppm);
/** Return the document of --json (schema klineage.transplant/1); the caller owns it. */
json_t *kl_transplant_json(const struct kl_transplant *transplant, int64_t within_ppm);

#endif
