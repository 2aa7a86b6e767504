#!/usr/bin/env python3
"""The simulation of many machines: that its costs are those of real processes, and that the simulated cluster keeps to what
can be reckoned by hand and to what no cluster escapes.

    remote_simulation.py --ampc PATH [TEST…]
"""

import argparse
import contextlib
import io
import itertools
import math
import sys
import tempfile
import unittest
from pathlib import Path

from compiler import DEFAULT_RULES, REPOSITORY

sys.path.append(str(REPOSITORY / "tests" / "remote"))
import simulate  # noqa: E402
from cluster import Cluster, Network, Task, makespan  # noqa: E402
from shard_costs import Measurer  # noqa: E402

AMPC = None
SIZE = 24e6
COUNTS = (1, 2, 5, 8)
WORKERS = (1, 2, 3, 4, 8, 16, 64)


def chain(casts, seconds=3.0, size=0, model=0):
    """One that plans, some that cast, one that links."""
    parts = {f"s{i}": size for i in range(casts)}
    return [Task("plan", 1.0, {"model": model}, {"plan": 0}),
            *(Task(f"cast{i}", seconds, {"model": model, "plan": 0}, {f"s{i}": size}) for i in range(casts)),
            Task("link", 2.0, parts, {"out": 0})]


class ByHand(unittest.TestCase):
    def time(self, tasks, workers, **network):
        return makespan(Cluster(workers, Network(**network)).run(tasks))

    def test_compute_alone(self):
        for workers, seconds in ((1, 1 + 12 + 2), (2, 1 + 6 + 2), (3, 1 + 6 + 2), (4, 1 + 3 + 2), (64, 1 + 3 + 2)):
            self.assertAlmostEqual(self.time(chain(4), workers), seconds)

    def test_start_up(self):
        self.assertAlmostEqual(self.time(chain(4), 1, start=0.5), 15 + 6 * 0.5)
        self.assertAlmostEqual(self.time(chain(4), 4, start=0.5), 6 + 3 * 0.5)

    def test_one_link(self):
        # The model once to the one worker, and shards out; what it made itself it does not fetch.
        self.assertAlmostEqual(self.time(chain(4, size=50, model=200), 1, link=100), 15 + 2 + 4 * 0.5)

    def test_a_storage_that_is_shared(self):
        # Three more workers fetch the model: alone each takes 2 s, together 200 * 3 / 150. The fourth has it and is done before.
        # It stores 50 in the same time that others compute; they store theirs together in 1 s, and link fetches 150 in 1.5 s.
        done = Cluster(4, Network(link=100, storage=150)).run(chain(4, size=50, model=200))
        self.assertEqual(sorted(d.fetched for name, d in done.items() if name.startswith("cast")), [0, 200, 200, 200])
        self.assertAlmostEqual(done["plan"].end, 1 + 2)
        casts = sorted(d.end for name, d in done.items() if name.startswith("cast"))
        self.assertAlmostEqual(casts[0], 3 + 3 + 0.5)
        self.assertAlmostEqual(casts[-1], 3 + 4 + 3 + 1)
        self.assertAlmostEqual(done["link"].end, casts[-1] + 1.5 + 2)

    def test_tasks_that_wait_for_each_other(self):
        with self.assertRaisesRegex(ValueError, "needs what needs it"):
            self.time([Task("a", 1, {"y": 0}, {"x": 0}), Task("b", 1, {"x": 0}, {"y": 0})], 2)


class Measured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory())).resolve()
        cls.model = cls.folder / "model.onnx"
        simulate.make_model(cls.model, SIZE)
        measurer = Measurer(AMPC, DEFAULT_RULES, cls.model, cls.folder, runs=1)
        cls.whole = measurer.whole()
        cls.measured, cls.same = {False: {}, True: {}}, {}
        for unmeasured, count in itertools.product(cls.measured, COUNTS):
            cls.measured[unmeasured][count] = measurer.shards(cls.whole, count, unmeasured)
            cls.same[unmeasured, count] = (cls.folder / "linked.onnx").read_bytes() == (cls.folder / "whole.onnx").read_bytes()

    def test_costs_are_those_of_real_processes(self):
        weights = self.model.with_name("model.onnx.data").stat().st_size
        self.assertGreater(weights, SIZE / 2)
        self.assertEqual(set(self.same.values()), {True})
        self.assertEqual(self.whole.size, weights + self.model.stat().st_size)
        for count, costs in self.measured[False].items():
            self.assertEqual(len(costs.casts), count)
            for cost in costs.all():
                self.assertGreater(cost.wall, 0)
                self.assertGreater(cost.cpu, 0)
                self.assertGreater(cost.wall, cost.cpu * 0.5)  # of one thread
            for cost, size in zip(costs.casts, costs.shard_sizes):
                self.assertGreaterEqual(cost.written, size)
                self.assertLess(cost.written, size + 20_000)
            self.assertGreaterEqual(costs.link.written, self.whole.out_size)
            # Together the casts read the weights once, each no more than its share of them and the plan; link reads the shards.
            own = [cost.read - costs.plan_size for cost in costs.casts]
            self.assertGreater(sum(own), 0.9 * weights)
            self.assertLess(sum(own), 1.1 * weights + 100_000 * count)
            self.assertLess(max(own), 1.3 * weights / count + 100_000)
            self.assertGreaterEqual(costs.link.read, sum(costs.shard_sizes))

    def times(self, costs, workers, network, inputs="whole"):
        return makespan(Cluster(workers, network).run(costs.tasks(inputs)))

    def test_what_no_cluster_escapes(self):
        networks = (Network(), Network(start=0.2), Network(link=1e8), Network(0.1, 1e8, 2e8))
        for costs, network, inputs in itertools.product(self.measured[False].values(), networks, ("whole", "own")):
            work = sum(cost.wall for cost in costs.all())
            path = costs.plan.wall + max(cost.wall for cost in costs.casts) + costs.link.wall
            starts = len(costs.all()) * network.start
            times = [self.times(costs, workers, network, inputs) for workers in WORKERS]
            for workers, seconds in zip(WORKERS, times):
                self.assertGreaterEqual(seconds, path + 3 * network.start - 1e-9)
                self.assertGreaterEqual(seconds * workers, work + starts - 1e-9)
                self.assertGreaterEqual(seconds, (self.whole.size + costs.plan_size) / min(network.link, network.storage))
            if network.link == math.inf:
                self.assertAlmostEqual(times[0], work + starts)
                for fewer, more in itertools.pairwise(times):
                    self.assertLessEqual(more, fewer + 1e-9)
                self.assertAlmostEqual(times[-1], path + 3 * network.start)

    def test_own_bytes_are_no_slower_than_whole_models(self):
        network = Network(0, 1e8, 2e8)
        costs = self.measured[False][8]
        self.assertLess(self.times(costs, 8, network, "own"), self.times(costs, 8, network, "whole"))

    def test_a_plan_without_weights_fetches_the_graph_alone(self):
        self.assertEqual(self.measured[True][2].tasks("own")[0].inputs, {"graph": self.model.stat().st_size})
        for costs, inputs in ((self.measured[True][2], "whole"), (self.measured[False][2], "own")):
            self.assertEqual(costs.tasks(inputs)[0].inputs, {"model": self.whole.size})

    def rows(self, build, *options):
        args = simulate.arguments(["--ampc", AMPC, "--workers", "1,4,64", "--models", "8", *options])
        return simulate.rows_of(build, self.whole, self.measured, args)

    def test_speed_up(self):
        free = ["--start", "0", "--link", "1e9", "--storage", "1e9"]
        rows = self.rows("bazel", *free)
        self.assertEqual([r["workers"] for r in rows], [1, 4, 64])
        self.assertAlmostEqual(rows[0]["seconds"], min(sum(c.wall for c in costs.all()) for costs in self.measured[False].values()), places=6)
        for row in rows:
            self.assertAlmostEqual(row["speed_up"], self.whole.cost.wall / row["seconds"], places=4)
            self.assertIn(row["shards"], COUNTS)
            self.assertLess(row["serial"], row["seconds"])
        for row, fold in zip(self.rows("models", *free), (1, 4, 8)):  # eight models, one action each
            self.assertAlmostEqual(row["speed_up"], fold, places=4)
        bound = self.rows("models", "--start", "0", "--link", "1e9", "--storage", "0.001")[-1]
        self.assertAlmostEqual(bound["fetch_floor"], 8 * self.whole.size / 1e6)
        self.assertGreater(bound["seconds"], bound["fetch_floor"])
        self.assertLess(bound["speed_up"], 1.1)  # no more workers than one: the storage has as much to send

    def test_what_is_printed(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            found = simulate.show(self.whole, self.measured, simulate.arguments(["--ampc", AMPC, "--workers", "1,4,64"]))
        for build, rows in found.items():
            self.assertIn(f"{build} ends at {max(r['speed_up'] for r in rows):.2f} with ", out.getvalue())
            self.assertIn(f"{rows[1]['speed_up']:.2f}", next(x for x in out.getvalue().splitlines() if x.startswith("      4")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    ARGS, rest = parser.parse_known_args()
    AMPC = str(Path(ARGS.ampc).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
