"""Errors of the core of accounts.  Each API and page turns them into its own form of an error."""


class TooManyTokens(Exception):
    """The account has the maximum number of API tokens, and none of them has expired."""
