# SPDX-License-Identifier: Apache-2.0
"""What XLA says: `backend` the compiler of the machine that captures; `names` which other devices, `request` asks their compilers (`compiler`, a `process` each, in its turn: `lock`), `refusal` and
`refused_buffers` read why they refuse; `ask` asks for programs that jaxscope made."""
