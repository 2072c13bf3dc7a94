"""Names of Azure regions.  A location has no effect; it is stored because clients of the original service use it.

Clients send the short name and read the display name, as with the original service.
"""

DISPLAY_NAMES = (
    *("Australia East", "Australia Southeast", "Brazil South", "Canada Central", "Canada East", "Central India"),
    *("Central US", "China East", "China North", "East Asia", "East US", "East US 2", "France Central"),
    *("Germany Central", "Germany Northeast", "Germany West Central", "Japan East", "Japan West", "Korea Central"),
    *("Korea South", "North Central US", "North Europe", "Norway East", "South Africa North", "South Central US"),
    *("South India", "Southeast Asia", "Sweden Central", "Switzerland North", "UAE North", "UK South", "UK West"),
    *("West Central US", "West Europe", "West India", "West US", "West US 2", "West US 3"),
)

_BY_SHORT_NAME = {name.replace(" ", "").lower(): name for name in DISPLAY_NAMES}


def display_name(location: str) -> str:
    """Return `West US` for `westus` or `West US`; an unknown location is returned unchanged."""
    return _BY_SHORT_NAME.get(location.replace(" ", "").lower(), location)
