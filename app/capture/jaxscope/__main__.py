from .cli import main
from .usercode import leave

leave(main())
