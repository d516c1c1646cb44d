/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define MAX_NAME 255

/*
 * Return how many letters must be inserted, deleted or replaced to turn one name into another;
 * SIZE_MAX if a name is too long.
 */
static size_t edit_distance(const char *left, const char *right)
{
	size_t row[MAX_NAME + 1], n = strlen(right);

	if (n > MAX_NAME || strlen(left) > MAX_NAME)
		return SIZE_MAX;
	for (size_t k = 0; k <= n; k++)
		row[k] = k;
	for (size_t i = 0; left[i]; i++) {
		size_t before = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < n; k++) {
			size_t best = before + (left[i] != right[k]);

			before = row[k + 1];
			best = row[k] + 1 < best ? row[k] + 1 : best;
			row[k + 1] = before + 1 < best ? before + 1 : best;
		}
	}
	return row[n];
}

void kl_nearest(struct kl_strvec *out, const char *name, const char *const *names, size_t n)
{
	for (size_t most = 0; most <= 3 && out->n < 3; most++)
		for (size_t i = 0; i < n && out->n < 3; i++) {
			bool part = most == 3 && (strstr(names[i], name) || strstr(name, names[i]));

			if (edit_distance(name, names[i]) <= most || part)
				kl_strvec_add_once(out, names[i]);
		}
}

void kl_nearest_sure(struct kl_strvec *out, const char *name, const char *const *names, size_t n)
{
	size_t best = SIZE_MAX, at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t distance = edit_distance(name, names[i]);

		if (distance < best) {
			best = distance;
			at = i;
		}
	}
	if (best != SIZE_MAX && best <= 3 && 3 * best <= strlen(names[at]))
		kl_strvec_push(out, names[at]);
}
