"""Bodies as columns: JSON, Avro and Protobuf, with or without a schema registry (docs/spark-guide.md, Decode bodies).

Each function takes a frame with a column of bodies, and returns it with a column of their values. Frames may come from
anywhere: batches, streams, files. The functions work with Spark 3.5 and 4.x.

Begin with `json_bodies`, the plainest; `decoding` is what decoders in Python share, `registry` the schema registry.
May import: no other room.
"""

from __future__ import annotations

from rocketwire.spark.bodies.avro_bodies import from_avro_body
from rocketwire.spark.bodies.json_bodies import from_json_body
from rocketwire.spark.bodies.protobuf_bodies import from_protobuf_body
from rocketwire.spark.bodies.registry import SchemaRegistry

__all__ = ["SchemaRegistry", "from_avro_body", "from_json_body", "from_protobuf_body"]
