"""What ampc plan, each ampc cast and ampc link really cost for a model, process by process."""

import dataclasses
import os
import subprocess
import time

from cluster import Task


@dataclasses.dataclass
class Cost:
    wall: float
    cpu: float
    read: int  # bytes by read calls; what is mapped into memory is not in it
    written: int


def measured(command, cwd):
    """The cost of one process, which has to end well."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    texts = process.stderr.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - begin
    with open(f"/proc/{process.pid}/io", encoding="ascii") as file:  # there until it has been waited for
        counts = dict(line.split(": ") for line in file.read().splitlines())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        raise RuntimeError(f"{command}: exit status {process.returncode}\n{texts}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, int(counts["rchar"]), int(counts["wchar"]))


def least(costs):
    """Of several runs: noise only adds."""
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs), costs[0].read, costs[0].written)


@dataclasses.dataclass
class Model:
    """Files' sizes, and the cost of one process that does it all."""
    graph_size: int  # of the model's own file, without its data
    size: int  # with its data
    out_size: int
    cost: Cost

    def task(self, clock="wall", name=""):
        return Task(f"compile{name}", getattr(self.cost, clock), {f"model{name}": self.size}, {f"out{name}": self.out_size})


@dataclasses.dataclass
class Costs:
    """For one number of shards. `unmeasured`: of a plan that reads the graph alone."""
    model: Model
    unmeasured: bool
    plan: Cost
    casts: list
    link: Cost
    plan_size: int
    shard_sizes: list

    def all(self):
        return [self.plan, *self.casts, self.link]

    def tasks(self, inputs, clock="wall"):
        """What a cluster has to do. `inputs`: each action gets the "whole" model, or its "own" bytes alone."""
        seconds = [getattr(cost, clock) for cost in self.all()]
        model, plan = {"model": self.model.size}, {"plan": self.plan_size}
        tasks = [Task("plan", seconds[0], {"graph": self.model.graph_size} if self.unmeasured and inputs == "own" else model, plan)]
        for i, (cost, size) in enumerate(zip(self.casts, self.shard_sizes), 1):
            own = model if inputs == "whole" else {f"model {i}": max(0, cost.read - self.plan_size)}
            tasks.append(Task(f"cast {i}", seconds[i], {**own, **plan}, {f"shard {i}": size}))
        shards = {f"shard {i}": size for i, size in enumerate(self.shard_sizes, 1)}
        return [*tasks, Task("link", seconds[-1], {**shards, **plan}, {"out": self.model.out_size})]


class Measurer:
    """Writes to `folder`; `options` go to ampc plan, or to ampc itself."""

    def __init__(self, program, rules, model, folder, runs=3, options=("-j1",)):
        self.program, self.rules, self.model, self.folder, self.runs = program, rules, model, folder, runs
        self.options = options
        self.jobs = [o for o in options if o.startswith("-j")]

    def repeated(self, *arguments, out):
        costs = []
        for _ in range(self.runs):
            (self.folder / out).unlink(missing_ok=True)
            costs.append(measured([self.program, *arguments, "-o", out, "-q"], self.folder))
        return least(costs)

    def whole(self):
        cost = self.repeated(self.rules, self.model, *self.options, out="whole.onnx")
        graph, data = self.model.stat().st_size, self.model.with_name(self.model.name + ".data")
        return Model(graph, graph + (data.stat().st_size if data.exists() else 0), (self.folder / "whole.onnx").stat().st_size, cost)

    def shards(self, model, count, unmeasured=False):
        """`model` is what whole() gave."""
        plan = self.repeated("plan", self.rules, self.model, "--shards", count, *self.options, *(["--unmeasured"] if unmeasured else []),
                             out="model.plan")
        names = [f"{i}.shard" for i in range(1, count + 1)]
        casts = [self.repeated("cast", "--plan", "model.plan", "--shard", f"{i}/{count}", *self.jobs, out=name)
                 for i, name in enumerate(names, 1)]
        link = self.repeated("link", "--plan", "model.plan", *names, *self.jobs, out="linked.onnx")
        sizes = [(self.folder / name).stat().st_size for name in names]
        for name in names:
            (self.folder / name).unlink()
        return Costs(model, unmeasured, plan, casts, link, (self.folder / "model.plan").stat().st_size, sizes)
