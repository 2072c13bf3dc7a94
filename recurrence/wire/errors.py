"""What can be wrong with a document in somebody else's format."""


class WireError(ValueError):
    """A document in somebody else's format cannot be understood.  `path` names the field, `code` the reason.

    `required`       a member is missing
    `invalid`        a value is of the wrong type or form
    `out_of_range`   a number, a list's length or an instant lies outside what is accepted
    `unknown_value`  a word is none of those that the format knows
    `not_allowed`    a member cannot stand beside another one, or not with this frequency
    `never_fires`    the schedule has no fire time, or none within the search horizon
    `unsupported`    the format itself is not known
    """

    def __init__(self, path: str, code: str, message: str):
        super().__init__(f"{path}: {message}")
        self.path = path
        self.code = code
        self.message = message
