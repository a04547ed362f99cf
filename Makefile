# make demo    optimize and verify the example under TensorFlow Lite Micro
# make test    run every test that this machine can run
# make check   style and types
# make docs    the documentation as a site, in build/site
# make arduino the Arduino library and its zip, in build/arduino
# make dist    what is published, in dist/, each package checked as its registry does
# make soak    N random cases (KIND=networks, builtin, modules, windows, sequences, apps, plans, files, programs, float_modules, cores, dsp, races, shared, pools, builds, spills, shapes, devices, sums, tails, columns or long)
# make build   build the native libraries again, after a change in custom_ops/
VENV ?= .venv
EXTRAS ?=
N ?= 1000
KIND ?= networks
MODEL := examples/shapes/shapes_int8.tflite
OUT := build/demo
NATIVE := pyproject.toml $(shell find custom_ops -name '*.[ch]' -o -name '*.def' -o -name '*.cpp' -o -name CMakeLists.txt)

export VENV

.PHONY: demo test check docs arduino dist format soak build clean

demo: $(VENV)/.demo
	$(VENV)/bin/tflm-memopt optimize $(MODEL) -o $(OUT)
	$(VENV)/bin/tflm-memopt verify $(MODEL) $(OUT)/$(notdir $(MODEL))
	$(VENV)/bin/python examples/shapes/evaluate.py $(MODEL) $(OUT)/$(notdir $(MODEL))
	@echo "The optimized model, its plan and its report (shapes_int8.report.html) are in $(OUT)/"

test: $(VENV)/.test
	scripts/test

check: $(VENV)/.test
	scripts/check

docs: $(VENV)/.test
	$(VENV)/bin/python -m mkdocs build --strict

arduino: $(VENV)/.demo
	$(VENV)/bin/python scripts/arduino.py

dist: $(VENV)/.test
	rm -rf dist
	$(VENV)/bin/python scripts/dist.py

format: $(VENV)/.test
	scripts/format

soak: $(VENV)/.test
	cd tests && $(abspath $(VENV))/bin/python -m soak $(KIND) $(N)

build:
	rm -f $(VENV)/.demo $(VENV)/.test
	$(MAKE) $(VENV)/.test

clean:
	rm -rf $(VENV) build dist

# A marker says that the environment has what its targets need and that the native libraries are those of the sources.
$(VENV)/.demo: $(NATIVE)
	scripts/install tflm
	@touch $@

$(VENV)/.test: $(NATIVE)
	scripts/install tflm test dev $(EXTRAS)
	@touch $@ $(VENV)/.demo
