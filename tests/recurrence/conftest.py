"""The engine's tests are many small questions; a busy machine must not fail them for being slow."""

from hypothesis import settings

settings.register_profile("engine", deadline=None)
settings.load_profile("engine")
