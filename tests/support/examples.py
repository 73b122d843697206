"""How many examples of hypothesis a test takes."""

from hypothesis import settings


def examples(number):
    """Return the settings of a test of cheap examples: all of them under `thorough`, else a tenth.

    Where a tenth is less than the profile's own number, it is that number.
    """
    own = settings.default.max_examples
    is_thorough = own >= settings.get_profile("thorough").max_examples
    return settings(max_examples=number if is_thorough else max(own, number // 10))
