@script:python@
@@
import os
