"""Answers as JSON, written by a quick library: instants in UTC with `Z` and a fraction only when they have one."""

import orjson
from rest_framework.renderers import JSONRenderer


class QuickJSONRenderer(JSONRenderer):
    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=str, option=orjson.OPT_UTC_Z)
