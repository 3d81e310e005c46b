# make serve   name server 127.0.0.1:9876 and broker 127.0.0.1:10911 on ./data   (ARGS= passes more options)
# make test    every check once: installs what the tests need, then tox; 20 minutes on two processors
# make test-all   and all versions of clients and brokers, coverage, sanitizers, faults at every step; about an hour
# make bench   measure side by side with the Apache broker
# make bench-spark   measure what Spark's data source costs, beside reading the bytes; needs Java
# make cluster-demo   two name servers, three brokers, two proxies: kill one of each, see no message lost, in a minute
# make proxy-catalogue   all scenarios of the catalogue through a proxy, in front of several brokers of each kind; needs Java; writes the table of docs/proxy.md
# make spark-demo   an endpoint under load, streamed into Parquet (ARGS="--format delta": Delta), a page of plots and notebooks; needs Java
# make fuzz    ten minutes of made-up inputs for all that reads bytes from outside (ARGS="--seconds N PART...")
# make docs    the documentation with the API reference, into build/site
# make wheel   build the package into dist, with the kernel where there is a C compiler, and Spark's jar where there is Maven
# make image   build the container image `rocketwire`, with podman or ENGINE=docker (docs/containers.md)
# make version VERSION=0.2.0   write the number and the entry in CHANGELOG.md, commit, tag (ARGS=--dry-run: only look)
# make release   build sdist, wheels, bill of materials and sums into dist/release, and try each (docs/releasing.md)
# make clean   forget environments and caches (never ./data)

PYTHON ?= python3
ARGS ?=
ENGINE ?= podman
comma := ,
# The tests of the kernel's code for processors other than x86-64.
PORTABLE := tests/kernel/message/test_crc.py tests/kernel/test_fuzz.py tests/kernel/records tests/kernel/wire/test_headers.py tests/kernel/wire/test_requests.py

.PHONY: help serve test test-all bench bench-spark cluster-demo proxy-catalogue spark-demo fuzz docs wheel image version release clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# make/make/p' $(firstword $(MAKEFILE_LIST))

serve: .venv/installed
	@exec .venv/bin/rocketwire serve $(ARGS)

test: .venv-dev/installed
	.venv-dev/bin/python -m compat_tests.install
	.venv-dev/bin/tox run-parallel --parallel 3 --parallel-no-spinner --result-json .tox/result.json $(ARGS)

test-all: .venv-dev/installed
	.venv-dev/bin/python -m compat_tests.install
	ROCKETWIRE_SCOPE="wide or not wide" ROCKETWIRE_EXAMPLES=wide .venv-dev/bin/tox run-parallel --parallel 2 --parallel-no-spinner \
		--result-json .tox/result.json -e lint,unit-quick,compat,spark,unit,docs,twin,sanitize $(ARGS)
	ROCKETWIRE_SCOPE="wide or not wide" ROCKETWIRE_EXAMPLES=wide .tox/unit-quick/bin/python -m tools.sanitize --portable -q $(PORTABLE)

bench: .venv/installed
	.venv/bin/python -m bench $(ARGS)

cluster-demo: .venv/installed
	@exec .venv/bin/python -m tools.cluster_demo $(ARGS)

proxy-catalogue: .venv-dev/installed
	.venv-dev/bin/tox exec -e compat -- python -m compat_tests.proxy_catalogue $(ARGS)

spark-demo: DELTA = $(findstring delta,$(ARGS))
spark-demo: .venv/installed
	@.venv/bin/python -c 'import matplotlib, pyspark$(if $(DELTA),$(comma) deltalake)' 2>/dev/null || { \
		echo "Installing Spark and matplotlib into .venv: half a gigabyte, some minutes, this first time."; \
		$(PYTHON) -m tools.quiet_pip .venv/bin/python --editable '.[spark$(if $(DELTA),$(comma)delta)]' 'matplotlib>=3.8'; }
	@exec .venv/bin/python -m tools.spark_demo $(ARGS)

bench-spark: .venv/installed
	.venv/bin/python -m pip install --quiet --editable '.[spark]'
	.venv/bin/python -m bench.spark $(ARGS)

fuzz: .venv-dev/installed
	.venv-dev/bin/tox run -e nightly -- $(ARGS)

wheel: .venv/installed
	rm -f dist/rocketwire-*.whl
	ROCKETWIRE_SPARK_JAR="$$(.venv/bin/python -m tools.build_spark_jar)" \
		.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

image: wheel
	$(ENGINE) build -f deploy/container/Containerfile $(if $(findstring podman,$(ENGINE)),--format docker) -t rocketwire .

docs: .venv-dev/installed
	.venv-dev/bin/tox run -e docs

version: .venv-dev/installed
	.venv-dev/bin/tox run -e release -- tools.release.version $(VERSION) $(ARGS)

release: .venv-dev/installed
	.venv-dev/bin/tox run -e release

clean:
	rm -rf .venv .venv-dev .tox .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# tox leaves a file .venv that names one of its environments; venv wants a folder there.
.venv/installed: pyproject.toml $(wildcard kernel/*.* kernel/*/*.* kernel/*/*/*.*)
	@test -d .venv || rm -f .venv
	@echo "Installing rocketwire and what it needs into .venv: about a minute, this first time."
	@$(PYTHON) -m venv .venv
	@$(PYTHON) -m tools.quiet_pip .venv/bin/python --editable .
	@.venv/bin/python -m rocketwire --version
	@touch $@

.venv-dev/installed: tox.ini
	@echo "Installing tox into .venv-dev."
	$(PYTHON) -m venv .venv-dev
	.venv-dev/bin/python -m pip install --quiet 'tox>=4.36,<5' 'tox-uv>=1.25,<2'
	@touch $@
