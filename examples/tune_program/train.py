#!/usr/bin/env python3
"""A small noisy training run: fit a curve with random features, print the validation error.

Every run draws its own data and its own features, so two runs with the same options differ.
"""

import argparse
import math
import random

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True, help="learning rate")
parser.add_argument("--units", type=int, required=True, help="random features")
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()


def sample(n):
    xs = [random.uniform(-3.0, 3.0) for _ in range(n)]
    return [(x, math.sin(2.0 * x) + random.gauss(0.0, 0.3)) for x in xs]


features = [(random.gauss(0.0, 2.0), random.uniform(-3.0, 3.0)) for _ in range(args.units)]
weights = [0.0] * args.units


def activations(x):
    return [math.cos(a * x + b) for a, b in features]


def error(data):
    return sum((sum(map(float.__mul__, weights, phi)) - y) ** 2 for phi, y in data) / len(data)


train = [(activations(x), y) for x, y in sample(40)]
valid = [(activations(x), y) for x, y in sample(40)]
for epoch in range(args.epochs):
    for phi, y in train:
        miss = sum(map(float.__mul__, weights, phi)) - y
        weights = [w - args.lr * miss * p for w, p in zip(weights, phi, strict=True)]
        if abs(miss) > 1e3:
            raise SystemExit("training diverged")
    print(f"epoch {epoch}: training error {error(train):.4f}")
print(f"validation error {error(valid):.4f}")
