# SPDX-License-Identifier: Apache-2.0
"""`python -m jaxscope`: arguments, the user's script in this process or in one that it starts, what is printed. Comes in: a command line. Goes out: a file and an exit code."""
