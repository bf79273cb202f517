"""Fixed examples: the same inputs on every machine and in every run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("fixed")
