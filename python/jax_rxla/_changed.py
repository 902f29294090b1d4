"""Stand-ins for objects of JAX's, different in some attributes."""


class Changed:
    """An object with some attributes that read differently."""

    def __init__(self, inner, **changed):
        self._inner = inner
        self.__dict__.update(changed)

    def __getattr__(self, name):
        return getattr(self._inner, name)
