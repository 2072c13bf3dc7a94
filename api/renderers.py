"""Renderer of JSON answers with orjson.  Instants are in UTC with `Z`; a fraction of zero is left out."""

import orjson
from rest_framework.renderers import JSONRenderer


class OrjsonRenderer(JSONRenderer):
    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=str, option=orjson.OPT_UTC_Z)
