/* SPDX-License-Identifier: Apache-2.0 */
/* surface_tree - reads surfaces from a tree of git, and lists the contracts in a tree */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "contract/surface_parts.h"

#define MAX_TREE 1000000 /* maximum number of blobs in a tree */

struct tree_reader {
	struct kl_repo *repo;
	const git_oid *tree;
};

static int read_entry(struct kl_file *file, const char *dir, const char *path, size_t max,
		      void *payload)
{
	const struct tree_reader *reader = payload;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *full = kl_fs_join(dir, path);
	git_oid oid;
	uint32_t mode;
	int err = kl_repo_tree_entry(&oid, &mode, reader->repo, reader->tree, full);

	if (err < 0)
		return kl_error_in(err, "'%s'", path);
	if (mode == 0120000)
		return kl_error(KL_EINVALID, "'%s' is a symbolic link", path);
	if (mode != 0100644 && mode != 0100755 && mode != 0100664)
		return kl_error(KL_EINVALID, "'%s' is not a regular file", path);
	if ((err = kl_repo_blob_read(&buf, reader->repo, &oid, max)) < 0)
		return kl_error_in(err, "'%s'", path);
	file->mode = mode;
	file->len = buf.len;
	file->data = kl_buf_detach(&buf);
	return 0;
}

static int read_nothing(struct kl_file *file, const char *dir, const char *path, size_t max,
			void *payload)
{
	file->mode = 0100644;
	file->data = kl_strdup("");
	return 0;
}

static int from_tree(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		     const char *place, kl_surface_reader source)
{
	struct tree_reader reader = { .repo = repo, .tree = tree };
	KL_AUTO(kl_freep) char *name = kl_contract_place_path(place);
	git_oid oid;
	uint32_t mode;
	int err = kl_repo_tree_entry(&oid, &mode, repo, tree, name);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND, "the tree does not contain the contract '%s'", name);
	if (err < 0)
		return err;
	return kl_surface_read(out, &kl_languages, place, read_entry, source, &reader);
}

int kl_surface_from_tree(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
			 const char *place)
{
	return from_tree(out, repo, tree, place, read_entry);
}

int kl_surface_bare(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		    const char *place)
{
	return from_tree(out, repo, tree, place, read_nothing);
}

/*
 * Read the workload of a contract. A contract that does not parse is listed as well, with the
 * workload "".
 */
static int read_workload(char **out, struct kl_repo *repo, const struct kl_blob *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	int err = kl_repo_blob_read(&text, repo, &blob->oid, KL_CONTRACT_MAX_BYTES);

	if (!err)
		err = kl_contract_parse(&contract, blob->path, text.ptr, text.len);
	if (err < 0 && err != KL_EINVALID)
		return err;
	*out = kl_strdup(contract ? contract->workload : "");
	kl_error_clear();
	return 0;
}

int kl_surface_places(struct kl_strvec *places, struct kl_repo *repo, const git_oid *tree)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs all = { 0 };
	int err = kl_repo_tree_list(&all, repo, tree, MAX_TREE);

	for (size_t i = 0; !err && i < all.n; i++) {
		char *place = kl_contract_place_of(all.b[i].path);

		if (place)
			kl_strvec_take(places, place);
	}
	return err;
}

void kl_surface_paths(struct kl_strvec *paths, const struct kl_surface *surface)
{
	const struct kl_strvec *lists[] = { &surface->contract->sources,
					    &surface->contract->oracle_sources,
					    &surface->contract->adapters };

	for (size_t k = 0; k < KL_ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			kl_strvec_take(paths, kl_fs_join(surface->dir, lists[k]->v[i]));
}

int kl_surface_find(struct kl_strvec *places, struct kl_strvec *workloads, struct kl_repo *repo,
		    const git_oid *tree)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs all = { 0 };
	KL_AUTO(kl_map_release) struct kl_map at = KL_MAP_INIT;
	int err = kl_repo_tree_list(&all, repo, tree, MAX_TREE);

	if (err < 0)
		return err;
	for (size_t i = 0; i < all.n; i++) {
		char *place = kl_contract_place_of(all.b[i].path);

		if (!place)
			continue;
		kl_map_put(&at, place, &all.b[i]);
		kl_strvec_take(places, place);
	}
	/* sort again, since the order of paths ("a/klineage.yaml") is not that of places ("a") */
	kl_strvec_sort(places);
	for (size_t i = 0; i < places->n; i++) {
		char *workload;

		if ((err = read_workload(&workload, repo, kl_map_get(&at, places->v[i]))) < 0)
			return err;
		kl_strvec_take(workloads, workload);
	}
	return 0;
}
