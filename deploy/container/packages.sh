# Install the dependencies of the project PYPROJECT into the virtual environment ENVIRONMENT, without unused parts.
set -eu
pyproject=$1
environment=$2
python3 -c '
import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"], sep="\n")
' "$pyproject" >/build/requirements.txt
/build/pip/bin/pip --python "$environment/bin/python3" install -q --no-compile --no-cache-dir --only-binary :all: \
    -r /build/requirements.txt

cd "$environment/lib/python3.11/site-packages"
# Parts of numpy that only compilation needs: its declarations, its Fortran, its libraries to link, and its tests.
rm -rf numpy/f2py numpy/distutils numpy/_core/include numpy/_core/lib numpy/doc
# Parts that numpy imports only on use: Fourier transforms, polynomials, random numbers, its helpers for tests.
rm -rf numpy/fft numpy/polynomial numpy/random numpy/testing
# The parser of C that cffi needs only for compilation.
rm -rf pycparser
rm -f numpy/_core/_simd.*.so numpy/_core/*_tests.*.so
find . -depth -type d \( -name tests -o -name _tests \) -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h' -o -name '*.a' \) -delete
# rich highlights no program text here; pygments' own list of its lexers stays.
find pygments/lexers -type f ! -name '__init__.py' ! -name '_mapping.py' -delete
rm -f pygments/styles/[!_d]*.py pygments/formatters/[!_t]*.py
# The makers of the wheels edited the libraries in *.libs, and strip would break them.
find . -path './*.libs' -prune -o -name '*.so' -type f -exec strip --strip-unneeded {} +
# As in system.sh: bytecode, without sources.
python3 -m compileall -q -b --invalidation-mode unchecked-hash .
find . -name '*.py' -delete
rm -rf "$environment/include"

# Every library must still load.
"$environment/bin/python3" -c '
import importlib, pathlib
for path in pathlib.Path().rglob("*.so"):
    if not path.parts[0].endswith(".libs"):
        importlib.import_module(".".join(path.with_name(path.name.partition(".")[0]).parts))
'
