/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pretended libcuda.so.1: "device memory" is memory of the process, protected as the real calls
 * would protect it; a "cubin" is a shared object of C functions (kernel.h) that run in order on a
 * thread, the stream; the default stream is a second thread. A bad access there is the sticky CUDA_ERROR_ILLEGAL_ADDRESS it would be on a
 * GPU.
 *
 * A file `conf` beside the library says what is pretended, one "key value" a line: version,
 * devices, cc, sick (every launch fails), room (bytes of the largest allocation), pins (0: no memory can be
 * pinned). Each launch is a line in `launches` beside it, if that
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
#include "worker/gpu/widen.h"

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
	FILE *file;

	if (!here[0] && dladdr((void *)(uintptr_t)conf, &info)) {
		snprintf(here, sizeof(here), "%s", info.dli_fname);
		*(strrchr(here, '/') ? strrchr(here, '/') : here) = '\0';
	}
	snprintf(path, sizeof(path), "%s/conf", here);
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s %ld", name, &value) == 2)
		if (!strcmp(name, key))
			found = value;
	if (file)
		fclose(file);
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

struct stream {
	struct item *queue[MAX_QUEUE];
	int head, tail; /* head == tail: nothing to do */
	pthread_cond_t filled;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct stream created = { .filled = PTHREAD_COND_INITIALIZER }; /* all of them are one */
static struct stream default_stream = { .filled = PTHREAD_COND_INITIALIZER };
static int sticky;
static bool running;
static bool pool_has_free; /* the memory pool gives memory back at the next synchronization */
static unsigned char *shared_memory;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t inside;

static int64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

static void caught(int sig)
{
	if (!inside) {
		signal(sig, SIG_DFL);
		return;
	}
	siglongjmp(back, sig);
}

static int execute(struct item *item)
{
	int sig;

	if (item->event) {
		item->event->ns = now();
		item->event->pending = 0;
		return 0;
	}
	sig = sigsetjmp(back, 1);
	if (!sig) {
		inside = 1;
		item->launch.shared = shared_memory;
		item->f->run(item->arg, &item->launch);
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

static void *work(void *payload)
{
	struct stream *stream = payload;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (stream->head == stream->tail)
			pthread_cond_wait(&stream->filled, &lock);
		pthread_mutex_unlock(&lock);
		int rc = sticky ? sticky : execute(stream->queue[stream->head]);
		pthread_mutex_lock(&lock);
		free(stream->queue[stream->head]);
		if (!sticky)
			sticky = rc;
		stream->head = (stream->head + 1) % MAX_QUEUE;
		pthread_cond_broadcast(&changed);
	}
	return payload;
}

static bool start_thread(struct stream *stream)
{
	pthread_t pthread;

	return !pthread_create(&pthread, NULL, work, stream);
}

/* Both threads start at once: a sealed process can start none. */
static void enqueue(struct stream *stream, struct item *item)
{
	pthread_mutex_lock(&lock);
	if (!running) {
		for (int sign = 1; sign < 32; sign++)
			if (sign == SIGSEGV || sign == SIGBUS || sign == SIGILL ||
			    sign == SIGTRAP || sign == SIGABRT || sign == SIGFPE)
				signal(sign, caught);
		running = start_thread(&created) && start_thread(&default_stream);
	}
	while ((stream->tail + 1) % MAX_QUEUE == stream->head)
		pthread_cond_wait(&changed, &lock);
	stream->queue[stream->tail] = item;
	stream->tail = (stream->tail + 1) % MAX_QUEUE;
	pthread_cond_signal(&stream->filled);
	pthread_mutex_unlock(&lock);
}

static int drain_stream(struct stream *stream)
{
	pthread_mutex_lock(&lock);
	while (stream->head != stream->tail)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return sticky;
}

static int drain(void)
{
	drain_stream(&default_stream);
	return drain_stream(&created);
}

/* Every synchronization returns the pool's free memory, which takes a while on the host. */
static void trim_pool(void)
{
	for (int64_t end = now() + 5000000; pool_has_free && now() < end;)
		;
	pool_has_free = false;
}

/* -- the tools of gpu_ptx.cu ---------------------------------------------------------------- */

static uint64_t finish(uint64_t depth)
{
	depth = (depth ^ (depth >> 30)) * 0xbf58476d1ce4e5b9ull;
	depth = (depth ^ (depth >> 27)) * 0x94d049bb133111ebull;
	return depth ^ (depth >> 31);
}

static uint64_t mix(uint64_t seed, uint64_t i)
{
	return finish(seed + (i + 1) * 0x9e3779b97f4a7c15ull);
}

#define U64(i) (*(uint64_t *)arg[i])
#define U32(i) (*(uint32_t *)arg[i])

/* Byte b of the words that a fill or check is about. */
static unsigned char byte_at(void **arg, uint64_t second)
{
	return (unsigned char)(((mix(U64(3), U64(2) + second / 8) & U64(4)) | U64(5)) >>
			       (8 * (second % 8)));
}

static void tool_fill(void **arg, const struct fake_launch *launch)
{
	unsigned char *to = (unsigned char *)U64(0);

	for (uint64_t second = U32(6); second < 8 * (U64(1) - 1) + U32(7); second++)
		to[second] = byte_at(arg, second);
}

static void tool_check(void **arg, const struct fake_launch *launch)
{
	const unsigned char *at = (const unsigned char *)U64(0);
	uint64_t *where = (uint64_t *)U64(8);

	for (uint64_t second = U32(6); second < 8 * (U64(1) - 1) + U32(7); second++)
		if (at[second] != byte_at(arg, second)) {
			*where = second < *where ? second : *where;
			return;
		}
}

static void tool_print(void **arg, const struct fake_launch *launch)
{
	const unsigned char *at = (const unsigned char *)U64(0);
	uint64_t *out = (uint64_t *)U64(4);

	for (uint64_t i = 0; i < U64(1); i++) {
		uint64_t value = 0;

		memcpy(&value, at + 8 * i, i == U64(1) - 1 ? U32(2) : 8);
		out[0] += finish(value ^ mix(U64(3), i));
		out[1] += finish(value + mix(~U64(3), i));
	}
}

static void tool_shared(void **arg, const struct fake_launch *launch)
{
	for (unsigned i = 0; i < U32(0); i++)
		((unsigned *)launch->shared)[i] = U32(1) + i;
}

static void tool_local(void **arg, const struct fake_launch *launch)
{
}

static void tool_widen(void **arg, const struct fake_launch *launch)
{
	void *to = (void *)U64(0);

	for (uint64_t i = 0; i < U64(2); i++)
		if (U32(3) == 8)
			((double *)to)[i] = kl_widen_one((void *)U64(1), U32(4), i);
		else
			((float *)to)[i] = kl_widen_one((void *)U64(1), U32(4), i);
}

/* -- those of tool.c ---------------------------------------------------------------- */

static void tool_hold(void **arg, const struct fake_launch *launch)
{
	const volatile uint32_t *gate = (const volatile uint32_t *)U64(0);
	int64_t begin = now();

	while ((int32_t)(*gate - U32(1)) < 0 && now() - begin < (int64_t)U64(2))
		;
}

static void tool_stamp(void **arg, const struct fake_launch *launch)
{
	uint64_t *out = (uint64_t *)U64(0);

	out[0] = (uint64_t)now();
	out[1] = out[0] / 2 * 3; /* 1500 MHz */
}

/* -- and what the driver itself enqueues ------------------------------------------------------ */

static void own_set(void **arg, const struct fake_launch *launch)
{
	unsigned char *to = (unsigned char *)U64(0);

	/* what only empties caches is not worth its time here */
	for (uint64_t i = 0; i < U64(2) && U64(2) < 64 << 20; i++)
		to[i] = (unsigned char)(U32(1) >> (8 * (i % 4)));
}

static void own_copy(void **arg, const struct fake_launch *launch)
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
static const int widen_params[] = { 8, 8, 8, 4, 4, -1 };
static const int shared_params[] = { 4, 4, -1 }, local_params[] = { 4, 8, -1 };
static const struct function tools[] = {
	{ .name = "kl_fill", .run = tool_fill, .params = fill_params },
	{ .name = "kl_check", .run = tool_check, .params = check_params },
	{ .name = "kl_print", .run = tool_print, .params = print_params },
	{ .name = "kl_scrub_shared", .run = tool_shared, .params = shared_params },
	{ .name = "kl_scrub_local", .run = tool_local, .params = local_params },
	{ .name = "kl_widen", .run = tool_widen, .params = widen_params },
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

int cuDriverGetVersion(int *values)
{
	*values = (int)conf("version", 13000);
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

int cuDeviceGetUuid_v2(unsigned char *bytes, int dev)
{
	memset(bytes, 0xfa, 16);
	bytes[14] = (unsigned char)getppid(); /* tests at the same time do not share it */
	bytes[13] = (unsigned char)(getppid() >> 8);
	bytes[15] = (unsigned char)dev;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *n, int dev)
{
	*n = (size_t)1 << 30;
	return 0;
}

int cuDeviceGetAttribute(int *values, int which, int dev)
{
	switch (which) {
	case 1:
		*values = 1024;
		break;
	case 16:
		*values = SMS;
		break;
	case 36:
		*values = 2619000;
		break;
	case 37:
		*values = 5120;
		break;
	case 38:
		*values = 1 << 16;
		break;
	case 75:
		*values = (int)conf("cc", 90) / 10;
		break;
	case 76:
		*values = (int)conf("cc", 90) % 10;
		break;
	case 81:
		*values = SHARED + 1024;
		break;
	case 97:
		*values = SHARED;
		break;
	default:
		*values = 1;
		break;
	}
	return 0;
}

int cuDevicePrimaryCtxSetFlags_v2(int dev, unsigned flags)
{
	return 0;
}
int cuDevicePrimaryCtxRetain(void **data, int dev)
{
	*data = here;
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int dev)
{
	return 0;
}
int cuCtxSetCurrent(void *data)
{
	return 0;
}
int cuCtxSynchronize(void)
{
	drain();
	trim_pool();
	return sticky;
}
int cuCtxSetLimit(int limit, size_t value)
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
	const Elf64_Ehdr *ehdr = (const void *)image;
	struct module *module;
	char path[64];
	size_t n;
	int fd;

	if (memcmp(image, ELFMAG, 4) && strncmp(image, ".version", 8))
		return strncmp(image, "SM", 2) ? 200 : 209;
	module = calloc(1, sizeof(*module));
	if (*image == '.') {
		*out = module;
		return 0;
	}
	/*
	 * gcc's linker puts the section headers last; a name of its own, so that it is another
	 * object
	 */
	n = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
	fd = memfd_create("cubin", 0);
	if (fd < 0 || write(fd, image, n) != (ssize_t)n)
		return 2;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* the descriptor stays open: a name that was seen before would be the object of then */
	module->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*out = module;
	return module->lib ? 0 : 200;
}

int cuModuleUnload(struct module *module)
{
	int rc = drain();

	if (module->lib)
		dlclose(module->lib);
	for (struct function *function = module->f, *next; function; function = next) {
		next = function->next;
		free(function);
	}
	free(module);
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
	const int *values = beside(lib, name, what);

	return values ? *values : dflt;
}

int cuModuleGetFunction(struct function **out, struct module *module, const char *name)
{
	struct function *function;

	for (function = module->f; function; function = function->next)
		if (!strcmp(function->name, name)) {
			*out = function;
			return 0;
		}
	function = calloc(1, sizeof(*function));
	for (size_t i = 0; !module->lib && i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!strcmp(tools[i].name, name))
			*function = tools[i];
	if (module->lib && beside(module->lib, name, "params")) {
		function->name = strdup(name);
		*(void **)&function->run = dlsym(module->lib, name);
		function->params = beside(module->lib, name, "params");
		function->refuse = number(module->lib, name, "refuse", 0);
	}
	function->max_threads = module->lib ? number(module->lib, name, "max_threads", 1024) : 1024;
	function->max_smem = 48 * 1024;
	if (!function->run) {
		free(function);
		return 500;
	}
	function->next = module->f;
	module->f = function;
	*out = function;
	return 0;
}

int cuFuncGetAttribute(int *values, int which, struct function *function)
{
	*values = which == 0 ? function->max_threads : which == 8 ? function->max_smem : 0;
	return 0;
}

int cuFuncSetAttribute(struct function *function, int which, int value)
{
	if (which == 8 && value > SHARED)
		return 1;
	if (which == 8)
		function->max_smem = value;
	if (which == 14)
		function->nonportable = value;
	return 0;
}

int cuFuncGetParamInfo(struct function *function, size_t i, size_t *offset, size_t *size)
{
	for (size_t k = 0; k <= i; k++)
		if (function->params[k] < 0)
			return 1;
	*offset = 0;
	*size = (size_t)function->params[i];
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

static void note(const struct item *item)
{
	char path[4096];
	const struct fake_launch *launch = &item->launch;
	FILE *file;

	snprintf(path, sizeof(path), "%s/launches", here);
	if (!strncmp(item->f->name, "kl_", 3) || access(path, W_OK) || !(file = fopen(path, "ae")))
		return;
	fprintf(file,
		"%s grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u smem %u cooperative %d pdl %d\n",
		item->f->name, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
		launch->block[1], launch->block[2], launch->cluster[0], launch->cluster[1],
		launch->cluster[2], launch->smem, launch->cooperative, launch->pdl);
	fclose(file);
}

int cuLaunchKernelEx(const struct config *config, struct function *function, void **arg,
		     void **extra)
{
	unsigned threads = config->block[0] * config->block[1] * config->block[2];
	struct item *item;
	size_t used = 0;

	if (sticky)
		return sticky;
	if (conf("sick", 0))
		return 999;
	if (function->refuse)
		return function->refuse;
	if (!threads || threads > 1024 || !config->grid[0] ||
	    (int)config->smem > function->max_smem)
		return 1;
	item = calloc(1, sizeof(*item));
	item->f = function;
	memcpy(item->launch.grid, config->grid, sizeof(config->grid));
	memcpy(item->launch.block, config->block, sizeof(config->block));
	item->launch.smem = config->smem;
	for (unsigned first = 0; first < config->nattr; first++) {
		if (config->attr[first].id == 2)
			item->launch.cooperative = config->attr[first].flag;
		else if (config->attr[first].id == 4)
			memcpy(item->launch.cluster, config->attr[first].xyz,
			       sizeof(item->launch.cluster));
		else if (config->attr[first].id == 6)
			item->launch.pdl = config->attr[first].flag;
	}
	for (size_t k = 0; function->params[k] >= 0; k++) {
		item->arg[k] = item->store + used;
		memcpy(item->arg[k], arg[k], (size_t)function->params[k]);
		used += ((size_t)function->params[k] + 63) / 64 * 64;
	}
	note(item);
	enqueue(config->stream ? &created : &default_stream, item);
	return 0;
}

/*
 * A launch by host code, which has no cubin: a function of its own, under a name of the CUDA runtime
 * that host code may use.
 */
static int launch_function(void (*run)(void **, const struct fake_launch *), const int *params,
			   void **arg, struct stream *stream)
{
	struct function *function = calloc(1, sizeof(*function));
	const struct config config = {
		.grid = { 1, 1, 1 },
		.block = { 1, 1, 1 },
		.stream = stream,
	};

	function->name = "__cudaLaunchKernel";
	function->run = run;
	function->params = params;
	function->max_threads = 1024;
	function->max_smem = SHARED;
	return cuLaunchKernelEx(&config, function, arg, NULL);
}

int __cudaLaunchKernel(void (*run)(void **, const struct fake_launch *), const int *params,
		       void **arg)
{
	return launch_function(run, params, arg, &created);
}

/* The same on the default stream. */
int cudaLaunchKernel(void (*run)(void **, const struct fake_launch *), const int *params,
		     void **arg)
{
	return launch_function(run, params, arg, NULL);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, struct function *function, int block,
						size_t smem)
{
	*n = 2048 / (block ? block : 1);
	return 0;
}

int cuOccupancyMaxActiveClusters(int *n, struct function *function, const struct config *config)
{
	*n = 0;
	for (unsigned first = 0; first < config->nattr; first++) {
		unsigned size = config->attr[first].xyz[0] * config->attr[first].xyz[1] *
				config->attr[first].xyz[2];

		if (config->attr[first].id == 4)
			*n = size <= (function->nonportable ? 16u : 8u);
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
	void *data = mmap(NULL, n + GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	if (data == MAP_FAILED)
		return 2;
	*at = ((ptr)data + GRANULE - 1) / GRANULE * GRANULE;
	return 0;
}

int cuMemAddressFree(ptr at, size_t n)
{
	return munmap((void *)at, n) ? 1 : 0;
}

int cuMemCreate(unsigned long long *values, size_t n, const void *prop, unsigned long long flags)
{
	int fd = n > (size_t)conf("room", 1l << 30) ? -1 : memfd_create("device", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)n))
		return 2;
	*values = (unsigned long long)fd;
	return n % GRANULE ? 1 : 0;
}

int cuMemRelease(unsigned long long hour)
{
	return close((int)hour) ? 1 : 0;
}

int cuMemMap(ptr at, size_t n, size_t offset, unsigned long long hour, unsigned long long flags)
{
	int i = 0;

	while (i < MAX_MAPS && maps[i].n)
		i++;
	if (i == MAX_MAPS ||
	    mmap((void *)at, n, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)hour, 0) == MAP_FAILED)
		return 2;
	maps[i] = (struct mapping){ at, n, 0 };
	return 0;
}

int cuMemUnmap(ptr at, size_t n)
{
	struct mapping *mapping = mapping_of(at);

	if (drain() || !mapping || mapping->at != at || mapping->n != n)
		return sticky ? sticky : 1;
	memset(mapping, 0, sizeof(*mapping));
	return mmap((void *)at, n, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED ?
		       2 :
		       0;
}

int cuMemSetAccess(ptr at, size_t n, const int *desc, size_t count)
{
	struct mapping *mapping = mapping_of(at);

	if (!mapping || drain())
		return mapping ? sticky : 1;
	mapping->access = desc[2];
	return mprotect((void *)at, n, desc[2] == 3 ? PROT_READ | PROT_WRITE : PROT_READ) ? 1 : 0;
}

static bool may(ptr at, size_t n, int access)
{
	const struct mapping *mapping = mapping_of(at);

	return mapping && at + n <= mapping->at + mapping->n && mapping->access >= access;
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

static void put(struct function *function, void **arg)
{
	struct item *item = calloc(1, sizeof(*item));
	size_t used = 0;

	item->f = function;
	for (size_t k = 0; function->params[k] >= 0; k++) {
		item->arg[k] = item->store + used;
		memcpy(item->arg[k], arg[k], (size_t)function->params[k]);
		used += 64;
	}
	enqueue(&created, item);
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

static int set(ptr to, uint32_t value, size_t n)
{
	if (sticky)
		return sticky;
	if (!may(to, n, 3))
		return 1;
	put(&own_set_f, (void *[]){ &to, &value, &n });
	return 0;
}

int cuMemsetD8Async(ptr to, unsigned char ch, size_t n, void *stream)
{
	return set(to, ch * 0x01010101u, n);
}

int cuMemsetD32Async(ptr to, unsigned value, size_t n, void *stream)
{
	return set(to, value, 4 * n);
}

/* Pinned is what is registered once, as in the driver. */
static struct pinned {
	void *at;
	size_t n;
} pins[64];

int cuMemHostRegister_v2(void *data, size_t n, unsigned flags)
{
	if (!conf("pins", 1))
		return 801;
	for (size_t i = 0; i < 64; i++)
		if (pins[i].at && (char *)data < (char *)pins[i].at + pins[i].n &&
		    (char *)pins[i].at < (char *)data + n)
			return 712;
	for (size_t i = 0; i < 64; i++)
		if (!pins[i].at) {
			pins[i] = (struct pinned){ data, n };
			return 0;
		}
	return 2;
}

int cuMemHostUnregister(void *data)
{
	for (size_t i = 0; i < 64; i++)
		if (pins[i].at == data) {
			pins[i].at = NULL;
			return 0;
		}
	return 713;
}

int cuMemHostAlloc(void **data, size_t n, unsigned flags)
{
	*data = malloc(n);
	return 0;
}

int cuMemFreeHost(void *data)
{
	free(data);
	return 0;
}

/* Memory of the pool, which host code can use. */
int cudaMallocAsync(void **data, size_t n, void *stream)
{
	*data = malloc(n);
	return *data ? 0 : 2;
}

int cudaFreeAsync(void *data, void *stream)
{
	free(data);
	pool_has_free = true;
	return 0;
}

/*
 * -- streams, events, graphs -------------------------------------------------------------------------
 */

int cuStreamCreate(void **source, unsigned flags)
{
	*source = &created;
	return 0;
}
int cuStreamDestroy_v2(void *source)
{
	return drain();
}
int cuStreamSynchronize(void *source)
{
	drain_stream(source ? source : &default_stream);
	trim_pool();
	return sticky;
}
int cuStreamWaitEvent(void *source, struct event *event, unsigned flags)
{
	return 0;
}

int cuStreamQuery(void *source)
{
	const struct stream *stream = source ? source : &default_stream;
	int rc;

	pthread_mutex_lock(&lock);
	rc = stream->head != stream->tail ? 600 : sticky;
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuEventCreate(struct event **events, unsigned flags)
{
	*events = calloc(1, sizeof(**events));
	return 0;
}

int cuEventDestroy_v2(struct event *event)
{
	drain();
	free(event);
	return 0;
}

int cuEventRecord(struct event *event, void *source)
{
	struct item *item;

	/* complete at once, as on a GPU: the thread would first have to get a processor */
	if (!source && !cuStreamQuery(NULL)) {
		event->ns = now();
		event->pending = 0;
		return sticky;
	}
	item = calloc(1, sizeof(*item));
	item->event = event;
	event->pending = 1;
	enqueue(source ? source : &default_stream, item);
	return sticky;
}

int cuEventQuery(struct event *event)
{
	return event->pending ? 600 : sticky;
}
int cuEventSynchronize(struct event *event)
{
	drain();
	trim_pool();
	return sticky;
}

int cuEventElapsedTime(float *ms, struct event *from, struct event *to)
{
	*ms = (float)(to->ns - from->ns) / 1e6f;
	return sticky;
}

/* Not pretended: who captures a graph is told so. */
int cuStreamBeginCapture_v2(void *source, int mode)
{
	return 801;
}
int cuStreamEndCapture(void *source, void **data)
{
	return 801;
}
int cuGraphInstantiateWithFlags(void **data, void *bytes, unsigned long long flags)
{
	return 801;
}
int cuGraphLaunch(void *data, void *source)
{
	return 801;
}
int cuGraphDestroy(void *data)
{
	return 0;
}
int cuGraphExecDestroy(void *data)
{
	return 0;
}

/*
 * -- tensor maps: what was asked for, in the first words ------------------------------------------------
 */

int cuTensorMapEncodeTiled(uint64_t *values, int type, uint32_t rank, void *at, const uint64_t *dim,
			   const uint64_t *stride, const uint32_t *box, const uint32_t *elem,
			   int interleave, int swizzle, int l2, int oob)
{
	memset(values, 0, 128);
	for (uint32_t i = 0; i < rank; i++)
		if (!box[i] || box[i] > 256 || !dim[i])
			return 1;
	if ((ptr)at % 16)
		return 1;
	values[0] = (ptr)at;
	values[1] = (uint64_t)1 << 21 | rank;
	values[2] = dim[0];
	values[3] = rank > 1 ? dim[1] : 1;
	values[4] = rank > 1 ? stride[0] : 0;
	values[5] = (uint64_t)swizzle;
	values[6] = (uint64_t)type;
	return 0;
}

int cuTensorMapEncodeIm2col(uint64_t *values, int type, uint32_t rank, void *at,
			    const uint64_t *dim, const uint64_t *stride, const int *lower,
			    const int *upper, uint32_t channels, uint32_t pixels,
			    const uint32_t *elem, int interleave, int swizzle, int l2, int oob)
{
	memset(values, 0, 128);
	if (rank < 3 || channels > 256 || pixels > 1024)
		return 1;
	values[0] = (ptr)at;
	values[1] = (uint64_t)1 << 21 | rank;
	values[2] = dim[0];
	values[3] = channels;
	values[4] = pixels;
	values[5] = (uint64_t)(uint32_t)lower[0];
	values[6] = (uint64_t)(uint32_t)upper[0];
	return 0;
}
