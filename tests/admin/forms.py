"""The values that a browser submits for an unchanged form."""

from html.parser import HTMLParser


class _Form(HTMLParser):
    def __init__(self, name: str):
        super().__init__()
        self.name, self.values = name, {}
        self.inside = False
        self.select, self.first, self.chosen = "", None, None
        self.textarea, self.text = "", ""

    def handle_starttag(self, tag, attributes):
        attributes_by_name = dict(attributes)
        if tag == "form":
            self.inside = attributes_by_name.get("id") == self.name
        elif not self.inside:
            return
        elif tag == "input":
            self._input(attributes_by_name)
        elif tag == "select":
            self.select, self.first, self.chosen = attributes_by_name["name"], None, None
        elif tag == "option":
            self.first = attributes_by_name["value"] if self.first is None else self.first
            self.chosen = attributes_by_name["value"] if "selected" in attributes_by_name else self.chosen
        elif tag == "textarea":
            self.textarea, self.text = attributes_by_name["name"], ""

    def _input(self, attributes_by_name):
        kind = attributes_by_name.get("type", "text")
        if kind in ("checkbox", "radio"):
            if "checked" in attributes_by_name:
                self.values.setdefault(attributes_by_name["name"], []).append(attributes_by_name.get("value", "on"))
        elif kind not in ("file", "submit"):
            self.values[attributes_by_name["name"]] = [attributes_by_name.get("value", "")]

    def handle_data(self, data):
        self.text += data if self.textarea else ""

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False
        elif tag == "select" and self.select:
            self.values[self.select] = [self.first if self.chosen is None else self.chosen]
            self.select = ""
        elif tag == "textarea" and self.textarea:
            text = self.text.removeprefix("\n")  # browsers ignore the first newline
            self.values[self.textarea] = [text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")]
            self.textarea = ""


def submitted(page: str, form: str) -> dict[str, list[str]]:
    """Return the values of the form with this id by name, with the line endings that browsers send."""
    parser = _Form(form)
    parser.feed(page)
    return parser.values
