# SPDX-License-Identifier: Apache-2.0
"""Compilers of devices that aren't there: `names` says which, `request` asks them (a process each, `compiler`), `refusal` reads why they refuse."""
