"""Writes seeded tweets, one a line.

python examples/twitter_nlp/generate.py [--tweets 1000] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent
WORDS = "the a stream of tuples don't stop me now good morning coffee rain again in Hawthorne we're late so".split()
TAGS = ("#monday", "#streams", "@ada", "@grace", "!!", "...", "😀")


def generate(out: Path, *, tweets: int = 1000, seed: int = 1) -> None:
    """Write `tweets.txt`: up to 20 words, tags and signs each; a few tweets have no word at all."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "tweets.txt").open("w", encoding="utf-8") as file:
        for _ in range(tweets):
            count = rng.randint(1, 20)
            words = [rng.choice(WORDS if rng.random() < 0.85 else TAGS) for _ in range(count)]
            file.write(("!!" if rng.random() < 0.02 else " ".join(words)) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded tweets.")
    parser.add_argument("--tweets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, tweets=arguments.tweets, seed=arguments.seed)
