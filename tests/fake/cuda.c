/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pretended libcuda.so.1: "device memory" is memory of the process, protected as the real calls
 * would protect it; a "cubin" is a shared object of C functions (kernel.h) that run in order on a
 * thread, the stream. A bad access there is the sticky CUDA_ERROR_ILLEGAL_ADDRESS it would be on a
 * GPU.
 *
 * A file `conf` beside the library says what is pretended, one "key value" a line: version,
 * devices, cc, sick (every launch fails). Each launch is a line in `launches` beside it, if that
 * file is there.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

typedef uint64_t ptr;
enum { GRANULE = 2 << 20, SHARED = 227 * 1024, SMS = 4, MAX_MAPS = 512, MAX_QUEUE = 1024 };

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* -- what is pretended ------------------------------------------------------------ */

static char here[4000];

static long conf(const char *key, long dflt)
{
	char path[4096], name[64];
	long value, found = dflt;
	Dl_info info;
	FILE *f;

	if (!here[0] && dladdr((void *)(uintptr_t)conf, &info)) {
		snprintf(here, sizeof(here), "%s", info.dli_fname);
		*(strrchr(here, '/') ? strrchr(here, '/') : here) = '\0';
	}
	snprintf(path, sizeof(path), "%s/conf", here);
	f = fopen(path, "re");
	while (f && fscanf(f, "%63s %ld", name, &value) == 2)
		if (!strcmp(name, key))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* -- the stream ------------------------------------------------------------------------ */

struct function {
	const char *name;
	void (*run)(void **, const struct fake_launch *);
	const int *params;
	int max_threads, refuse, max_smem, nonportable;
	struct function *next;
};

struct event {
	int64_t ns;
	volatile int pending;
};

struct item {
	struct function *f; /* NULL: an event */
	struct event *event;
	struct fake_launch launch;
	void *arg[64];
	unsigned char store[8192];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct item *queue[MAX_QUEUE];
static int head, tail; /* head == tail: nothing to do */
static int sticky;
static bool running;
static unsigned char *shared_memory;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t inside;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void caught(int sig)
{
	if (!inside) {
		signal(sig, SIG_DFL);
		return;
	}
	siglongjmp(back, sig);
}

static int execute(struct item *i)
{
	int sig;

	if (i->event) {
		i->event->ns = now();
		i->event->pending = 0;
		return 0;
	}
	sig = sigsetjmp(back, 1);
	if (!sig) {
		inside = 1;
		i->launch.shared = shared_memory;
		i->f->run(i->arg, &i->launch);
	}
	inside = 0;
	switch (sig) {
	case 0:
		return 0;
	case SIGSEGV:
	case SIGBUS:
		return 700;
	case SIGILL:
		return 715;
	case SIGABRT:
		return 710;
	default:
		return 719;
	}
}

static void *work(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (head == tail)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		int rc = sticky ? sticky : execute(queue[head]);
		pthread_mutex_lock(&lock);
		free(queue[head]);
		if (!sticky)
			sticky = rc;
		head = (head + 1) % MAX_QUEUE;
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

static void enqueue(struct item *i)
{
	pthread_t t;

	pthread_mutex_lock(&lock);
	if (!running) {
		for (int s = 1; s < 32; s++)
			if (s == SIGSEGV || s == SIGBUS || s == SIGILL || s == SIGTRAP ||
			    s == SIGABRT || s == SIGFPE)
				signal(s, caught);
		running = !pthread_create(&t, NULL, work, NULL);
	}
	while ((tail + 1) % MAX_QUEUE == head)
		pthread_cond_wait(&changed, &lock);
	queue[tail] = i;
	tail = (tail + 1) % MAX_QUEUE;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static int drain(void)
{
	pthread_mutex_lock(&lock);
	while (head != tail)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return sticky;
}

/* -- the tools of gpu_ptx.cu ---------------------------------------------------------------- */

static uint64_t finish(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t mix(uint64_t seed, uint64_t i)
{
	return finish(seed + (i + 1) * 0x9e3779b97f4a7c15ull);
}

#define U64(i) (*(uint64_t *)arg[i])
#define U32(i) (*(uint32_t *)arg[i])

/* Byte b of the words that a fill or check is about. */
static unsigned char byte_at(void **arg, uint64_t b)
{
	return (unsigned char)(((mix(U64(3), U64(2) + b / 8) & U64(4)) | U64(5)) >> (8 * (b % 8)));
}

static void tool_fill(void **arg, const struct fake_launch *l)
{
	unsigned char *to = (unsigned char *)U64(0);

	for (uint64_t b = U32(6); b < 8 * (U64(1) - 1) + U32(7); b++)
		to[b] = byte_at(arg, b);
}

static void tool_check(void **arg, const struct fake_launch *l)
{
	const unsigned char *at = (const unsigned char *)U64(0);
	uint64_t *where = (uint64_t *)U64(8);

	for (uint64_t b = U32(6); b < 8 * (U64(1) - 1) + U32(7); b++)
		if (at[b] != byte_at(arg, b)) {
			*where = b < *where ? b : *where;
			return;
		}
}

static void tool_print(void **arg, const struct fake_launch *l)
{
	const unsigned char *at = (const unsigned char *)U64(0);
	uint64_t *out = (uint64_t *)U64(4);

	for (uint64_t i = 0; i < U64(1); i++) {
		uint64_t v = 0;

		memcpy(&v, at + 8 * i, i == U64(1) - 1 ? U32(2) : 8);
		out[0] += finish(v ^ mix(U64(3), i));
		out[1] += finish(v + mix(~U64(3), i));
	}
}

static void tool_shared(void **arg, const struct fake_launch *l)
{
	for (unsigned i = 0; i < U32(0); i++)
		((unsigned *)l->shared)[i] = U32(1) + i;
}

static void tool_local(void **arg, const struct fake_launch *l)
{
}

/* -- those of tool.c ---------------------------------------------------------------- */

static void tool_hold(void **arg, const struct fake_launch *l)
{
	const volatile uint32_t *gate = (const volatile uint32_t *)U64(0);
	int64_t begin = now();

	while ((int32_t)(*gate - U32(1)) < 0 && now() - begin < (int64_t)U64(2))
		;
}

static void tool_stamp(void **arg, const struct fake_launch *l)
{
	uint64_t *out = (uint64_t *)U64(0);

	out[0] = (uint64_t)now();
	out[1] = out[0] / 2 * 3; /* 1500 MHz */
}

/* -- and what the driver itself enqueues ------------------------------------------------------ */

static void own_set(void **arg, const struct fake_launch *l)
{
	unsigned char *to = (unsigned char *)U64(0);

	/* what only empties caches is not worth its time here */
	for (uint64_t i = 0; i < U64(2) && U64(2) < 64 << 20; i++)
		to[i] = (unsigned char)(U32(1) >> (8 * (i % 4)));
}

static void own_copy(void **arg, const struct fake_launch *l)
{
	memmove((void *)U64(0), (void *)U64(1), U64(2));
}

static const int hold_params[] = { 8, 4, 8, -1 }, stamp_params[] = { 8, -1 };
static const int set_params[] = { 8, 4, 8, -1 }, copy_params[] = { 8, 8, 8, -1 };
static struct function own_set_f = { .name = "kl_set", .run = own_set, .params = set_params };
static struct function own_copy_f = { .name = "kl_copy", .run = own_copy, .params = copy_params };
static const int fill_params[] = { 8, 8, 8, 8, 8, 8, 4, 4, -1 };
static const int check_params[] = { 8, 8, 8, 8, 8, 8, 4, 4, 8, -1 };
static const int print_params[] = { 8, 8, 4, 8, 8, -1 };
static const int shared_params[] = { 4, 4, -1 }, local_params[] = { 4, 8, -1 };
static const struct function tools[] = {
	{ .name = "kl_fill", .run = tool_fill, .params = fill_params },
	{ .name = "kl_check", .run = tool_check, .params = check_params },
	{ .name = "kl_print", .run = tool_print, .params = print_params },
	{ .name = "kl_scrub_shared", .run = tool_shared, .params = shared_params },
	{ .name = "kl_scrub_local", .run = tool_local, .params = local_params },
	{ .name = "kl_hold", .run = tool_hold, .params = hold_params },
	{ .name = "kl_stamp", .run = tool_stamp, .params = stamp_params },
};

/*
 * -- driver and device --------------------------------------------------------------------------
 */

int cuInit(unsigned flags)
{
	shared_memory = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	return conf("devices", 1) ? 0 : 100;
}

int cuDriverGetVersion(int *v)
{
	*v = (int)conf("version", 13000);
	return 0;
}

int cuGetErrorName(int rc, const char **out)
{
	static const struct {
		int rc;
		const char *name;
	} names[] = {
		{ 1, "CUDA_ERROR_INVALID_VALUE" },
		{ 2, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ 100, "CUDA_ERROR_NO_DEVICE" },
		{ 200, "CUDA_ERROR_INVALID_IMAGE" },
		{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
		{ 500, "CUDA_ERROR_NOT_FOUND" },
		{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" },
		{ 710, "CUDA_ERROR_ASSERT" },
		{ 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION" },
		{ 719, "CUDA_ERROR_LAUNCH_FAILED" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].rc == rc) {
			*out = names[i].name;
			return 0;
		}
	return 1;
}

int cuGetErrorString(int rc, const char **out)
{
	*out = "pretended";
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = (int)conf("devices", 1);
	return 0;
}

int cuDeviceGet(int *dev, int ordinal)
{
	*dev = ordinal;
	return ordinal < conf("devices", 1) ? 0 : 101;
}

int cuDeviceGetName(char *name, int len, int dev)
{
	snprintf(name, (size_t)len, "Fake GPU %d", dev);
	return 0;
}

int cuDeviceGetUuid_v2(unsigned char *u, int dev)
{
	memset(u, 0xfa, 16);
	u[14] = (unsigned char)getppid(); /* tests at the same time do not share it */
	u[13] = (unsigned char)(getppid() >> 8);
	u[15] = (unsigned char)dev;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *n, int dev)
{
	*n = (size_t)1 << 30;
	return 0;
}

int cuDeviceGetAttribute(int *v, int which, int dev)
{
	switch (which) {
	case 1:
		*v = 1024;
		break;
	case 16:
		*v = SMS;
		break;
	case 36:
		*v = 2619000;
		break;
	case 37:
		*v = 5120;
		break;
	case 38:
		*v = 1 << 16;
		break;
	case 75:
		*v = (int)conf("cc", 90) / 10;
		break;
	case 76:
		*v = (int)conf("cc", 90) % 10;
		break;
	case 81:
		*v = SHARED + 1024;
		break;
	case 97:
		*v = SHARED;
		break;
	default:
		*v = 1;
		break;
	}
	return 0;
}

int cuDevicePrimaryCtxSetFlags_v2(int dev, unsigned flags)
{
	return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int dev)
{
	*c = here;
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int dev)
{
	return 0;
}
int cuCtxSetCurrent(void *c)
{
	return 0;
}
int cuCtxSynchronize(void)
{
	return drain();
}
int cuCtxSetLimit(int limit, size_t v)
{
	return 0;
}
int cuCtxResetPersistingL2Cache(void)
{
	return 0;
}

/*
 * -- modules -------------------------------------------------------------------------------------
 */

struct module {
	void *lib;          /* NULL: the tools */
	struct function *f; /* those that were asked for */
};

int cuModuleLoadData(struct module **out, const char *image)
{
	const Elf64_Ehdr *e = (const void *)image;
	struct module *m;
	char path[64];
	size_t n;
	int fd;

	if (memcmp(image, ELFMAG, 4) && strncmp(image, ".version", 8))
		return strncmp(image, "SM", 2) ? 200 : 209;
	m = calloc(1, sizeof(*m));
	if (*image == '.') {
		*out = m;
		return 0;
	}
	/*
	 * gcc's linker puts the section headers last; a name of its own, so that it is another
	 * object
	 */
	n = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	fd = memfd_create("cubin", 0);
	if (fd < 0 || write(fd, image, n) != (ssize_t)n)
		return 2;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* the descriptor stays open: a name that was seen before would be the object of then */
	m->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*out = m;
	return m->lib ? 0 : 200;
}

int cuModuleUnload(struct module *m)
{
	int rc = drain();

	if (m->lib)
		dlclose(m->lib);
	for (struct function *f = m->f, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(m);
	return rc;
}

static const void *beside(void *lib, const char *name, const char *what)
{
	char symbol[256];

	snprintf(symbol, sizeof(symbol), "%s_%s", name, what);
	return dlsym(lib, symbol);
}

static int number(void *lib, const char *name, const char *what, int dflt)
{
	const int *p = beside(lib, name, what);

	return p ? *p : dflt;
}

int cuModuleGetFunction(struct function **out, struct module *m, const char *name)
{
	struct function *f;

	for (f = m->f; f; f = f->next)
		if (!strcmp(f->name, name)) {
			*out = f;
			return 0;
		}
	f = calloc(1, sizeof(*f));
	for (size_t i = 0; !m->lib && i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!strcmp(tools[i].name, name))
			*f = tools[i];
	if (m->lib && beside(m->lib, name, "params")) {
		f->name = strdup(name);
		*(void **)&f->run = dlsym(m->lib, name);
		f->params = beside(m->lib, name, "params");
		f->refuse = number(m->lib, name, "refuse", 0);
	}
	f->max_threads = m->lib ? number(m->lib, name, "max_threads", 1024) : 1024;
	f->max_smem = 48 * 1024;
	if (!f->run) {
		free(f);
		return 500;
	}
	f->next = m->f;
	m->f = f;
	*out = f;
	return 0;
}

int cuFuncGetAttribute(int *v, int which, struct function *f)
{
	*v = which == 0 ? f->max_threads : which == 8 ? f->max_smem : 0;
	return 0;
}

int cuFuncSetAttribute(struct function *f, int which, int v)
{
	if (which == 8 && v > SHARED)
		return 1;
	if (which == 8)
		f->max_smem = v;
	if (which == 14)
		f->nonportable = v;
	return 0;
}

int cuFuncGetParamInfo(struct function *f, size_t i, size_t *offset, size_t *size)
{
	for (size_t k = 0; k <= i; k++)
		if (f->params[k] < 0)
			return 1;
	*offset = 0;
	*size = (size_t)f->params[i];
	return 0;
}

/*
 * -- launches --------------------------------------------------------------------------------------
 */

struct attribute {
	int id;
	char pad[4];
	union {
		char room[64];
		int flag;
		unsigned xyz[3];
	};
};

struct config {
	unsigned grid[3], block[3], smem;
	void *stream;
	struct attribute *attr;
	unsigned nattr;
};

static void note(const struct item *i)
{
	char path[4096];
	const struct fake_launch *l = &i->launch;
	FILE *f;

	snprintf(path, sizeof(path), "%s/launches", here);
	if (!strncmp(i->f->name, "kl_", 3) || access(path, W_OK) || !(f = fopen(path, "ae")))
		return;
	fprintf(f,
		"%s grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u smem %u cooperative %d pdl %d\n",
		i->f->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
		l->block[2], l->cluster[0], l->cluster[1], l->cluster[2], l->smem, l->cooperative,
		l->pdl);
	fclose(f);
}

int cuLaunchKernelEx(const struct config *c, struct function *f, void **arg, void **extra)
{
	unsigned threads = c->block[0] * c->block[1] * c->block[2];
	struct item *i;
	size_t used = 0;

	if (sticky)
		return sticky;
	if (conf("sick", 0))
		return 999;
	if (f->refuse)
		return f->refuse;
	if (!threads || threads > 1024 || !c->grid[0] || (int)c->smem > f->max_smem)
		return 1;
	i = calloc(1, sizeof(*i));
	i->f = f;
	memcpy(i->launch.grid, c->grid, sizeof(c->grid));
	memcpy(i->launch.block, c->block, sizeof(c->block));
	i->launch.smem = c->smem;
	for (unsigned a = 0; a < c->nattr; a++) {
		if (c->attr[a].id == 2)
			i->launch.cooperative = c->attr[a].flag;
		else if (c->attr[a].id == 4)
			memcpy(i->launch.cluster, c->attr[a].xyz, sizeof(i->launch.cluster));
		else if (c->attr[a].id == 6)
			i->launch.pdl = c->attr[a].flag;
	}
	for (size_t k = 0; f->params[k] >= 0; k++) {
		i->arg[k] = i->store + used;
		memcpy(i->arg[k], arg[k], (size_t)f->params[k]);
		used += ((size_t)f->params[k] + 63) / 64 * 64;
	}
	note(i);
	enqueue(i);
	return 0;
}

/* A launch by host code, which has no cubin: a function of its own. */
int fakeLaunch(void (*run)(void **, const struct fake_launch *), const int *params, void **arg)
{
	struct function *f = calloc(1, sizeof(*f));
	const struct config c = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };

	f->name = "fakeLaunch";
	f->run = run;
	f->params = params;
	f->max_threads = 1024;
	f->max_smem = SHARED;
	return cuLaunchKernelEx(&c, f, arg, NULL);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, struct function *f, int block, size_t smem)
{
	*n = 2048 / (block ? block : 1);
	return 0;
}

int cuOccupancyMaxActiveClusters(int *n, struct function *f, const struct config *c)
{
	*n = 0;
	for (unsigned a = 0; a < c->nattr; a++) {
		unsigned size = c->attr[a].xyz[0] * c->attr[a].xyz[1] * c->attr[a].xyz[2];

		if (c->attr[a].id == 4)
			*n = size <= (f->nonportable ? 16u : 8u);
	}
	return 0;
}

/*
 * -- memory ----------------------------------------------------------------------------------------
 */

static struct mapping {
	ptr at;
	size_t n;
	int access;
} maps[MAX_MAPS];

static struct mapping *mapping_of(ptr at)
{
	for (int i = 0; i < MAX_MAPS; i++)
		if (maps[i].n && at >= maps[i].at && at < maps[i].at + maps[i].n)
			return &maps[i];
	return NULL;
}

int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
	*unused = (size_t)1 << 29;
	*total = (size_t)1 << 30;
	return 0;
}

int cuMemGetAllocationGranularity(size_t *n, const void *prop, int option)
{
	*n = GRANULE;
	return 0;
}

int cuMemAddressReserve(ptr *at, size_t n, size_t align, ptr hint, unsigned long long flags)
{
	void *p = mmap(NULL, n + GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		return 2;
	*at = ((ptr)p + GRANULE - 1) / GRANULE * GRANULE;
	return 0;
}

int cuMemAddressFree(ptr at, size_t n)
{
	return munmap((void *)at, n) ? 1 : 0;
}

int cuMemCreate(unsigned long long *h, size_t n, const void *prop, unsigned long long flags)
{
	int fd = n > (size_t)1 << 30 ? -1 : memfd_create("device", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)n))
		return 2;
	*h = (unsigned long long)fd;
	return n % GRANULE ? 1 : 0;
}

int cuMemRelease(unsigned long long h)
{
	return close((int)h) ? 1 : 0;
}

int cuMemMap(ptr at, size_t n, size_t offset, unsigned long long h, unsigned long long flags)
{
	int i = 0;

	while (i < MAX_MAPS && maps[i].n)
		i++;
	if (i == MAX_MAPS ||
	    mmap((void *)at, n, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)h, 0) == MAP_FAILED)
		return 2;
	maps[i] = (struct mapping){ at, n, 0 };
	return 0;
}

int cuMemUnmap(ptr at, size_t n)
{
	struct mapping *m = mapping_of(at);

	if (drain() || !m || m->at != at || m->n != n)
		return sticky ? sticky : 1;
	memset(m, 0, sizeof(*m));
	return mmap((void *)at, n, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED ?
		       2 :
		       0;
}

int cuMemSetAccess(ptr at, size_t n, const int *desc, size_t count)
{
	struct mapping *m = mapping_of(at);

	if (!m || drain())
		return m ? sticky : 1;
	m->access = desc[2];
	return mprotect((void *)at, n, desc[2] == 3 ? PROT_READ | PROT_WRITE : PROT_READ) ? 1 : 0;
}

static bool may(ptr at, size_t n, int access)
{
	const struct mapping *m = mapping_of(at);

	return m && at + n <= m->at + m->n && m->access >= access;
}

int cuMemcpyHtoDAsync_v2(ptr to, const void *from, size_t n, void *stream)
{
	if (drain())
		return sticky;
	if (!may(to, n, 3))
		return 1;
	memcpy((void *)to, from, n);
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, ptr from, size_t n, void *stream)
{
	if (drain())
		return sticky;
	if (!may(from, n, 1))
		return 1;
	memcpy(to, (void *)from, n);
	return 0;
}

static void put(struct function *f, void **arg)
{
	struct item *i = calloc(1, sizeof(*i));
	size_t used = 0;

	i->f = f;
	for (size_t k = 0; f->params[k] >= 0; k++) {
		i->arg[k] = i->store + used;
		memcpy(i->arg[k], arg[k], (size_t)f->params[k]);
		used += 64;
	}
	enqueue(i);
}

int cuMemcpyDtoDAsync_v2(ptr to, ptr from, size_t n, void *stream)
{
	if (sticky)
		return sticky;
	if (!may(from, n, 1) || !may(to, n, 3))
		return 1;
	put(&own_copy_f, (void *[]){ &to, &from, &n });
	return 0;
}

static int set(ptr to, uint32_t v, size_t n)
{
	if (sticky)
		return sticky;
	if (!may(to, n, 3))
		return 1;
	put(&own_set_f, (void *[]){ &to, &v, &n });
	return 0;
}

int cuMemsetD8Async(ptr to, unsigned char v, size_t n, void *stream)
{
	return set(to, v * 0x01010101u, n);
}

int cuMemsetD32Async(ptr to, unsigned v, size_t n, void *stream)
{
	return set(to, v, 4 * n);
}

int cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	*p = malloc(n);
	return 0;
}

int cuMemFreeHost(void *p)
{
	free(p);
	return 0;
}

/*
 * -- streams, events, graphs -------------------------------------------------------------------------
 */

int cuStreamCreate(void **s, unsigned flags)
{
	*s = queue;
	return 0;
}
int cuStreamDestroy_v2(void *s)
{
	return drain();
}
int cuStreamSynchronize(void *s)
{
	return drain();
}
int cuStreamWaitEvent(void *s, struct event *e, unsigned flags)
{
	return 0;
}

int cuStreamQuery(void *s)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = head != tail ? 600 : sticky;
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuEventCreate(struct event **e, unsigned flags)
{
	*e = calloc(1, sizeof(**e));
	return 0;
}

int cuEventDestroy_v2(struct event *e)
{
	drain();
	free(e);
	return 0;
}

int cuEventRecord(struct event *e, void *s)
{
	struct item *i = calloc(1, sizeof(*i));

	i->event = e;
	e->pending = 1;
	enqueue(i);
	return sticky;
}

int cuEventQuery(struct event *e)
{
	return e->pending ? 600 : sticky;
}
int cuEventSynchronize(struct event *e)
{
	return drain();
}

int cuEventElapsedTime(float *ms, struct event *from, struct event *to)
{
	*ms = (float)(to->ns - from->ns) / 1e6f;
	return sticky;
}

/* Not pretended: who captures a graph is told so. */
int cuStreamBeginCapture_v2(void *s, int mode)
{
	return 801;
}
int cuStreamEndCapture(void *s, void **g)
{
	return 801;
}
int cuGraphInstantiateWithFlags(void **x, void *g, unsigned long long flags)
{
	return 801;
}
int cuGraphLaunch(void *x, void *s)
{
	return 801;
}
int cuGraphDestroy(void *g)
{
	return 0;
}
int cuGraphExecDestroy(void *x)
{
	return 0;
}

/*
 * -- tensor maps: what was asked for, in the first words ------------------------------------------------
 */

int cuTensorMapEncodeTiled(uint64_t *m, int type, uint32_t rank, void *at, const uint64_t *dim,
			   const uint64_t *stride, const uint32_t *box, const uint32_t *elem,
			   int interleave, int swizzle, int l2, int oob)
{
	memset(m, 0, 128);
	for (uint32_t i = 0; i < rank; i++)
		if (!box[i] || box[i] > 256 || !dim[i])
			return 1;
	if ((ptr)at % 16)
		return 1;
	m[0] = (ptr)at;
	m[1] = (uint64_t)1 << 21 | rank;
	m[2] = dim[0];
	m[3] = rank > 1 ? dim[1] : 1;
	m[4] = rank > 1 ? stride[0] : 0;
	m[5] = (uint64_t)swizzle;
	m[6] = (uint64_t)type;
	return 0;
}

int cuTensorMapEncodeIm2col(uint64_t *m, int type, uint32_t rank, void *at, const uint64_t *dim,
			    const uint64_t *stride, const int *lower, const int *upper,
			    uint32_t channels, uint32_t pixels, const uint32_t *elem,
			    int interleave, int swizzle, int l2, int oob)
{
	memset(m, 0, 128);
	if (rank < 3 || channels > 256 || pixels > 1024)
		return 1;
	m[0] = (ptr)at;
	m[1] = (uint64_t)1 << 21 | rank;
	m[2] = dim[0];
	m[3] = channels;
	m[4] = pixels;
	m[5] = (uint64_t)(uint32_t)lower[0];
	m[6] = (uint64_t)(uint32_t)upper[0];
	return 0;
}
