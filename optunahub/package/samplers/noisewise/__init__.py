from noisewise.integrations.optuna import NoisewiseSampler
from noisewise.integrations.optuna import Recommended
from noisewise.integrations.optuna import recommended_params


__all__ = ["NoisewiseSampler", "Recommended", "recommended_params"]
