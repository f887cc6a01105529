import random

import optuna
import optunahub


noise = random.Random(0)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 5.0)
    y = trial.suggest_float("y", 1e-4, 1.0, log=True)
    # A value that is different each time it is measured.
    return (x - 1.0) ** 2 + abs(y - 0.01) + noise.gauss(0.0, 0.5)


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/noisewise")
    n_trials = 200
    study = optuna.create_study(sampler=module.NoisewiseSampler(n_trials=n_trials, seed=1))
    study.optimize(objective, n_trials=n_trials)

    print("luckiest trial:", study.best_trial.params, study.best_trial.value)
    print("recommended:   ", module.recommended_params(study))
