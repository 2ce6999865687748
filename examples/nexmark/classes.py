"""What Nexmark's queries remember of each key, where SQL would join without a bound or correct what it has said."""

from __future__ import annotations

from bisect import insort

from penstock import KeyedOperator

PERSON, AUCTION, BID = 0, 1, 2


class MatchedSellers(KeyedOperator):
    """A person, and the auctions that the person has opened, whichever comes first."""

    def __init__(self):
        self.person = None
        self.auctions = []

    def process(self, t):
        if t.kind == PERSON:
            self.person = (t.name, t.city, t.state)
            for auction in self.auctions:
                yield (*self.person, auction)
            self.auctions = []
        elif self.person is None:
            self.auctions.append(t.auction)
        else:
            yield (*self.person, t.auction)


class BestBids(KeyedOperator):
    """The best bid for an auction while it is open; `before` is the price of the best one until then, or -1."""

    def __init__(self):
        self.auction = None
        self.best = None
        self.early = []

    def process(self, t):
        if t.kind == AUCTION:
            self.auction = (t.auction, t.name, t.detail, t.price, t.reserve, t.ts, t.expires, t.person, t.category)
            early, self.early = self.early, []
            for bid in early:
                yield from self.bid(*bid)
        elif self.auction is not None:
            yield from self.bid(t.person, t.price, t.ts)
        else:
            # The stream is in order: only bids of the same millisecond can belong to an auction that is yet to come.
            if self.early and self.early[0][2] < t.ts:
                self.early = []
            self.early.append((t.person, t.price, t.ts))

    def bid(self, bidder, price, at):
        opened, expires = self.auction[5], self.auction[6]
        if opened <= at <= expires and (self.best is None or price > self.best):
            before = -1 if self.best is None else self.best
            self.best = price
            yield (*self.auction, bidder, price, at, before)


class CategoryMeans(KeyedOperator):
    """The mean of the best bids for the auctions of a category."""

    def __init__(self):
        self.count = 0
        self.total = 0

    def process(self, t):
        if t.before < 0:
            self.count += 1
            self.total += t.price
        else:
            self.total += t.price - t.before
        yield t.category, self.total / self.count


class SellerMeans(KeyedOperator):
    """The mean of the best bids for the ten auctions of a seller that expire last."""

    def __init__(self):
        self.last = []

    def process(self, t):
        mine = [entry for entry in self.last if entry[1] != t.auction]
        insort(mine, (t.expires, t.auction, t.price))
        self.last = mine[-10:]
        yield t.seller, sum(price for _, _, price in self.last) / len(self.last)


class NewSellers(KeyedOperator):
    """The window in which a person has come, if the person opens an auction in it."""

    def __init__(self):
        self.name = None
        self.come = -1
        self.opened = -1
        self.told = -1

    def process(self, t):
        start = t.ts // 10_000 * 10_000
        if t.kind == PERSON:
            self.name, self.come = t.name, start
        else:
            self.opened = start
        if self.come == self.opened == start and self.told != start:
            self.told = start
            yield t.person, self.name, start


class TopBids(KeyedOperator):
    """The ten highest prices for an auction; of equal ones the first counts."""

    def __init__(self):
        self.prices = []

    def process(self, t):
        if len(self.prices) < 10 or t.price > self.prices[0]:
            insort(self.prices, t.price)
            self.prices = self.prices[-10:]
            yield t.auction, t.price, t.bidder, t.ts


class MatchedBids(KeyedOperator):
    """The bids for an auction of category 10, whichever comes first."""

    def __init__(self):
        self.item = None
        self.is_wanted = True
        self.early = []

    def process(self, t):
        if t.kind == AUCTION:
            self.is_wanted = t.category == 10
            early, self.early = self.early, []
            self.item = (t.name, t.person, t.price)
            if self.is_wanted:
                for bid in early:
                    yield (t.auction, *bid, *self.item)
        elif self.is_wanted:
            bid = (t.person, t.price, t.ts)
            if self.item is None:
                self.early.append(bid)
            else:
                yield (t.auction, *bid, *self.item)
