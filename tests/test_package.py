"""The names a user types after `import eitlens as eit`."""

import pytest

import eitlens as eit


@pytest.mark.parametrize("name", eit.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(eit, name) is not None
    assert name in dir(eit)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        eit.nonsense  # noqa: B018
