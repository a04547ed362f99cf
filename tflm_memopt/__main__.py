"""`python -m tflm_memopt`: the command, wherever its script is."""

import sys

from tflm_memopt.cli.main import main

sys.exit(main())
