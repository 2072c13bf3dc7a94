"""What a browser would send of a form that nobody has touched."""

from html.parser import HTMLParser


class _Form(HTMLParser):
    def __init__(self, name: str):
        super().__init__()
        self.name, self.values = name, {}
        self.inside = False
        self.select, self.first, self.chosen = "", None, None
        self.textarea, self.text = "", ""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.inside = given.get("id") == self.name
        elif not self.inside:
            return
        elif tag == "input":
            self._input(given)
        elif tag == "select":
            self.select, self.first, self.chosen = given["name"], None, None
        elif tag == "option":
            self.first = given["value"] if self.first is None else self.first
            self.chosen = given["value"] if "selected" in given else self.chosen
        elif tag == "textarea":
            self.textarea, self.text = given["name"], ""

    def _input(self, given):
        kind = given.get("type", "text")
        if kind in ("checkbox", "radio"):
            if "checked" in given:
                self.values.setdefault(given["name"], []).append(given.get("value", "on"))
        elif kind not in ("file", "submit"):
            self.values[given["name"]] = [given.get("value", "")]

    def handle_data(self, data):
        self.text += data if self.textarea else ""

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False
        elif tag == "select" and self.select:
            self.values[self.select] = [self.first if self.chosen is None else self.chosen]
            self.select = ""
        elif tag == "textarea" and self.textarea:
            text = self.text.removeprefix("\n")  # which the parser of a browser drops
            self.values[self.textarea] = [text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")]
            self.textarea = ""


def submitted(page: str, form: str) -> dict[str, list[str]]:
    """The values of the form with that id, by name; line ends are those that browsers send."""
    parser = _Form(form)
    parser.feed(page)
    return parser.values
