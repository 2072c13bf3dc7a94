"""Operations: long requests that are accepted at once, carried out by a worker, and can be followed.

An operation can be read until a day or longer after its end.  This package does not know what the operations do: other
apps register handlers for them.
"""
