from tests.store.conftest import golden_550

__all__ = ["golden_550"]
