# SPDX-License-Identifier: Apache-2.0
from .command.cli import main
from .command.usercode import leave

leave(main())
