/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/nvcc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"

void kl_nvcc_release(struct kl_nvcc *nvcc)
{
	free(nvcc->nvcc);
	free(nvcc->disasm);
	free(nvcc->root);
	*nvcc = (struct kl_nvcc){ 0 };
}

static char *program_path(const char *dir, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	return access(path, X_OK) || kl_fs_is_dir(path) ? NULL : kl_steal(&path);
}

static char *on_path(const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	const char *path = getenv("PATH");
	char *found = NULL;

	kl_strvec_split(&dirs, path ? path : "", ":");
	for (size_t i = 0; !found && i < dirs.n; i++)
		if (dirs.v[i][0] == '/')
			found = program_path(dirs.v[i], name);
	return found;
}

static int no_nvcc(void)
{
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "no CUDA compiler: nvcc is neither on PATH nor in "
				      "/usr/local/cuda/bin"),
			     "install the CUDA Toolkit (12.4 or newer), or set its path: "
			     "git config klineage.nvcc <path of nvcc>");
}

static int find_nvcc(char **out, const char *setting)
{
	KL_AUTO(kl_freep) char *path = NULL, *bin = NULL;

	if (setting && *setting) {
		if (kl_fs_is_dir(setting)) {
			bin = kl_fs_join(setting, "bin");
			path = program_path(bin, "nvcc");
		} else if (!access(setting, X_OK)) {
			path = kl_strdup(setting);
		}
		if (!path || path[0] != '/')
			return kl_error(KL_ECANNOT,
					"klineage.nvcc: no nvcc at '%s' (use an absolute path)",
					setting);
	}
	if (!path)
		path = on_path("nvcc");
	if (!path)
		path = program_path("/usr/local/cuda/bin", "nvcc");
	if (!path)
		return no_nvcc();
	*out = realpath(path, NULL);
	return *out ? 0 : kl_error_errno("cannot resolve '%s'", path);
}

/*
 * Read the version from the output of nvcc, such as
 * "Cuda compilation tools, release 13.0, V13.0.88".
 */
static int ask_version(struct kl_nvcc *nvcc)
{
	const char *argv[] = { nvcc->nvcc, "--version", NULL };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int err = kl_proc_output(&buf, argv);
	const char *version;

	if (err == KL_EINTR)
		return err;
	version = err < 0 ? NULL : strstr(buf.ptr, ", V");
	if (!version || !isdigit((unsigned char)version[3]))
		return kl_error(KL_ECANNOT, "cannot read the version from '%s --version'",
				nvcc->nvcc);
	snprintf(nvcc->version, sizeof(nvcc->version), "nvcc %.*s",
		 (int)strspn(version + 3, "0123456789."), version + 3);
	return 0;
}

int kl_nvcc_find(struct kl_nvcc *out, const char *setting)
{
	KL_AUTO(kl_nvcc_release) struct kl_nvcc nvcc = { 0 };
	KL_AUTO(kl_freep) char *bin = NULL, *disasm = NULL, *ptxas = NULL;
	int err = find_nvcc(&nvcc.nvcc, setting);

	if (err < 0)
		return err;
	bin = kl_strndup(nvcc.nvcc, (size_t)(strrchr(nvcc.nvcc, '/') - nvcc.nvcc));
	nvcc.root = kl_asprintf("%.*s", (int)(strrchr(bin, '/') - bin), bin);
	ptxas = program_path(bin, "ptxas");
	if (!ptxas || !*nvcc.root)
		return kl_error(KL_ECANNOT, "no ptxas in the directory of '%s'", nvcc.nvcc);
	/* nvdisasm may belong to another toolkit than nvcc, because it only reads the cubin */
	disasm = program_path(bin, "nvdisasm");
	if (!disasm)
		disasm = on_path("nvdisasm");
	nvcc.disasm = disasm ? realpath(disasm, NULL) : NULL;
	err = ask_version(&nvcc);
	if (err < 0)
		return err;
	*out = nvcc;
	out->readable[0] = strncmp(nvcc.root, "/usr/", 5) && strcmp(nvcc.root, "/usr") ? out->root :
											 NULL;
	nvcc = (struct kl_nvcc){ 0 };
	return 0;
}

void kl_nvcc_env(struct kl_strvec *env, const char *tmp)
{
	kl_strvec_push(env, "PATH=/usr/bin:/bin");
	kl_strvec_push(env, "HOME=/nonexistent");
	kl_strvec_push(env, "LC_ALL=C");
	kl_strvec_push(env, "SOURCE_DATE_EPOCH=0");
	kl_strvec_pushf(env, "TMPDIR=%s", tmp);
}

void kl_nvcc_fixed_path(struct kl_strvec *argv, const char *path)
{
	static const char *const programs[] = { "-Xcicc", "-Xcudafe" };

	KL_AUTO(kl_freep) char *name = kl_strdup(path);

	/* replace characters such as blanks, at which nvcc would split the value */
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-/", *at))
			*at = '_';
	for (size_t i = 0; i < KL_ARRAY_SIZE(programs); i++) {
		kl_strvec_push(argv, programs[i]);
		kl_strvec_pushf(argv, "--orig_src_path_name /src/%s", name);
	}
}

void kl_nvcc_platform(struct kl_platform *out, const struct kl_nvcc *nvcc, const char *arch)
{
	size_t len = strlen(arch);

	*out = (struct kl_platform){ .id = "" };
	snprintf(out->march, sizeof(out->march), "%s", arch);
	/* sm_90a and sm_90 are the same platform: the letter selects instructions, not a device */
	while (len && isalpha((unsigned char)arch[len - 1]))
		len--;
	snprintf(out->id, sizeof(out->id), "cuda/%.*s", (int)len, arch);
	snprintf(out->compiler, sizeof(out->compiler), "%s", nvcc->version);
}
