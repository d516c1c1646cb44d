/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/image_file.h"

#include "base/error.h"
#include "base/fs.h"
#include "base/sealed.h"
#include "image/code_check.h"
#include "image/host_symbols.h"
#include "image/openmp_symbols.h"

static int read_image(struct kl_buf *bytes, struct kl_image *image, const char *path)
{
	int err = kl_fs_read(bytes, path, KL_IMAGE_MAX_BYTES);

	if (!err)
		err = kl_image_read(image, bytes->ptr, bytes->len);
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

int kl_image_file_open(int *fd, uint64_t *bytes, bool adapter[KL_IMAGE_ADAPTER], const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	struct kl_image image;
	int err = read_image(&data, &image, path);

	if (!err)
		err = kl_sealed_make(fd, "image", data.ptr, data.len);
	for (size_t i = 0; !err && i < KL_IMAGE_ADAPTER; i++)
		adapter[i] = image.adapter[i] != KL_IMAGE_NONE;
	*bytes = data.len;
	return err;
}

/* The symbols that an image may import from the process that maps it. */
enum imports { IMPORTS_NONE, IMPORTS_HOST, IMPORTS_OPENMP };

static int check_imports(const struct kl_image *image, enum imports allowed)
{
	const char *foreign = allowed == IMPORTS_HOST   ? kl_host_symbol_foreign(image) :
			      allowed == IMPORTS_OPENMP ? kl_openmp_symbol_foreign(image) :
			      image->nnames             ? image->names :
							  NULL;

	return foreign ? kl_error(KL_ENO, "imports '%.100s', which is not allowed", foreign) : 0;
}

static int check_adapter(const struct kl_image *image, bool adapter)
{
	for (size_t i = 0; !adapter && i < KL_IMAGE_ADAPTER; i++)
		if (image->adapter[i] != KL_IMAGE_NONE)
			return kl_error(KL_ENO, "has functions of an adapter, but the job has no "
						"'adapter'");
	return 0;
}

static int check_one(const char *path, const char *what, enum imports allowed, bool adapter)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_image image;
	int err = path ? read_image(&bytes, &image, path) : 0;

	if (!err && path)
		err = check_imports(&image, allowed);
	if (!err && path)
		err = check_adapter(&image, adapter);
	if (!err && path)
		err = kl_code_check(&image);
	return err < 0 ? kl_error_in(KL_ECANNOT, "%s", what) : 0;
}

int kl_image_file_check(const struct kl_job *job)
{
	bool is_c = job->surface == KL_SURFACE_C, any = is_c || job->host;
	enum imports allowed = job->host    ? IMPORTS_HOST :
			       job->threads ? IMPORTS_OPENMP :
					      IMPORTS_NONE;
	int err = 0;

	if (is_c)
		err = check_one(job->truth_path, "the oracle", IMPORTS_NONE, false);
	if (!err && is_c)
		err = check_one(job->honest_path, "the oracle", IMPORTS_NONE, false);
	if (!err && any)
		err = check_one(job->candidate_path, "the candidate", allowed, job->adapter);
	if (!err && any)
		err = check_one(job->parent_path, "the parent", allowed, job->adapter);
	return err;
}
