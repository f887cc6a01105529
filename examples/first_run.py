"""Tune the controller of a drone that hovers in gusty wind, from a few hundred test flights.

No two flights are alike: gusts and sensor noise are random, so the cost of a controller can only
be measured with noise. We have 300 flights for six gains. `method="auto"` and plain CMA-ES get
the same budget and the same seeds; what they recommend is then flown 1,000 times to see how good
it really is. Run it with ``make run``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import noisewise as nw

BUDGET = 300
SEEDS = range(5)
NAMES = ("kp height", "ki height", "kd height", "kp side", "ki side", "kd side")
LOW, HIGH = np.zeros(6), np.array([20.0, 5.0, 10.0, 20.0, 5.0, 10.0])
START = np.array([4.0, 0.5, 2.0, 4.0, 0.5, 2.0])
STEP, SECONDS = 0.05, 6.0


def flights(gains: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cost of ``n`` flights with these six gains: mean squared distance plus effort."""
    kp, ki, kd = gains.reshape(2, 3).T[:, :, None]  # one row per axis
    position = rng.normal(0.0, 1.0, (2, n))
    speed, summed, wind = np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, n))
    cost = np.zeros(n)
    for _ in range(int(SECONDS / STEP)):
        gust = (rng.random((2, n)) < 0.03) * rng.normal(0.0, 5.0, (2, n))
        wind += gust - STEP * wind
        seen = position + 0.15 * rng.standard_normal((2, n))
        felt = speed + 0.4 * rng.standard_normal((2, n))
        summed = np.clip(summed + STEP * seen, -3.0, 3.0)
        thrust = np.clip(-(kp * seen + ki * summed + kd * felt), -15.0, 15.0)
        speed += STEP * (thrust + wind - 0.3 * speed)
        position = np.clip(position + STEP * speed, -20.0, 20.0)
        cost += STEP * (position**2 + 0.002 * thrust**2).sum(axis=0)
    return cost / SECONDS


def tune(method: str, seed: int, progress: bool = False) -> nw.Result:
    """One tuning run: every evaluation is one flight."""
    weather = np.random.default_rng(1000 + seed)
    return nw.minimize(
        lambda gains: flights(gains, 1, weather)[0],
        START,
        bounds=(LOW, HIGH),
        budget=BUDGET,
        method=method,
        rng=seed,
        progress=progress,
    )


def truth(gains: np.ndarray) -> float:
    """Mean cost of 1,000 flights in weather that is the same for everyone."""
    return float(flights(gains, 1000, np.random.default_rng(7)).mean())


def picture(results: dict[str, list[nw.Result]], path: Path) -> None:
    """What the runs measured over time, and how good their recommendations really are."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(2, 1))
    colours = dict(zip(results, ("#0072B2", "#D55E00"), strict=True))
    for method, runs in results.items():
        for i, r in enumerate(runs):
            left.plot(
                r.history["evaluations"],
                r.history["mean_value"],
                color=colours[method],
                alpha=0.7,
                label=method if i == 0 else None,
            )
        costs = [truth(r.x) for r in runs]
        right.scatter([method] * len(costs), costs, color=colours[method])
    left.set(xlabel="flights", ylabel="mean cost of a generation", yscale="log")
    left.legend(frameon=False)
    right.axhline(truth(START), color="0.6", linestyle="--", linewidth=1)
    right.set(ylabel="true cost of the recommendation", xlim=(-0.5, len(results) - 0.5))
    right.annotate("start", (0.02, truth(START)), xycoords=("axes fraction", "data"), va="bottom")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)


def main() -> None:
    print(f"Tuning six gains with {BUDGET} noisy flights, method='auto':")
    shown = tune("auto", 0, progress=True)
    print(f"\n{shown}\n")
    print(
        "recommended gains: "
        + ", ".join(f"{n} {g:.2f}" for n, g in zip(NAMES, shown.x, strict=True))
    )

    results = {m: [tune(m, seed) for seed in SEEDS] for m in ("auto", "cma-es")}
    print(f"\nTrue cost of the recommendation (mean of 1,000 flights), start {truth(START):.3f}:")
    print(f"{'seed':>6}" + "".join(f"{m:>10}" for m in results))
    for i, seed in enumerate(SEEDS):
        print(f"{seed:>6}" + "".join(f"{truth(runs[i].x):>10.3f}" for runs in results.values()))
    means = {m: np.mean([truth(r.x) for r in runs]) for m, runs in results.items()}
    print(f"{'mean':>6}" + "".join(f"{v:>10.3f}" for v in means.values()))

    path = Path("out") / "first_run.png"
    picture(results, path)
    print(f"\nA picture of the runs is in {path}")


if __name__ == "__main__":
    main()
