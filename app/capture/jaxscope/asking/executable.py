# SPDX-License-Identifier: Apache-2.0
"""Where the program jaxscope is, and the command `jaxscope` of a wheel, which brings it along."""
from __future__ import annotations

import os
import shutil
import sys

from ..errors import CaptureError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_BROUGHT_ALONG = os.path.join(_PACKAGE, "bin", "jaxscope")  # in a wheel


def executable() -> str:
    """JAXSCOPE names it; else it is the one that a wheel brought along, that of the PATH, or of the build next to this package."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(_PACKAGE)))
    places = [os.environ.get("JAXSCOPE"), _BROUGHT_ALONG, shutil.which("jaxscope"), os.path.join(root, "build", "release", "jaxscope"),
              os.path.join(root, "build", "jaxscope")]
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise CaptureError("the program jaxscope was not found: put it into the PATH, or name it in the variable JAXSCOPE")


def main() -> None:
    """Becomes the program that the wheel brought along; captures then run in the Python of the wheel unless --python says otherwise."""
    os.environ.setdefault("JAXSCOPE_PYTHON", sys.executable)
    os.execv(_BROUGHT_ALONG, ["jaxscope", *sys.argv[1:]])
