"""When should a shop reorder its three products, and how much?

Ordering early and a lot fills the store, ordering late loses customers, and deliveries take days.
Four simulated weeks say what a policy costs per day, but customers come at random: simulated again,
the same policy costs something else. There are six numbers to choose and 120 simulations to choose
them with, 20 per number, which is typical of tuning a simulator, a training run or a machine.

``auto``, plain CMA-ES and random search (and Optuna's TPE, if Optuna is installed) get the same
budget and twenty seeds each. What each would return after 20, 40, ... simulations is then simulated
300 times more to see what it really costs. Run it with ``make run``.

The task is one of the simulators of the study on small budgets (docs/findings/small.md), with four
weeks instead of sixty days; the study has 28 tasks, and other methods win some of them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import noisewise as nw

BUDGET, SEEDS = 120, range(20)
MOMENTS = range(20, BUDGET + 1, 20)
PRODUCTS = ("tea", "rice", "soap")
NAMES = [f"{what} {p}" for what in ("reorder below", "order up by") for p in PRODUCTS]
LOW, HIGH = np.zeros(6), np.array([100.0] * 3 + [150.0] * 3)
SOLD, DAYS_TO_DELIVER = np.array([6.0, 9.0, 12.0]), np.array([2, 3, 5])
DAYS = 28

Objective = Callable[[np.ndarray], float]


def months(policy: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cost per day of ``n`` simulated months: storage, lost sales and orders."""
    least, more = np.rint(policy[:3]), np.rint(policy[3:])
    demand = rng.poisson(SOLD, (DAYS, n, 3)).astype(float)
    stock, cost = np.tile(least + more, (n, 1)), np.zeros(n)
    due = np.zeros((DAYS + 6, n, 3))  # what is delivered, by day
    ordered_and_due = np.zeros((n, 3))
    for day in range(DAYS):
        stock += due[day]
        ordered_and_due -= due[day]
        sold = np.minimum(stock, demand[day])
        stock -= sold
        there = stock + ordered_and_due
        order = np.where(there <= least, least + more - there, 0.0)
        ordered_and_due += order
        for p, wait in enumerate(DAYS_TO_DELIVER):
            due[day + wait, :, p] += order[:, p]
        cost += stock.sum(axis=1) + 12.0 * (demand[day] - sold).sum(axis=1)
        cost += 60.0 * (order > 0.0).any(axis=1)
    return cost / DAYS


def simulator(seed: int) -> Objective:
    """Four weeks per call, with customers of its own."""
    customers = np.random.default_rng(1000 + seed)
    return lambda policy: float(months(policy, 1, customers)[0])


def truth(policy: np.ndarray) -> float:
    """Mean cost of 300 simulations, with the same customers for everyone."""
    return float(months(policy, 300, np.random.default_rng(7)).mean())


def ours(method: str, seed: int) -> Iterator[np.ndarray]:
    """What a method of noisewise recommends at every moment."""
    fun = simulator(seed)
    # CMA-ES as others have it: nothing is kept to measure the answer.
    confirm = "auto" if method == "auto" else 0
    opt = nw.Optimizer(bounds=(LOW, HIGH), budget=BUDGET, method=method, rng=seed, confirm=confirm)
    for moment in MOMENTS:
        while opt.spent < moment and not opt.done:
            for trial in opt.ask(moment - opt.spent):
                opt.tell(trial.id, fun(trial.x))
        yield opt.recommend().x
    if method == "auto":
        ANSWERS.append(opt.result())


#: Results of ``auto``, by seed.
ANSWERS: list[nw.Result] = []


def random_search(seed: int) -> Iterator[np.ndarray]:
    """The best of what was drawn so far."""
    fun = simulator(seed)
    X = np.random.default_rng(seed).uniform(LOW, HIGH, (BUDGET, 6))
    values = [fun(x) for x in X]
    for moment in MOMENTS:
        yield X[int(np.argmin(values[:moment]))]


def tpe(seed: int) -> Iterator[np.ndarray]:
    """The best trial of an Optuna study so far."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    fun = simulator(seed)

    def objective(trial: optuna.Trial) -> float:
        pairs = zip(NAMES, HIGH, strict=True)
        return fun(np.array([trial.suggest_float(name, 0.0, high) for name, high in pairs]))

    for moment in MOMENTS:
        study.optimize(objective, n_trials=moment - len(study.trials))
        yield np.array([study.best_params[name] for name in NAMES])


def picture(costs: dict[str, np.ndarray], path: Path) -> None:
    """Median and quartiles of the true cost over the run, by method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    colours = ("#0072B2", "#D55E00", "#777777", "#009E73")
    for (name, table), colour in zip(costs.items(), colours, strict=False):
        low, middle, high = np.quantile(table, (0.25, 0.5, 0.75), axis=0)
        ax.fill_between(MOMENTS, low, high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(MOMENTS, middle, color=colour, marker="o", markersize=4, label=name)
    ax.set(xlabel="simulations", ylabel="true cost per day of the answer")
    ax.set_title(f"Median and quartiles of {len(SEEDS)} seeds; lower is better", fontsize=10)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)


def main() -> None:
    methods: dict[str, Callable[[int], Iterator[np.ndarray]]] = {
        "auto": lambda seed: ours("auto", seed),
        "CMA-ES": lambda seed: ours("cma-es", seed),
        "random search": random_search,
    }
    if importlib.util.find_spec("optuna"):
        methods["Optuna TPE"] = tpe
    print(f"{BUDGET} noisy simulations, 6 parameters, {len(SEEDS)} seeds per method.")
    print(f"The middle of all ranges costs {truth(0.5 * HIGH):.0f} per day.\n")
    print("True cost per day of the answer, median of the seeds:")
    print(f"{'simulations':>16}" + "".join(f"{moment:>7}" for moment in MOMENTS))
    costs = {}
    for name, run in methods.items():
        costs[name] = np.array([[truth(x) for x in run(seed)] for seed in SEEDS])
        medians = np.median(costs[name], axis=0)
        print(f"{name:>16}" + "".join(f"{v:>7.1f}" for v in medians), flush=True)
    print("\nTrue cost per day of the last answer, from the best seed to the worst:")
    print(f"{'':>16}{'best':>7}{'':>7}{'median':>7}{'':>7}{'worst':>7}")
    for name, table in costs.items():
        spread = np.quantile(table[:, -1], (0.0, 0.25, 0.5, 0.75, 1.0))
        print(f"{name:>16}" + "".join(f"{v:>7.1f}" for v in spread))

    print("\nWhat auto said about its answer, beside the truth:")
    print(f"{'seed':>6}{'estimate':>10}{'95 % interval':>18}{'truth':>8}")
    inside = 0
    for seed, r, row in zip(SEEDS, ANSWERS, costs["auto"], strict=True):
        low, high = r.interval
        inside += low <= row[-1] <= high
        print(f"{seed:>6}{r.fun:>10.1f}{f'{low:.1f} to {high:.1f}':>18}{row[-1]:>8.1f}")
    print(f"The interval holds the truth in {inside} of {len(SEEDS)} runs.")

    first, (low, high) = ANSWERS[0], ANSWERS[0].interval
    print("\nThe policy of the first run, seed 0, as a user with one run would have it:")
    for product, below, more in zip(PRODUCTS, first.x[:3], first.x[3:], strict=True):
        print(f"  {product:>4}: reorder below {below:.0f}, order up by {more:.0f}")
    print(
        f"  {first.fun:.1f} per day, 95 % interval {low:.1f} to {high:.1f}; "
        f"its true cost is {costs['auto'][0, -1]:.1f}"
    )
    path = Path("out") / "first_run.png"
    picture(costs, path)
    print(f"The picture is in {path}")
    if "Optuna TPE" not in costs:
        print("To compare with TPE as well: .venv/bin/pip install optuna")


if __name__ == "__main__":
    main()
