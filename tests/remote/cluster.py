"""A cluster of workers around one storage, simulated: when each of some tasks, which need one another's outputs, is done.

A worker runs one task at a time. A task starts up, fetches those of its inputs that its worker has not got yet, computes, and
stores its outputs; a worker keeps what it fetched or made. Transfers that go on at a time share the storage evenly, and none
is faster than a worker's own link; both have as much in each direction. Of the tasks that can run the first in the list goes
first, to the idle worker that lacks the fewest bytes for it.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    seconds: float
    inputs: dict = dataclasses.field(default_factory=dict)  # bytes by name: of another task's output, or what is there before
    outputs: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Network:
    start: float = 0.0  # seconds for each task
    link: float = math.inf  # bytes a second, of each worker
    storage: float = math.inf  # of all together


@dataclasses.dataclass
class Running:
    task: Task
    begin: float
    left: float  # of the phase: seconds, or bytes
    fetched: float
    phase: str = "start"
    times: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Done:
    """What became of a task."""
    worker: int
    begin: float
    end: float
    fetched: float
    times: dict  # seconds of each phase


PHASES = ("start", "fetch", "compute", "store")


class Cluster:
    def __init__(self, workers, network):
        self.network = network
        self.have = [set() for _ in range(workers)]
        self.running = {}
        self.done = {}
        self.now = 0.0

    def run(self, tasks):
        """A Done for each task by its name."""
        makers = {name: task.name for task in tasks for name in task.outputs}
        waiting = list(tasks)
        while waiting or self.running:
            for task in list(waiting):
                idle = [w for w in range(len(self.have)) if w not in self.running]
                if not idle:
                    break
                if all(makers[name] in self.done for name in task.inputs if name in makers):
                    waiting.remove(task)
                    self._begin(task, min(idle, key=lambda w: self._missing(task, w)))
            if not self.running:
                raise ValueError(f"{waiting[0].name} needs what needs it")
            self._step()
        return self.done

    def _missing(self, task, worker):
        return sum(size for name, size in task.inputs.items() if name not in self.have[worker])

    def _begin(self, task, worker):
        self.running[worker] = Running(task, self.now, self.network.start, self._missing(task, worker))

    def _rate(self, phase):
        if phase in ("start", "compute"):
            return 1.0
        return min(self.network.link, self.network.storage / sum(r.phase == phase for r in self.running.values()))

    def _step(self):
        """On to when the next phase of a task is over."""
        rates = {phase: self._rate(phase) for phase in {r.phase for r in self.running.values()}}
        ends = {worker: r.left / rates[r.phase] for worker, r in self.running.items()}
        step = min(ends.values())
        self.now += step
        for worker, r in list(self.running.items()):
            r.times[r.phase] = r.times.get(r.phase, 0.0) + step
            if ends[worker] <= step * (1 + 1e-12):
                self._next_phase(worker, r)
            else:
                r.left -= step * rates[r.phase]

    def _next_phase(self, worker, r):
        if r.phase == "store":
            self.have[worker] |= r.task.outputs.keys()
            self.done[r.task.name] = Done(worker, r.begin, self.now, r.fetched, r.times)
            del self.running[worker]
            return
        r.phase = PHASES[PHASES.index(r.phase) + 1]
        r.left = {"fetch": r.fetched, "compute": r.task.seconds, "store": sum(r.task.outputs.values())}[r.phase]
        if r.phase == "compute":
            self.have[worker] |= r.task.inputs.keys()


def makespan(done):
    return max(d.end for d in done.values())
