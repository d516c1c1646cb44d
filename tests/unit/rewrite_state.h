/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_STATE_H
#define KL_REWRITE_STATE_H

/* rewrite_state - states of the copy contract in memory, for what edits them. */
#include "lineage_fake.h"

/* copy.c and, if `header` is not NULL, copy.h as sources */
static __attribute__((unused)) struct kl_surface *state_of(const char *source, const char *header)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("state");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "copy.c");
	KL_AUTO(kl_freep) char *other = kl_fs_join(dir, "copy.h");
	struct kl_surface *surface;

	sh(dir, "printf '%s' >klineage.yaml && echo 'void copy(void) {}' >oracle.c", fake_contract);
	assert_ok(kl_fs_put(path, source, strlen(source), 0644));
	if (header) {
		sh(dir, "sed 's/sources: .copy.c./sources: [copy.c, copy.h]/' klineage.yaml >k && "
			"mv k klineage.yaml");
		assert_ok(kl_fs_put(other, header, strlen(header), 0644));
	}
	assert_ok(kl_surface_from_dir(&surface, dir, ""));
	return surface;
}

#endif
