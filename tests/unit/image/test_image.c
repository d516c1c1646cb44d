/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "image/code_check.h"
#include "image/image_map.h"

/*
 * An image written by hand: text returns the sum of a word of rodata, one of data that rodata
 * points to, and one of bss.
 *
 *	0	mov 0x1000(%rip of 7), %rax -> rodata[0], the address of data[0]
 *	...
 */
static const unsigned char code[] = {
	0x48, 0x8b, 0x05, 0xf9, 0x0f, 0x00, 0x00,       /*  0 mov rodata(%rip), %rax */
	0x48, 0x8b, 0x00,                               /*  7 mov (%rax), %rax */
	0x48, 0x03, 0x05, 0xf7, 0x1f, 0x00, 0x00,       /* 10 add data+8(%rip), %rax */
	0x48, 0x03, 0x05, 0xf8, 0x1f, 0x00, 0x00,       /* 17 add bss(%rip), %rax */
	0xc3,                                           /* 24 ret */
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,       /* 25 */
	0x64, 0x8b, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00, /* 32 mov %fs:0, %eax: a library's */
	0xc3,                                           /* 40 ret */
};

enum { RODATA = 4096, DATA = 8192, BSS = DATA + 16 };

struct parts {
	uint64_t rodata[4], data[2];
	struct kl_image_slot address[1], thread[1];
	struct kl_image_import import[1];
	struct kl_image image;
};

static void make_parts(struct parts *parts)
{
	*parts = (struct parts){
		.rodata = { 0, 7, 0, 0 },
		.data = { 40, 2 },
		.address = { { .at = RODATA, .to = DATA } },
		.thread = { { .at = RODATA + 16, .to = BSS + 8 } },
		.import = { { .at = RODATA + 24, .name = 0, .add = 0 } },
		.image = {
			.text = sizeof(code), .rodata = sizeof(parts->rodata),
			.data = sizeof(parts->data), .bss = 5000, .align = 4096, .own = 32,
			.entry = 0, .arena = BSS + 16, .dims = KL_IMAGE_NONE, .start = KL_IMAGE_NONE, .frames = KL_IMAGE_NONE,
			.adapter = { KL_IMAGE_NONE, 7, KL_IMAGE_NONE },
			.bytes = { code, (unsigned char *)parts->rodata, (unsigned char *)parts->data },
			.address = parts->address, .thread = parts->thread, .import = parts->import,
			.naddress = 1, .nthread = 1, .names = "here\0", .nnames = 5,
		},
	};
}

static int image_fd(const struct kl_buf *bytes)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->ptr, bytes->len), bytes->len);
	return fd;
}

static void test_round_trip(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT, again = KL_BUF_INIT;
	struct parts parts;
	struct kl_image image;

	make_parts(&parts);
	parts.image.nimport = 1;
	kl_image_write(&bytes, &parts.image);
	assert_int_equal(bytes.len % 4096, 16 + 16 + 16 + 5);
	assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
	assert_int_equal(image.bss, 5000);
	assert_true(image.adapter[KL_IMAGE_PREPARE] == KL_IMAGE_NONE);
	assert_int_equal(image.adapter[KL_IMAGE_PACK], 7);
	assert_true(image.adapter[KL_IMAGE_FINISH] == KL_IMAGE_NONE);
	assert_int_equal(image.address[0].to, DATA);
	assert_string_equal(image.names + image.import[0].name, "here");
	assert_ok(kl_code_check(&image));
	image.adapter[KL_IMAGE_PACK] = 8;
	assert_error(KL_ENO, "of the adapter does not begin", kl_code_check(&image));
	image.adapter[KL_IMAGE_PACK] = 7;
	kl_image_write(&again, &image);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.ptr, bytes.ptr, bytes.len);
}

/* What /proc says of a page of this process: "r-xp". */
static void protection(char out[5], const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	assert_non_null(maps);
	strcpy(out, "none");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, out) == 3 &&
		    from <= (unsigned long)at && (unsigned long)at < to)
			break;
		else
			strcpy(out, "none");
	fclose(maps);
}

static void *find_here(const char *name, void *payload)
{
	return strcmp(name, "here") ? NULL : payload;
}

static void test_map(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_image_mapped mapped;
	struct parts parts;
	char prot[5];
	uint64_t *rodata;
	int fd;

	make_parts(&parts);
	parts.image.nimport = 1;
	kl_image_write(&bytes, &parts.image);
	fd = image_fd(&bytes);
	assert_ok(kl_image_map(&mapped, fd, bytes.len, find_here, &parts));
	assert_int_equal(((uint64_t(*)(void))(uintptr_t)mapped.entry)(), 42);
	memset(mapped.base + BSS, 1, 1);
	assert_int_equal(((uint64_t(*)(void))(uintptr_t)mapped.entry)(), 43);
	rodata = (uint64_t *)(mapped.base + RODATA);
	assert_int_equal(rodata[0], (uint64_t)(mapped.base + DATA));
	assert_int_equal(rodata[1], 7);
	assert_int_equal(rodata[2] + (uint64_t)__builtin_thread_pointer(),
			 (uint64_t)(mapped.base + BSS + 8));
	assert_ptr_equal(rodata[3], &parts);
	assert_ptr_equal(mapped.arena, mapped.base + BSS + 16);
	assert_null(mapped.dims);
	assert_ptr_equal(mapped.data, mapped.base + DATA);
	assert_int_equal(mapped.data_bytes, 5016);
	protection(prot, mapped.base);
	assert_string_equal(prot, "r-xp");
	protection(prot, mapped.base + RODATA);
	assert_string_equal(prot, "r--p");
	protection(prot, mapped.base + DATA);
	assert_string_equal(prot, "rw-p");
	protection(prot, mapped.base + DATA + 4096);
	assert_string_equal(prot, "rw-p");
	protection(prot, mapped.base - 4096);
	assert_string_equal(prot, "---p");
	protection(prot, mapped.base + DATA + 8192);
	assert_string_equal(prot, "---p");
	kl_image_unmap(&mapped);
	assert_null(mapped.base);
	/* what it imports is not here */
	assert_error(KL_EINVALID, "uses 'here'", kl_image_map(&mapped, fd, bytes.len, NULL, NULL));
	assert_null(mapped.base);
	assert_error(KL_EINVALID, "length", kl_image_map(&mapped, fd, bytes.len - 1, NULL, NULL));
	assert_true(kl_image_map(&mapped, -1, bytes.len, NULL, NULL) < 0);
	close(fd);
}

static void test_align(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct parts parts;
	int fd;

	make_parts(&parts);
	parts.image.align = 2 << 20;
	kl_image_write(&bytes, &parts.image);
	fd = image_fd(&bytes);
	for (int i = 0; i < 3; i++) {
		struct kl_image_mapped mapped;

		assert_ok(kl_image_map(&mapped, fd, bytes.len, NULL, NULL));
		assert_int_equal((uintptr_t)mapped.base % (2 << 20), 0);
		assert_int_equal(((uint64_t(*)(void))(uintptr_t)mapped.entry)(), 42);
		kl_image_unmap(&mapped);
	}
	close(fd);
}

/* Each of these breaks one rule of the format. */
#define BROKEN(what, change)                                                                     \
	do {                                                                                     \
		KL_AUTO(kl_buf_release) struct kl_buf bytes_ = KL_BUF_INIT;                      \
		struct parts parts_;                                                             \
		struct kl_image image_;                                                          \
                                                                                                 \
		make_parts(&parts_);                                                             \
		{                                                                                \
			struct kl_image *image = &parts_.image;                                  \
			struct parts *parts = &parts_;                                           \
                                                                                                 \
			(void)image;                                                             \
			(void)parts;                                                             \
			change;                                                                  \
		}                                                                                \
		kl_image_write(&bytes_, &parts_.image);                                          \
		assert_error(KL_EINVALID, what, kl_image_read(&image_, bytes_.ptr, bytes_.len)); \
	} while (0)

static void test_rules(void **state)
{
	BROKEN("no code of its own", image->own = 0);
	BROKEN("no code of its own", image->own = image->text + 1);
	BROKEN("entry lies outside", image->entry = image->own);
	BROKEN("entry lies outside", image->entry = KL_IMAGE_NONE);
	BROKEN("start function lies outside", image->start = image->own);
	BROKEN("adapter lies outside", image->adapter[KL_IMAGE_PACK] = image->own);
	BROKEN("adapter lies outside", image->adapter[KL_IMAGE_FINISH] = KL_IMAGE_NONE - 1);
	BROKEN("arena is not aligned, or lies outside", image->arena = 0);
	BROKEN("arena is not aligned, or lies outside", image->arena = DATA + 16 + 5000 - 8);
	BROKEN("arena is not aligned, or lies outside", image->arena = BSS + 1);
	BROKEN("dims are not aligned, or lie outside", image->dims = DATA + 5016 - 120);
	BROKEN("dims are not aligned, or lie outside", image->dims = RODATA);
	BROKEN("not a power of two", image->align = 4095);
	BROKEN("not a power of two", image->align = 0);
	BROKEN("not a power of two", image->align = 4 << 20);
	BROKEN("out of order", parts->address[0].at = 0);
	BROKEN("out of order", parts->address[0].at = RODATA + 25);
	BROKEN("out of order", parts->address[0].at = DATA + 9);
	BROKEN("out of order", parts->address[0].at = BSS);
	BROKEN("out of order", parts->address[0].at = UINT64_MAX - 3);
	BROKEN("out of order", parts->thread[0].at = RODATA - 1);
	BROKEN("too far", parts->address[0].to = INT64_MAX);
	BROKEN("too far", parts->thread[0].to = INT64_MIN);
	BROKEN("no name", (image->nimport = 1, parts->import[0].name = 1));
	BROKEN("no name", (image->nimport = 1, parts->import[0].name = 5));
	BROKEN("list of names is malformed", (image->names = "here!", image->nnames = 5));
	BROKEN("list of names is malformed", (image->names = "\0ere", image->nnames = 5));
	BROKEN("needs too much memory", image->bss = KL_IMAGE_MAX_MEMORY - 4096);
	BROKEN("a segment is too large", image->bss = UINT64_MAX - 4096);
}

/* Each byte of the head set to several values, and each length: an error, or a valid image. */
static void test_broken(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct parts parts;
	struct kl_image image;
	size_t accepted = 0;

	make_parts(&parts);
	kl_image_write(&bytes, &parts.image);
	for (size_t i = 0; i < 4096; i++) {
		static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
		char saved = bytes.ptr[i];

		for (size_t k = 0; k < sizeof(values); k++) {
			bytes.ptr[i] = (char)values[k];
			if (kl_image_read(&image, bytes.ptr, bytes.len) == 0) {
				kl_code_check(&image);
				accepted += bytes.ptr[i] != saved;
			}
		}
		bytes.ptr[i] = saved;
	}
	/* offsets and sizes that are smaller than before */
	assert_in_range(accepted, 1, 64);
	for (size_t n = 0; n < bytes.len; n++)
		assert_true(kl_image_read(&image, bytes.ptr, n) < 0);
	for (uint64_t at = 4096 + sizeof(code); at < 4096 + RODATA; at += 97) {
		bytes.ptr[at] = 1;
		assert_error(KL_EINVALID, "after a segment",
			     kl_image_read(&image, bytes.ptr, bytes.len));
		bytes.ptr[at] = 0;
	}
	bytes.ptr[200] = 1;
	assert_error(KL_EINVALID, "unknown members", kl_image_read(&image, bytes.ptr, bytes.len));
}

static int check_code(const char *text, size_t n, uint64_t own)
{
	struct kl_image image = { .text = n,
				  .own = own,
				  .start = KL_IMAGE_NONE,
				  .adapter = { KL_IMAGE_NONE, KL_IMAGE_NONE, KL_IMAGE_NONE },
				  .bytes = { (const unsigned char *)text } };

	return kl_code_check(&image);
}

static void test_code(void **state)
{
	assert_ok(check_code("\xeb\x00\xc3", 3, 3));
	assert_ok(check_code("\xc3\x64\x8b\x03", 4, 1));
	assert_error(KL_ENO, "calls the system (at 0x1 ", check_code("\xc3\x0f\x05", 3, 1));
	assert_error(KL_ENO, "thread-local storage", check_code("\x64\x8b\x03\xc3", 4, 4));
	assert_error(KL_ENO, "not an instruction", check_code("\xc3\x0f", 2, 2));
	assert_error(KL_ENO, "not an instruction", check_code("\x06\xc3", 2, 2));
	assert_error(KL_ENO, "middle of an instruction", check_code("\xeb\x01\xb0\xc3\xc3", 5, 5));
	assert_error(KL_ENO, "middle of an instruction", check_code("\xeb\x7f\xc3", 3, 3));
	assert_error(KL_ENO, "middle of an instruction", check_code("\xeb\x80\xc3", 3, 3));
	assert_error(KL_ENO, "middle of an instruction", check_code("\xeb\x01\xc3", 3, 3));
	/* an instruction may not end in the libraries' part */
	assert_error(KL_ENO, "extends into the code of the libraries",
		     check_code("\xb8\x00\x00\x00\x00\xc3", 6, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_map),
		cmocka_unit_test(test_align),      cmocka_unit_test(test_rules),
		cmocka_unit_test(test_broken),     cmocka_unit_test(test_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
