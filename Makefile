# SPDX-License-Identifier: Apache-2.0
# git-klineage: make demo | make check | make all | make install
# Options: SANITIZE=1 (ASan, UBSan), FAULT=1 (fault points), DEVELOPER=1 (-Werror), V=1

CC ?= gcc
PREFIX ?= /usr/local
# installation directories; DESTDIR is prepended to each
bindir = $(PREFIX)/bin
libexecdir = $(PREFIX)/libexec
datadir = $(PREFIX)/share
mandir = $(datadir)/man
docdir = $(datadir)/doc/git-klineage
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishdir = $(datadir)/fish
sharedir = $(datadir)/git-klineage
privdir = $(libexecdir)/git-klineage

B := build$(if $(SANITIZE),-san)$(if $(FAULT),-fault)

VERSION := 0.1.0
PKGS := libgit2 jansson yaml-0.1 libcrypto libffi libseccomp libelf
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wno-unused-parameter -Wno-format-truncation
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Isrc $(WARN) $(CFLAGS) -fno-strict-aliasing \
	-DKL_VERSION='"$(VERSION)"' -DKL_SHARE='"$(sharedir)"' -DKL_LIBEXEC='"$(privdir)"' -DKL_SOURCE='"$(CURDIR)"'
FFI_LIBS := $(shell pkg-config --libs libffi 2>/dev/null)
ifeq ($(FFI_LIBS),)
ALL_CFLAGS += -DKL_NO_FFI
endif
ifdef JANSSON
ALL_CFLAGS += -I$(JANSSON)/include
endif
ifdef DEVELOPER
ALL_CFLAGS += -Werror
endif
ifdef SANITIZE
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# with shared runtimes of gcc, log_path in UBSAN_OPTIONS has no effect
ALL_CFLAGS += $(if $(findstring clang,$(CC)),,-static-libasan -static-libubsan)
endif
ifdef FAULT
ALL_CFLAGS += -DKL_FAULT_POINTS
endif
ifneq ($(V),1)
Q := @
endif

# two programs from one tree; they share base, image, plan, job and some of text
LIB_SRC := $(sort $(shell find src -name '*.c' ! -path 'src/cmd/*' ! -path 'src/worker/*'))
LIB_OBJ := $(LIB_SRC:src/%.c=$(B)/%.o)
CMD_OBJ := $(patsubst src/%.c,$(B)/%.o,$(sort $(shell find src/cmd -name '*.c')))
# the worker stands alone: base, image, plan, job, of text what needs no libyaml and no OpenSSL, libffi
WORKER_TEXT := $(addprefix src/text/,json.c yaml_json.c yaml_tree.c name.c yaml_write.c schema.c schema_read.c schema_string.c schema_write.c texts.c)
WORKER_LIB_OBJ := $(patsubst src/%.c,$(B)/%.o,$(sort $(wildcard src/base/*.c src/image/*.c src/plan/*.c src/job/*.c)) $(WORKER_TEXT))
WORKER_OBJ := $(patsubst src/%.c,$(B)/%.o,$(sort $(shell find src/worker -name '*.c')))
# unit tests are in the folder of the room they test; all programs go to one folder, so names are unique
TEST_SRC := $(sort $(shell find tests/unit -name 'test_*.c'))
TEST_BIN := $(patsubst %.c,$(B)/tests/%,$(notdir $(TEST_SRC)))
vpath test_%.c $(sort $(dir $(TEST_SRC)))
BENCH_BIN := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))

LIBS = $(shell pkg-config --libs $(PKGS)) -lZydis -lpthread -lm
# STATIC=1: a worker that needs only libc at run time, to copy to a machine with a GPU.
# Without libffi it does not support surface c. JANSSON=<prefix> is the directory of libjansson.
JANSSON_LIBS = $(if $(JANSSON),-L$(JANSSON)/lib -ljansson,$(shell pkg-config --libs jansson 2>/dev/null || echo -ljansson))
WORKER_LIBS = $(if $(STATIC),-Wl$(comma)-Bstatic $(JANSSON_LIBS) $(FFI_LIBS) -Wl$(comma)-Bdynamic,$(JANSSON_LIBS) $(FFI_LIBS)) \
	-ldl -lpthread -lm
comma := ,

# packages needed to build, run and test (README.md has the reasons)
PACKAGES := gcc g++ libc6-dev binutils pkg-config libgit2-dev libjansson-dev libyaml-dev libssl-dev libcurl4-openssl-dev ca-certificates libffi-dev \
	libseccomp-dev libelf-dev libzydis-dev bubblewrap coccinelle libopenblas0-serial libdnnl-dev libdnnl2 \
	openssh-client cmake meson libcmocka-dev sharness perl libxml2-utils asciidoctor shellcheck clang-format
PACKAGES_DEV := clang libclang-rt-14-dev valgrind zsh fish bash-completion chromium-headless-shell librsvg2-bin pre-commit universal-ctags
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)

.PHONY: all worker deps deps-dev demo check cheats yardstick real rejudge price tests man style format fuzz ptx bench bench-programs clean
.PHONY: install install-strip uninstall installcheck dist deb
all: $(B)/git-klineage $(B)/klineage-worker
worker: $(B)/klineage-worker

$(B)/git-klineage: $(CMD_OBJ) $(B)/libkl.a
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(CMD_OBJ) $(B)/libkl.a $(LIBS)

# loops over elements become vector instructions; nothing here looks at floating-point exceptions
$(B)/job/half.o $(B)/job/tensor.o: ALL_CFLAGS += -O3 -fno-trapping-math

# a search is repeated bit by bit, on any machine: no product and sum become one operation
$(B)/search/%.o $(B)/study/%.o: ALL_CFLAGS += -ffp-contract=off

# the sealed child of a worker with sanitizers is a program built without them
ifdef SANITIZE
$(B)/klineage-worker: | $(B)/klineage-worker-plain
$(B)/worker/subject/subject_cpu.o: ALL_CFLAGS += -DKL_CHILD_PROGRAM='"klineage-worker-plain"'
.PHONY: plain-worker
plain-worker:
	@$(MAKE) --no-print-directory -s SANITIZE= FAULT= build/klineage-worker
$(B)/klineage-worker-plain: plain-worker
	$(Q)mkdir -p $(@D) && cp build/klineage-worker $@.new && mv -f $@.new $@
endif

$(B)/klineage-worker: $(WORKER_OBJ) $(WORKER_LIB_OBJ)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $^ $(WORKER_LIBS)

$(B)/libkl.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/%.o: src/%.c Makefile
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

WORKER_TESTS := $(filter $(B)/tests/test_worker% $(B)/tests/test_job%,$(TEST_BIN))
$(WORKER_TESTS): $(B)/tests/%: %.c $(WORKER_OBJ) $(WORKER_LIB_OBJ) | $(B)/klineage-worker
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Itests/unit $(LDFLAGS) -o $@ $< $(filter-out %/worker/main.o,$(WORKER_OBJ)) \
		$(WORKER_LIB_OBJ) -lcmocka $(WORKER_LIBS)

# reads what a kernel saw, behind each call
$(B)/tests/test_worker_tells: private LDFLAGS += -Wl,--wrap=kl_trial_kernel

# makes images that no audit would let pass, for the tests of the worker
$(B)/tests/link_image: tests/tools/link_image.c $(B)/libkl.a | $(B)/tests/kernel_runtime.o
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libkl.a $(LIBS)
$(B)/tests/kernel_runtime.o: $(addprefix templates/runtime/,kernel_runtime.c runtime.c system.c)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -fPIC -fno-builtin -fno-stack-protector -fcf-protection=none -w -c -o $@ $<
$(WORKER_TESTS): | $(B)/tests/link_image
$(WORKER_TESTS): ALL_CFLAGS += -DKL_BUILD='"$(B)"'

# a fake GPU driver for the tests
$(B)/tests/fake/libcuda.so.1: tests/fake/cuda.c tests/fake/kernel.h src/worker/gpu/widen.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wno-unused-parameter -Isrc -shared -fPIC -o $@ $< -lpthread -ldl
$(B)/tests/test_worker_gpu $(B)/tests/test_worker_gpu_timing $(B)/tests/test_worker_host: $(B)/tests/fake/libcuda.so.1
$(B)/tests/test_worker_gpu_baseline: ALL_CFLAGS += -isystem /usr/local/cuda/include

# a fake provider of language models for the tests
$(B)/tests/chatd: $(wildcard tests/fake/chatd*.c) tests/fake/chatd.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-unused-parameter \
		-Wno-deprecated-declarations -o $@ $(filter %.c,$^) \
		-ljansson -lssl -lcrypto -lpthread
$(B)/tests/test_provider_http $(B)/tests/test_provider_secret $(B)/tests/test_provider_session $(B)/tests/test_provider_fault \
	$(B)/tests/test_provider_service $(B)/tests/test_model_probe $(B)/tests/test_model_outage $(B)/tests/test_model_network: | $(B)/tests/chatd

# programs that tests/device/run.sh runs on a machine with a GPU; needs nvcc
DEVICE_CUBIN := $(addprefix $(B)/device/,kernels.cubin truth.cubin honest.cubin sm_80.cubin)
.PHONY: device-tests
device-tests: $(B)/device/gpu $(DEVICE_CUBIN)
NVCC ?= nvcc
NVCC_90 := -cubin -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a
$(B)/device/kernels.cubin: tests/device/kernels.cu
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCC_90) -o $@ $<
$(B)/device/truth.cubin: tests/device/oracle.cu
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCC_90) -Dkl_real=double -o $@ $<
$(B)/device/honest.cubin: tests/device/oracle.cu
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCC_90) -Dkl_real=float -o $@ $<
$(B)/device/sm_80.cubin: tests/device/oracle.cu
	$(Q)mkdir -p $(@D) && $(NVCC) -cubin -arch=sm_80 -Dkl_real=float -o $@ $<
$(B)/device/gpu: tests/device/gpu.c $(WORKER_OBJ) $(WORKER_LIB_OBJ) | $(B)/klineage-worker
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter-out %/worker/main.o,$(WORKER_OBJ)) \
		$(WORKER_LIB_OBJ) $(WORKER_LIBS)

$(filter-out $(WORKER_TESTS),$(TEST_BIN)): $(B)/tests/%: %.c $(B)/libkl.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Itests/unit $(LDFLAGS) -o $@ $< $(B)/libkl.a -lcmocka $(LIBS)

$(B)/bench/%: tests/bench/%.c $(B)/libkl.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libkl.a $(LIBS)

tests: all $(TEST_BIN) $(B)/tests/chatd

# --- set-up ---------------------------------------------------------------

define install_packages
	@if ! command -v dpkg-query >/dev/null; then \
		echo "deps: no dpkg here; install the like of: $(1)"; exit 0; fi; \
	missing=$$(for p in $(1); do \
		dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	[ -n "$$missing" ] || exit 0; \
	echo "deps: installing" $$missing; \
	$(SUDO) apt-get -qq update && \
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $$missing </dev/null >/dev/null
endef

deps:
	$(call install_packages,$(PACKAGES))

deps-dev: deps
	$(call install_packages,$(PACKAGES_DEV))

# --- the two commands ------------------------------------------------------

demo: deps
	@$(MAKE) --no-print-directory -s -j2 all
	@tests/demo.sh "$(CURDIR)/$(B)"

check: deps
	@tests/style.sh
	@$(MAKE) --no-print-directory -s -j2 DEVELOPER=1 tests man
ifdef SANITIZE
	@tests/sanitize.sh "$(CURDIR)/$(B)"
else
	@$(MAKE) --no-print-directory -s -j2 DEVELOPER=1 FAULT=1 build-fault/git-klineage build-fault/klineage-worker \
		build-fault/tests/test_model_fault build-fault/tests/test_provider_fault
	@tests/run.sh "$(CURDIR)/$(B)"
endif

# every specimen of tests/cheats that is judged without a GPU, with the profile; "make check" draws some of them.
# LOAD=8: with 8 processes beside it that only compute
cheats: deps
	@$(MAKE) --no-print-directory -s -j2 DEVELOPER=1 tests
	@tests/cheats.sh "$(CURDIR)/$(B)" $(LOAD)

# how often kernels whose elements share roundings are refused; SEEDS=<number>, KERNEL=<name>|simulation [BUILD=-O3|-Ofast]
YARDSTICK_BUILDS := truth honest plain fast
YARDSTICK_OBJ := $(patsubst %,$(B)/yardstick/%.o,yardstick inprocess cheats simulation $(YARDSTICK_BUILDS))
$(B)/yardstick/truth.o: YARDSTICK_FLAGS = -O3 -ffp-contract=off -march=x86-64-v3 -Dkl_real=double
$(B)/yardstick/honest.o: YARDSTICK_FLAGS = -O3 -ffp-contract=off -march=x86-64-v3 -Dkl_real=float
$(B)/yardstick/plain.o: YARDSTICK_FLAGS = -O3 -march=x86-64-v3 -Dkl_real=float
$(B)/yardstick/fast.o: YARDSTICK_FLAGS = -Ofast -march=x86-64-v3 -Dkl_real=float
$(patsubst %,$(B)/yardstick/%.o,$(YARDSTICK_BUILDS)): $(B)/yardstick/%.o: tests/yardstick/kernels.c Makefile
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Itemplates/runtime $(YARDSTICK_FLAGS) -DBUILD=$* -MMD -MP -c -o $@ $<
$(B)/yardstick/%.o: tests/yardstick/%.c Makefile
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/yardstick/yardstick: $(YARDSTICK_OBJ) $(WORKER_OBJ) $(WORKER_LIB_OBJ)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,--wrap=kl_subject_start_cpu -o $@ $(YARDSTICK_OBJ) \
		$(filter-out %/worker/main.o,$(WORKER_OBJ)) $(WORKER_LIB_OBJ) -lmvec $(WORKER_LIBS)
yardstick: $(B)/yardstick/yardstick
	@$< $(or $(SEEDS),10000) "$(KERNEL)" "$(BUILD)"

# kernels of public repositories (tests/real/README.md); reaches the network. LIST=<list>, ROWS="<name>...", REAL_FLAGS
real: deps
	@$(MAKE) --no-print-directory -s -j2 all
	@KLINEAGE_BUILD="$(CURDIR)/$(B)" tests/real/run.sh $(REAL_FLAGS) $(or $(LIST),tests/real/kernels.list) $(ROWS)

# the shipped lineages under the gate's present policy
rejudge: deps
	@$(MAKE) --no-print-directory -s -j2 all
	@KLINEAGE_BUILD="$(CURDIR)/$(B)" tests/rejudge.sh

# what walks cost, at a provider that accounts for a cache; WALKS="ten two" makes only these
price: deps
	@$(MAKE) --no-print-directory -s -j2 tests
	@tests/price.sh "$(CURDIR)/$(B)" $(WALKS)

# --- manual ---------------------------------------------------------------

# The first line of a page has its section, as in "name(5)". A source package contains built pages, so asciidoctor is
# optional there.
MAN_SRC := $(wildcard docs/man/*.adoc)
MAN := $(foreach f,$(MAN_SRC),$(f:docs/man/%.adoc=build/man/%).$(shell sed -n '1s/.*(\([0-9]\))$$/\1/p' $(f)))
ASCIIDOCTOR := $(shell command -v asciidoctor)
define man_rule
$(1): docs/man/$(basename $(notdir $(1))).adoc
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(if $$(ASCIIDOCTOR)$$(if $$(wildcard docs/man/built/$(notdir $(1))),,x),\
		asciidoctor -b manpage -a reproducible -a version=$$(VERSION) --failure-level=WARN -o $$@ $$<,\
		cp docs/man/built/$(notdir $(1)) $$@)
endef
$(foreach m,$(MAN),$(eval $(call man_rule,$(m))))
man: $(MAN)

# --- for developers -------------------------------------------------------

style:
	@tests/style.sh
format:
	@tests/style.sh --format

# PARTS="aa log" runs only these parts
bench: deps
	@$(MAKE) --no-print-directory -s -j2 bench-programs
	@tests/bench.sh "$(CURDIR)/$(B)" $(PARTS)
bench-programs: all $(BENCH_BIN)

# the worker's own GPU kernels, for drivers since CUDA 12.4 and GPUs since sm_75
ptx:
	$(Q)mkdir -p build && $(NVCC) -ptx -arch=compute_75 -O3 -o build/gpu_ptx.ptx src/worker/gpu/ptx.cu
	$(Q){ echo '/* SPDX-License-Identifier: Apache-2.0 */'; echo '/* ptx - the small GPU kernels of the gate itself, by "make ptx" from ptx.cu */'; \
		echo '#include "worker/gpu/tool.h"'; echo; echo 'const char kl_gpu_ptx[] ='; \
		sed -e '/^\/\//d; /^[[:space:]]*$$/d; /^[[:space:]]*\/\//d' -e 's/^\.version .*/.version 7.0/' \
			-e 's/[[:space:]][[:space:]]*/ /g; s/^ //; s/"/\\"/g; s/.*/\t"&\\n"/' build/gpu_ptx.ptx; \
		echo '	;'; } >src/worker/gpu/ptx.c

-include tests/fuzz/fuzz.mk

# --- install ----------------------------------------------------------------

# files read at run time; shell completion and the Debian recipe are not
SHARED := $(filter-out templates/completion templates/debian,$(wildcard templates/*))
DOCS := LICENSE README.md $(wildcard docs/*.md)
# DESTDIR can contain blanks
export DESTDIR
D := "$$DESTDIR"
man_path = $(D)$(mandir)/man$(subst .,,$(suffix $(1)))
install: all man
	install -d $(D)$(bindir) $(D)$(privdir) $(D)$(sharedir)/templates $(D)$(sharedir)/docs/man $(D)$(docdir) \
		$(D)$(bashcompdir) $(D)$(zshcompdir) $(D)$(fishdir)/vendor_completions.d $(D)$(fishdir)/vendor_conf.d \
		$(sort $(foreach m,$(MAN),$(call man_path,$(m))))
	install -m 755 $(B)/git-klineage $(D)$(bindir)/
	install -m 755 $(B)/klineage-worker $(D)$(privdir)/
	cp -R $(SHARED) $(D)$(sharedir)/templates/
	cp -R hooks skills $(D)$(sharedir)/
	install -m 644 $(MAN_SRC) $(D)$(sharedir)/docs/man/
	$(foreach m,$(MAN),install -m 644 $(m) $(call man_path,$(m))/ &&) :
	install -m 644 $(DOCS) $(D)$(docdir)/
	install -m 644 templates/completion/git-klineage.bash $(D)$(bashcompdir)/git-klineage
	install -m 644 templates/completion/_git-klineage $(D)$(zshcompdir)/
	install -m 644 templates/completion/git-klineage.fish $(D)$(fishdir)/vendor_completions.d/
	install -m 644 templates/completion/conf.fish $(D)$(fishdir)/vendor_conf.d/git-klineage.fish

install-strip: install
	strip $(D)$(bindir)/git-klineage $(D)$(privdir)/klineage-worker

# directories that the installation can have created; uninstall removes those that are empty
EMPTIED := $(libexecdir) $(dir $(docdir)) $(bashcompdir) $(dir $(bashcompdir)) $(zshcompdir) $(dir $(zshcompdir)) \
	$(fishdir)/vendor_completions.d $(fishdir)/vendor_conf.d $(fishdir) $(sort $(foreach m,$(MAN),$(mandir)/man$(subst .,,$(suffix $(m)))))
uninstall:
	rm -f $(D)$(bindir)/git-klineage $(D)$(bashcompdir)/git-klineage $(D)$(zshcompdir)/_git-klineage \
		$(D)$(fishdir)/vendor_completions.d/git-klineage.fish $(D)$(fishdir)/vendor_conf.d/git-klineage.fish \
		$(foreach m,$(MAN),$(call man_path,$(m))/$(notdir $(m)))
	rm -rf $(D)$(privdir) $(D)$(sharedir) $(D)$(docdir)
	for d in $(EMPTIED); do rmdir "$$DESTDIR$$d" 2>/dev/null || :; done

# check that the installed program works without its sources
installcheck:
	@tests/installcheck.sh $(D)$(bindir) $(D)$(mandir)

# --- source package, Debian package ------------------------------------------------

DIST := git-klineage-$(VERSION)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
dist: man
	$(Q)rm -rf build/dist && mkdir -p build/dist/$(DIST)
	$(Q)git archive HEAD | tar -x -C build/dist/$(DIST)
	$(Q)mkdir -p build/dist/$(DIST)/docs/man/built && cp $(MAN) build/dist/$(DIST)/docs/man/built/
	$(Q)tar -c -C build/dist --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
		--format=ustar $(DIST) | gzip -9n >build/$(DIST).tar.gz
	$(Q)rm -rf build/dist && echo build/$(DIST).tar.gz

# build a Debian package from the output of `make dist`; needs debhelper and dpkg-dev
deb: dist
	$(Q)rm -rf build-deb && mkdir build-deb && tar -x -C build-deb -f build/$(DIST).tar.gz
	$(Q)cp -R templates/debian build-deb/$(DIST)/debian
	$(Q)cd build-deb/$(DIST) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) dpkg-buildpackage -us -uc -b
	$(Q)ls build-deb/*.deb

clean:
	rm -rf build build-*

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
