"""Errors of the data source."""

import pickle

from rocketwire.spark.errors import DataLost


def test_the_text_has_class_cause_and_remedy() -> None:
    error = DataLost("offsets 3 to 7 of T are gone", "Set failOnDataLoss to false")
    assert str(error) == "[ROCKETMQ_DATA_LOST] offsets 3 to 7 of T are gone. Set failOnDataLoss to false"


def test_it_goes_from_process_to_process() -> None:
    error = pickle.loads(pickle.dumps(DataLost("what", "remedy")))
    assert (error.what, error.remedy) == ("what", "remedy")
