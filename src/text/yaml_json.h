/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_JSON_H
#define KL_TEXT_YAML_JSON_H

#include "text/json.h"
#include "text/yaml.h"

/* yaml_json - converts trees of YAML to JSON and back. */

/**
 * Convert a tree to JSON, owned by the caller. Plain scalars become numbers, true, false or null if
 * they look like it; all others become strings.
 */
json_t *kl_yaml_to_json(const struct kl_yaml *node);
/**
 * Convert JSON to a tree without positions. Real numbers are rounded to six decimal places.
 * KL_EINVALID: nested too deeply, or a string contains a NUL.
 */
int kl_yaml_from_json(struct kl_yaml **out, const json_t *value);
/**
 * The same, but real numbers keep all their digits, and a point or an exponent: a reader does not
 * take 2.0 for a whole number.
 */
int kl_yaml_from_json_exact(struct kl_yaml **out, const json_t *value);

#endif
