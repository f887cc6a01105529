"""Optuna: a sampler for noisy objectives, and the parameters to use in the end.

>>> import optuna
>>> from noisewise.integrations.optuna import NoisewiseSampler, recommended_params
>>> study = optuna.create_study(sampler=NoisewiseSampler(n_trials=200, seed=1))

See docs/guides/optuna.md. The package, from outside to inside:

- `sampler`: what Optuna calls, and what a worker does while others are at work;
- `recommendation`: the parameters to use, and what they are worth;
- `view`: a study's run as one worker knows it, and how workers share it;
- `records` and `settings`: what is kept in the storage;
- `transfer`: runs as studies, and studies as data for a run;
- `steps`: the order in which a run with several workers learns;
- `replay`: the run itself, rebuilt from the values on record;
- `distributions`: Optuna's search spaces as ours, and where trials are in them.
"""

from noisewise.integrations.optuna.recommendation import Recommended, recommended_params
from noisewise.integrations.optuna.sampler import NoisewiseSampler
from noisewise.integrations.optuna.transfer import from_study, to_study

__all__ = ["NoisewiseSampler", "Recommended", "from_study", "recommended_params", "to_study"]
