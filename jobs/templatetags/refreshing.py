"""Template tag for parts of a page that are refreshed in place; `scheduler_site.refreshing` sends only these parts."""

from django import template

register = template.Library()


class PartNode(template.Node):
    def __init__(self, nodelist: template.NodeList):
        self.nodelist = nodelist

    def render(self, context) -> str:
        html = self.nodelist.render(context)
        request = context.get("request")
        if request is not None:
            if not hasattr(request, "parts"):
                request.parts = []
            request.parts.append(html)
        return html


@register.tag
def part(parser, token) -> PartNode:
    """Mark a part of the page that is refreshed in place.

    It contains elements with an id and `data-refresh`: "whole", or "rows" for a list whose rows have ids.
    """
    nodelist = parser.parse(["endpart"])
    parser.delete_first_token()
    return PartNode(nodelist)
