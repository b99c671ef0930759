from __future__ import annotations

import sys

from pytest_toolcall.cli.main import main

sys.exit(main())
