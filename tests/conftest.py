"""What every test shares. Fixtures of one kind of test live in the `conftest.py` of its folder."""
