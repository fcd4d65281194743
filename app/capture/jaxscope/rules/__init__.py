# SPDX-License-Identifier: Apache-2.0
"""custom_jvp, custom_vjp and their kin: whose rule a call has, what the rule is as a jaxpr, which values it closes over."""
