/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_JSON_H
#define KL_TEXT_YAML_JSON_H

#include "text/json.h"
#include "text/yaml.h"

/* yaml_json - converts trees of YAML to JSON and back. */

/**
 * Convert a tree to JSON, owned by the caller. A plain scalar that looks like a number, true, false
 * or null becomes that value; every other scalar becomes a string.
 */
json_t *kl_yaml_to_json(const struct kl_yaml *node);
/**
 * Convert JSON to a tree without positions; the caller frees *out. Real numbers are rounded to six
 * decimal places. Return KL_EINVALID if the value is nested too deeply, or a string contains a NUL.
 */
int kl_yaml_from_json(struct kl_yaml **out, const json_t *value);
/**
 * Like kl_yaml_from_json(), but real numbers keep all their digits and always have a point or an
 * exponent, so that 2.0 is not read back as a whole number.
 */
int kl_yaml_from_json_exact(struct kl_yaml **out, const json_t *value);

#endif
