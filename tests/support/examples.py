"""How many examples of hypothesis a test takes."""

from hypothesis import settings


def examples(number, few=None):
    """Return the settings of a test: all examples under `thorough`, else few.

    If it is not said how many are few, a tenth; where a tenth is less than the profile's own
    number, that number.
    """
    own = settings.default.max_examples
    is_thorough = own >= settings.get_profile("thorough").max_examples
    return settings(max_examples=number if is_thorough else few or max(own, number // 10))
