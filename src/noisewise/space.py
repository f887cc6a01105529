"""Named parameters: what users write spaces with.

>>> from noisewise.space import Float, Int, Space
>>> Space({"rate": Float(1e-4, 1e-1, log=True), "layers": Int(1, 8)}).dimension
2
"""

from noisewise.problem.parameters import Choice, Float, Int, Parameter, parameter
from noisewise.problem.space import Objective, Space

__all__ = ["Choice", "Float", "Int", "Objective", "Parameter", "Space", "parameter"]
