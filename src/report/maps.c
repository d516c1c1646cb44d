/* SPDX-License-Identifier: Apache-2.0 */
#include "report/maps.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/surface.h"
#include "probe/when.h"
#include "probe/when_svg.h"
#include "probe/when_table.h"
#include "text/html.h"

/* Name a state, in place of the name that a loaded map has; `name` is freed. */
static void name_state(char **name, size_t i)
{
	free(*name);
	*name = kl_asprintf("K_%zu", i);
}

/* The step whose maps are written. */
struct writing {
	struct kl_buf *out;
	size_t i;
};

static int write_map(struct kl_when *when, void *payload)
{
	const struct writing *writing = payload;
	struct kl_buf *out = writing->out;
	size_t i = writing->i;

	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

	if (!when->n)
		return 0;
	name_state(&when->name_a, i - 1);
	name_state(&when->name_b, i);
	kl_when_sort(when);
	kl_when_words(&words, when);
	kl_buf_adds(out, "<h3>");
	kl_html_addf(out, "K_%zu to K_%zu: where it is faster on %s, %s", i - 1, i, when->platform,
		     *when->device ? when->device : "a device that is not known");
	kl_buf_adds(out, "</h3>\n<figure>");
	kl_when_svg(out, when);
	kl_buf_adds(out, "<figcaption>");
	kl_html_add(out, words.ptr);
	kl_buf_adds(out, ".</figcaption></figure>\n<details><summary>all points</summary>\n");
	kl_when_table_html(out, when);
	kl_buf_adds(out, "</details>\n");
	return 0;
}

static int write_step(struct kl_buf *out, struct kl_repo *repo, const struct kl_surface *before,
		      const struct kl_surface *after, size_t i)
{
	struct writing writing = { out, i };
	int err = kl_when_each(repo, before, after, write_map, &writing);

	/* a domain of one size has no map */
	if (err != KL_EINVALID)
		return err;
	kl_error_clear();
	return 0;
}

int kl_report_maps(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view)
{
	KL_AUTO(kl_freep) char *store = kl_asprintf("%s/klineage/when", kl_repo_common_dir(repo));
	KL_AUTO(kl_surface_freep) struct kl_surface *before = NULL;
	int err = 0;

	for (size_t i = 0; i < view->n && !err && kl_fs_is_dir(store); i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *after = NULL;
		git_oid tree;

		err = kl_repo_tree_of(&tree, repo, &view->step[i].commit);
		if (!err)
			err = kl_surface_from_tree(&after, repo, &tree, "");
		if (!err && before)
			err = write_step(out, repo, before, after, i);
		kl_surface_free(before);
		before = kl_steal(&after);
	}
	return err;
}
