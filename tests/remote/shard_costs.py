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
class Costs:
    """For one number of shards."""
    plan: Cost
    casts: list
    link: Cost
    model_size: int  # with its data
    plan_size: int
    shard_sizes: list
    out_size: int

    def all(self):
        return [self.plan, *self.casts, self.link]

    def tasks(self, clock="wall", inputs="whole"):
        """What a cluster has to do. `inputs`: each action gets the whole model, or what it reads of it alone."""
        seconds = [getattr(cost, clock) for cost in self.all()]
        plan = {"plan": self.plan_size}
        tasks = [Task("plan", seconds[0], {"model": self.model_size}, plan)]
        for i, (cost, size) in enumerate(zip(self.casts, self.shard_sizes), 1):
            own = {"model": self.model_size} if inputs == "whole" else {f"model {i}": max(0, cost.read - self.plan_size)}
            tasks.append(Task(f"cast {i}", seconds[i], {**own, **plan}, {f"shard {i}": size}))
        shards = {f"shard {i}": size for i, size in enumerate(self.shard_sizes, 1)}
        return [*tasks, Task("link", seconds[-1], {**shards, **plan}, {"out": self.out_size})]


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
        """One process that does it all."""
        return self.repeated(self.rules, self.model, *self.options, out="whole.onnx")

    def shards(self, count, plan_options=()):
        plan = self.repeated("plan", self.rules, self.model, "--shards", count, *self.options, *plan_options, out="model.plan")
        names = [f"{i}.shard" for i in range(1, count + 1)]
        casts = [self.repeated("cast", "--plan", "model.plan", "--shard", f"{i}/{count}", *self.jobs, out=name)
                 for i, name in enumerate(names, 1)]
        link = self.repeated("link", "--plan", "model.plan", *names, *self.jobs, out="linked.onnx")
        size = {name: (self.folder / name).stat().st_size for name in ("model.plan", *names, "linked.onnx")}
        for name in names:
            (self.folder / name).unlink()
        files = [self.model, self.model.with_name(self.model.name + ".data")]
        return Costs(plan, casts, link, sum(f.stat().st_size for f in files if f.exists()), size["model.plan"],
                     [size[name] for name in names], size["linked.onnx"])
