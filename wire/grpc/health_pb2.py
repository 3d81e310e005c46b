"""The messages of proto/grpc/health/v1/health.proto. Made by tools/generate_proto.py: do not edit."""

from rocketwire.wire.grpc.pool import declare as _declare

_FILE = (
    b'\n\x1bgrpc/health/v1/health.'
    b'proto\x12\x0egrpc.health.v1"%\n'
    b'\x12HealthCheckRequest\x12\x0f\n\x07s'
    b'ervice\x18\x01 \x01(\t"\xa9\x01\n\x13HealthC'
    b'heckResponse\x12A\n\x06status\x18\x01'
    b' \x01(\x0e21.grpc.health.v1.He'
    b'althCheckResponse.Servin'
    b'gStatus"O\n\rServingStatus'
    b'\x12\x0b\n\x07UNKNOWN\x10\x00\x12\x0b\n\x07SERVING'
    b'\x10\x01\x12\x0f\n\x0bNOT_SERVING\x10\x02\x12\x13\n\x0fS'
    b'ERVICE_UNKNOWN\x10\x03"\x13\n\x11Heal'
    b'thListRequest"\xae\x01\n\x12Health'
    b'ListResponse\x12B\n\x08statuses'
    b'\x18\x01 \x03(\x0b20.grpc.health.v1.'
    b'HealthListResponse.Statu'
    b'sesEntry\x1aT\n\rStatusesEntr'
    b'y\x12\x0b\n\x03key\x18\x01 \x01(\t\x122\n\x05value\x18'
    b'\x02 \x01(\x0b2#.grpc.health.v1.H'
    b'ealthCheckResponse:\x028\x012\xfd'
    b'\x01\n\x06Health\x12P\n\x05Check\x12".grp'
    b'c.health.v1.HealthCheckR'
    b'equest\x1a#.grpc.health.v1.'
    b'HealthCheckResponse\x12M\n\x04L'
    b'ist\x12!.grpc.health.v1.Hea'
    b'lthListRequest\x1a".grpc.he'
    b'alth.v1.HealthListRespon'
    b'se\x12R\n\x05Watch\x12".grpc.healt'
    b'h.v1.HealthCheckRequest\x1a'
    b'#.grpc.health.v1.HealthC'
    b'heckResponse0\x01b\x06proto3'
)
DESCRIPTOR = _declare(_FILE, globals())
