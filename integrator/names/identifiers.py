"""Names as Airbyte's StandardNameTransformer makes them: of letters, digits and underscores alone."""

from __future__ import annotations

import re
import unicodedata


def standard_identifier(text: str) -> str:
    """Return a text without marks of letters, runs of blanks as one `_`, and each other character as `_`.

    `My Orders!` is My_Orders_, and `Bücher` is Bucher (https://docs.airbyte.com/integrations/destinations/kafka).
    """
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.category(one).startswith("M"))
    return re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"[ \t\n\x0b\f\r]+", "_", plain))
