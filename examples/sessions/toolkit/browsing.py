"""Clicks of users, and the sessions that they make."""

import random

from penstock import KeyedOperator, after, source


@source
def Clicks(*, count: int, seed: int = 1):
    """Users who click every now and then, in bursts."""
    rng = random.Random(seed)
    for _ in range(count):
        yield {"user": f"u{int(rng.paretovariate(0.7)) % 40}", "page": rng.choice(["home", "item", "cart"])}
        yield after(rng.choice([0.5, 1.0, 4.0]))


class Session(KeyedOperator):
    """A session ends after `ttl` seconds without a click; a user who has a full cart for too long is reminded."""

    def __init__(self, *, patience: float):
        self.patience = patience
        self.pages = []

    def process(self, click):
        self.pages.append(click.page)
        # The last call counts: every page after the cart takes the reminder back.
        self.wake(self.patience if click.page == "cart" else None)

    def on_wake(self):
        yield {"user": self.key.user, "what": "reminded", "pages": len(self.pages)}

    def on_expire(self):
        yield {"user": self.key.user, "what": "left", "pages": len(self.pages)}
