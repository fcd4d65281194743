# SPDX-License-Identifier: Apache-2.0
"""The capture as it is written: tables of strings, avals, sources, parameters and arrays, and the files. Nothing here traces."""
