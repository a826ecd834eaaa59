"""`python -m permnet`: the command line, also from a checkout that is not installed."""

import sys

from permnet.cli import main

sys.exit(main())
