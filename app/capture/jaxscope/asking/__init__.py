# SPDX-License-Identifier: Apache-2.0
"""What the program jaxscope says of a capture: as objects and assertions, in a notebook, in the window."""
