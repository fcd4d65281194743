# SPDX-License-Identifier: Apache-2.0
"""A capture back as a JAX function: `values` reads its tables, `names` finds JAX's own objects by name, `program` evaluates its equations, `load` reads the file."""
