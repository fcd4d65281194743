# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which a capture names as its producer."""
VERSION = "0.1.0"
