"""Writes seeded XML tweets: authors who stick to a topic for a while.

python examples/twitter_cep/generate.py [--tweets 2000] [--authors 20] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
TOPICS = ("#streams", "#coffee", "#streams #spark", "", "#R&D")


def generate(out: Path, *, tweets: int = 2000, authors: int = 20, seed: int = 1) -> None:
    """Write `tweets.xml`, a tweet a line; an author changes the topic with one tweet in four."""
    rng = random.Random(seed)
    topic = ["" for _ in range(authors)]
    out.mkdir(parents=True, exist_ok=True)
    with (out / "tweets.xml").open("w", encoding="utf-8") as file:
        for time in range(tweets):
            author = rng.randrange(authors)
            if rng.random() < 0.25:
                topic[author] = rng.choice(TOPICS)
            text = escape(f"no {time} is < all & more {topic[author]}")
            file.write(f'<tweet author="a&amp;{author}" time="{time}">{text}</tweet>\n')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded XML tweets.")
    parser.add_argument("--tweets", type=int, default=2000)
    parser.add_argument("--authors", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, tweets=arguments.tweets, authors=arguments.authors, seed=arguments.seed)
