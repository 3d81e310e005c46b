from __future__ import annotations

from datetime import timedelta

import pytest

from rocketwire.spark.files.remote import arguments


def test_text_becomes_what_file_systems_take() -> None:
    assert arguments(
        {
            "access_key": "12345",
            "anonymous": "True",
            "connect_timeout": "1.5",
            "port": "8020",
            "client_kwargs": '{"endpoint_url": "http://127.0.0.1:9000"}',
            "retry_time_limit": "30",
        }
    ) == {
        "access_key": "12345",
        "anonymous": True,
        "connect_timeout": 1.5,
        "port": 8020,
        "client_kwargs": {"endpoint_url": "http://127.0.0.1:9000"},
        "retry_time_limit": timedelta(seconds=30),
    }
    for name, text in (("port", "x"), ("client_kwargs", "{")):
        with pytest.raises(ValueError, match=r"invalid literal|Expecting"):
            arguments({name: text})
