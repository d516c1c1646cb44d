/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/surface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/surface_parts.h"

#define MOST_NAMED 20 /* maximum number of files that one message names */

static void file_release(struct kl_file *file)
{
	free(file->path);
	free(file->data);
}

void kl_surface_free(struct kl_surface *surface)
{
	if (!surface)
		return;
	for (size_t i = 0; i < surface->nfile; i++)
		file_release(&surface->file[i]);
	for (size_t i = 0; i < surface->noracle; i++)
		file_release(&surface->oracle[i]);
	file_release(&surface->contract_file);
	free(surface->file);
	free(surface->oracle);
	free(surface->place);
	free(surface->dir);
	kl_contract_free(surface->contract);
	free(surface);
}

/* --- digests -------------------------------------------------------------- */

static void digest_file(struct kl_digest *digest, const struct kl_file *file, const char *path)
{
	char field[64];

	/* use only git's two modes, so that a tree and the worktree give the same digest */
	snprintf(field, sizeof(field), "%o", file->mode & 0111 ? 0100755 : 0100644);
	kl_digest_adds(digest, field);
	kl_digest_adds(digest, path);
	snprintf(field, sizeof(field), "%zu", file->len);
	kl_digest_adds(digest, field);
	kl_digest_add(digest, file->data, file->len);
}

static void digest_sources(struct kl_surface *surface)
{
	struct kl_digest *digest = kl_digest_new();

	for (size_t i = 0; i < surface->nfile; i++)
		digest_file(digest, &surface->file[i], surface->file[i].path);
	kl_digest_end(digest, surface->digest);
}

/*
 * Digest the contract and the oracle's files in the order of their paths. The contract is always
 * called klineage.yaml, since its name and its place do not change what it promises.
 */
static void digest_contract(struct kl_surface *surface)
{
	struct kl_digest *digest = kl_digest_new();
	bool done = false;

	for (size_t i = 0; i < surface->noracle; i++) {
		if (!done && strcmp(KL_CONTRACT_FILE, surface->oracle[i].path) < 0) {
			digest_file(digest, &surface->contract_file, KL_CONTRACT_FILE);
			done = true;
		}
		digest_file(digest, &surface->oracle[i], surface->oracle[i].path);
	}
	if (!done)
		digest_file(digest, &surface->contract_file, KL_CONTRACT_FILE);
	kl_digest_end(digest, surface->contract_digest);
}

/* --- reading a surface ------------------------------------------------------- */

/* Say which files do not exist; `why` is the message for the first. */
static int refuse_missing(const struct kl_strvec *missing, const char *why)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	if (missing->n == 1)
		return kl_error(KL_ENOTFOUND, "%s", why);
	for (size_t i = 0; i < missing->n && i < MOST_NAMED; i++)
		kl_buf_addf(&list, "%s'%.100s'", i ? ", " : "", missing->v[i]);
	return kl_error(KL_ENOTFOUND, "%zu of the files do not exist: %s%s", missing->n, list.ptr,
			missing->n > MOST_NAMED ? " ..." : "");
}

static int read_files(struct kl_file **out, size_t *n, const char *dir,
		      const struct kl_strvec *paths, kl_surface_reader read, void *payload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec sorted = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec missing = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *why = NULL;
	size_t total = 0;
	int err;

	kl_strvec_copy(&sorted, paths);
	kl_strvec_sort(&sorted);
	*out = kl_calloc(sorted.n, sizeof(**out));
	for (size_t i = 0; i < sorted.n; i++) {
		struct kl_file *file = &(*out)[i];

		file->path = kl_strdup(sorted.v[i]);
		*n = i + 1;
		err = read(file, dir, file->path, KL_SURFACE_MAX_FILE, payload);
		if (err == KL_ENOTFOUND) {
			kl_strvec_push(&missing, file->path);
			if (!why)
				why = kl_strdup(kl_error_last());
			kl_error_clear();
			continue;
		}
		if (err < 0)
			return err;
		total += file->len;
		if (total > KL_SURFACE_MAX_TOTAL)
			return kl_error(
				KL_EINVALID,
				"the sources, or the oracle's files, are larger than %d MiB in "
				"total",
				KL_SURFACE_MAX_TOTAL >> 20);
	}
	return missing.n ? refuse_missing(&missing, why) : 0;
}

/* Read and parse the contract, and set the directory that paths are relative to. */
static int read_contract(struct kl_surface *surface, const struct kl_languages *known,
			 const char *name, kl_surface_reader read, void *payload)
{
	struct kl_file *file = &surface->contract_file;
	size_t n = *surface->dir ? strlen(surface->dir) + 1 : 0;
	int err;

	file->path = kl_strdup(name + n);
	if ((err = read(file, surface->dir, file->path, KL_CONTRACT_MAX_BYTES, payload)) < 0 ||
	    (err = kl_contract_parse_in(&surface->contract, known, name, file->data, file->len)) <
		    0 ||
	    !surface->contract->from_top)
		return err;
	free(file->path);
	file->path = kl_strdup(name);
	*surface->dir = '\0';
	return 0;
}

/* Read the files that belong to the contract: those of the oracle, and the adapters. */
static int read_trusted(struct kl_surface *surface, kl_surface_reader read, void *payload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	int err;

	kl_strvec_copy(&paths, &surface->contract->oracle_sources);
	for (size_t i = 0; i < surface->contract->adapters.n; i++)
		kl_strvec_push(&paths, surface->contract->adapters.v[i]);
	err = read_files(&surface->oracle, &surface->noracle, surface->dir, &paths, read, payload);
	for (size_t i = 0; !err && i < surface->noracle; i++)
		if (surface->oracle[i].len > KL_ADAPTER_MAX_BYTES &&
		    kl_surface_is_adapter(surface, surface->oracle[i].path))
			return kl_error(KL_EINVALID, "the adapter '%s' is larger than %d KiB",
					surface->oracle[i].path, KL_ADAPTER_MAX_BYTES / 1024);
	return err;
}

int kl_surface_read(struct kl_surface **out, const struct kl_languages *known, const char *place,
		    kl_surface_reader read, kl_surface_reader source, void *payload)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = kl_calloc(1, sizeof(*surface));
	KL_AUTO(kl_freep) char *name = kl_contract_place_path(place);
	int err;

	surface->place = kl_strdup(place);
	surface->dir = kl_contract_place_dir(place);
	if ((err = read_contract(surface, known, name, read, payload)) < 0)
		return err;
	err = read_files(&surface->file, &surface->nfile, surface->dir, &surface->contract->sources,
			 source, payload);
	if (!err)
		err = read_trusted(surface, read, payload);
	if (err < 0)
		return kl_error_in(err, "%s", name);
	digest_sources(surface);
	digest_contract(surface);
	*out = kl_steal(&surface);
	return 0;
}

/* --- reading files from a directory -------------------------------------------- */

static int read_below(struct kl_file *file, const char *dir, const char *path, size_t max,
		      void *payload)
{
	KL_AUTO(kl_freep) char *root = kl_fs_join(payload, dir);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_closep) int fd = kl_fs_open_below(root, path, O_RDONLY | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return kl_error(KL_EINVALID, "'%s' is a symbolic link, or its path contains one",
				path);
	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return kl_error_errno("cannot stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return kl_error(KL_EINVALID, "'%s' is not a regular file", path);
	if ((err = kl_buf_read_fd(&buf, fd, max)) < 0)
		return kl_error_in(err, "'%s'", path);
	file->mode = st.st_mode & 0111 ? 0100755 : 0100644;
	file->len = buf.len;
	file->data = kl_buf_detach(&buf);
	return 0;
}

int kl_surface_from_dir_in(struct kl_surface **out, const struct kl_languages *known,
			   const char *path, const char *place)
{
	KL_AUTO(kl_freep) char *root = kl_strdup(*path ? path : ".");
	KL_AUTO(kl_freep) char *name = kl_contract_place_path(place);
	KL_AUTO(kl_freep) char *contract = kl_fs_join(root, name);

	if (!kl_fs_exists(contract))
		return kl_error(KL_ENOTFOUND, "there is no contract '%s'", contract);
	return kl_surface_read(out, known, place, read_below, read_below, root);
}

int kl_surface_from_dir(struct kl_surface **out, const char *path, const char *place)
{
	return kl_surface_from_dir_in(out, &kl_languages, path, place);
}

/* --- making copies with other sources -------------------------------------------- */

static void file_copy(struct kl_file *to, const struct kl_file *from)
{
	to->path = kl_strdup(from->path);
	to->mode = from->mode;
	to->len = from->len;
	to->data = kl_malloc(from->len + 1);
	memcpy(to->data, from->data, from->len);
	to->data[from->len] = '\0';
}

static struct kl_file *files_copy(const struct kl_file *from, size_t n)
{
	struct kl_file *to = kl_calloc(n, sizeof(*to));

	for (size_t i = 0; i < n; i++)
		file_copy(&to[i], &from[i]);
	return to;
}

static struct kl_file *find_file(struct kl_surface *surface, const char *path)
{
	for (size_t i = 0; i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, path))
			return &surface->file[i];
	return NULL;
}

bool kl_file_is_same(const struct kl_file *left, const struct kl_file *right)
{
	return left->mode == right->mode && left->len == right->len &&
	       !memcmp(left->data, right->data, left->len);
}

bool kl_surface_is_adapter(const struct kl_surface *surface, const char *path)
{
	return kl_strvec_has(&surface->contract->adapters, path);
}

const struct kl_file *kl_surface_adapter(const struct kl_surface *surface, size_t nth)
{
	const struct kl_strvec *adapters = &surface->contract->adapters;

	for (size_t i = 0; nth < adapters->n && i < surface->noracle; i++)
		if (!strcmp(surface->oracle[i].path, adapters->v[nth]))
			return &surface->oracle[i];
	return NULL;
}

int kl_surface_with(struct kl_surface **out, const struct kl_surface *surface,
		    const struct kl_file *edit, size_t n)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *new = kl_calloc(1, sizeof(*new));
	int err;

	err = kl_contract_parse_in(&new->contract, surface->contract->known,
				   surface->contract->name, surface->contract_file.data,
				   surface->contract_file.len);
	if (err < 0)
		return err;
	new->place = kl_strdup(surface->place);
	new->dir = kl_strdup(surface->dir);
	new->file = files_copy(surface->file, surface->nfile);
	new->nfile = surface->nfile;
	new->oracle = files_copy(surface->oracle, surface->noracle);
	new->noracle = surface->noracle;
	file_copy(&new->contract_file, &surface->contract_file);
	for (size_t i = 0; i < n; i++) {
		struct kl_file *file = find_file(new, edit[i].path);
		uint32_t mode;

		if (!file)
			return kl_error(KL_EINVALID, "'%s' is not a source of the contract",
					edit[i].path);
		if (edit[i].len > KL_SURFACE_MAX_FILE)
			return kl_error(KL_EINVALID, "'%s' is larger than %d MiB", edit[i].path,
					KL_SURFACE_MAX_FILE >> 20);
		mode = edit[i].mode ? edit[i].mode : file->mode;
		file_release(file);
		file_copy(file, &edit[i]);
		file->mode = mode;
	}
	digest_sources(new);
	memcpy(new->contract_digest, surface->contract_digest, sizeof(new->contract_digest));
	*out = kl_steal(&new);
	return 0;
}

/* --- making copies with another contract or oracle -------------------------------- */

/* A surface in memory, from which a copy is read with some files replaced. */
struct shown {
	const struct kl_surface *surface;
	/* contract to read, which is the first file; NULL if it has been read */
	const struct kl_file *contract;
	const struct kl_file *edit; /* replaced files of the oracle */
	size_t n;
};

static const struct kl_file *find_shown(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static int read_shown(struct kl_file *file, const char *dir, const char *path, size_t max,
		      void *payload)
{
	struct shown *shown = payload;
	const struct kl_file *from = shown->contract; /* the first file that is read */

	shown->contract = NULL;
	if (!from)
		from = find_shown(shown->edit, shown->n, path);
	if (!from)
		from = find_shown(shown->surface->file, shown->surface->nfile, path);
	if (!from)
		from = find_shown(shown->surface->oracle, shown->surface->noracle, path);
	if (!from)
		return kl_error(KL_ENOTFOUND, "'%s' is not one of the files of '%s'", path,
				shown->surface->contract->workload);
	if (from->len > max)
		return kl_error(KL_EINVALID, "'%s' is larger than %zu bytes", path, max);
	file->mode = from->mode;
	file->len = from->len;
	file->data = kl_malloc(from->len + 1);
	memcpy(file->data, from->data, from->len);
	file->data[from->len] = '\0';
	return 0;
}

int kl_surface_with_contract(struct kl_surface **out, const struct kl_surface *surface,
			     const char *text, size_t len)
{
	const struct kl_file contract = {
		.mode = surface->contract_file.mode,
		.data = (char *)text,
		.len = len,
	};
	struct shown shown = { .surface = surface, .contract = &contract };

	return kl_surface_read(out, surface->contract->known, surface->place, read_shown,
			       read_shown, &shown);
}

int kl_surface_with_oracle(struct kl_surface **out, const struct kl_surface *surface,
			   const struct kl_file *edit, size_t n)
{
	struct shown shown = {
		.surface = surface, .contract = &surface->contract_file, .edit = edit, .n = n
	};

	for (size_t i = 0; i < n; i++)
		if (!find_shown(surface->oracle, surface->noracle, edit[i].path))
			return kl_error(KL_EINVALID, "'%s' is not a file of the contract's oracle",
					edit[i].path);
	return kl_surface_read(out, surface->contract->known, surface->place, read_shown,
			       read_shown, &shown);
}
