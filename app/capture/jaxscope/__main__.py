from .command.cli import main
from .command.usercode import leave

leave(main())
