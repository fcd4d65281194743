# SPDX-License-Identifier: Apache-2.0
"""The differentiations inside a step: where they are called, by what, and the second tracing in which they stand as calls."""
