from tests.store.conftest import golden_497, golden_550

__all__ = ["golden_497", "golden_550"]
