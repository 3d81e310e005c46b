# Install the wheel of rocketwire in the folder DIST so that only its own files are in the folder LAYER.
set -eu
dist=$1
layer=$2
/build/pip/bin/pip --python /opt/rocketwire/bin/python3 install -q --no-compile --no-cache-dir --no-deps --no-index \
    --prefix "$layer/opt/rocketwire" "$dist"/rocketwire-*.whl
python3 -m compileall -q --invalidation-mode unchecked-hash -s "$layer" "$layer/opt/rocketwire"
