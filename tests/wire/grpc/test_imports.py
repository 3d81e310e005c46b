import subprocess
import sys

_WITHOUT = (
    "authorization",
    "checks",
    "codes",
    "message_id",
    "message_types",
    "polling",
    "queue_choice",
    "receipt",
)


def test_what_has_no_message_does_not_load_protobuf() -> None:
    modules = ", ".join(f"rocketwire.wire.grpc.{name}" for name in _WITHOUT)
    script = f"import sys, {modules}; sys.exit('google.protobuf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
