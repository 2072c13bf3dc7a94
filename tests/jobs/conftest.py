import pytest

from tests.jobs.arm_client import ArmClient


@pytest.fixture
def arm(token) -> ArmClient:
    """The owner, calling in the resource manager's form."""
    return ArmClient(token)
