"""A whole cluster without processes: clients and workers that talk to a scheduler through queues, and keep books.

A simulated worker does what `glassloom.worker.worker` does, message by message; when anything happens is drawn from a
seed. It dies, answers late or, when it dies, never; it runs short of memory, and loses results. The books notice results that are wrong, inputs that are missing,
places that are freed twice or never, and tasks that run twice without need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import invariants
from glassloom.scheduler import (
    LOSSES_ALLOWED,
    Actions,
    Pressure,
    Scheduler,
    State,
    TaskSlice,
    TaskState,
)
from simulated_clients import ClientEvents
from simulated_parts import (
    Client,
    Habits,
    Published,
    Run,
    Step,
    Worker,
    as_sent,
    is_file,
    keys_in,
    numbers_in,
    random_habits,
)


class Simulation(ClientEvents):
    """One cluster; `step` lets something happen, `settle` lets all work be done, `end` lets everybody leave."""

    def __init__(self, seed: int, habits: Habits | None = None, n_workers: int = 3) -> None:
        self.random = Random(seed)
        self.habits = habits or random_habits(self.random, self.random.choice([5, 15, 30]))
        self.scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=self.random.choice([2, 2, 2, 1000]))
        self.workers: list[Worker] = []
        self.clients: list[Client] = []
        self.locations: dict[int, int] = {}
        self.n_steps = 0
        self.deaths = 0
        self._next = {"worker": 0, "client": 0, "location": 0}
        self._removed: set[int] = set()
        """Locations whose files something has removed."""
        self._n_removed: Counter[str] = Counter()
        self._failed_once: set[str] = set()
        self._key_of: dict[int, str] = {}
        self._misses_an_input: set[int] = set()
        self._reasons_to_run: Counter[str] = Counter()
        self.n_runs: Counter[str] = Counter()
        for _ in range(n_workers):
            self.add_worker()
        self._events: list[tuple[float, Callable[[], Any]]] = [
            (30, self._deliver_to_worker),
            (20, self._begin),
            (20, self._take_inputs),
            (20, self._complete),
            (10, self._deliver_to_head),
            (9, self._submit),
            (5, self._submit_block),
            (2, self._run_many),
            (4, self._release),
            (1, self._cancel),
            (2, self._want_to_read),
            (1, self._scatter),
            (1, self._client_leaves),
            (1, self._kill_worker),
            (1, self._retire_worker),
            (1, self._lose_results),
            (1, self._remove_a_file),
            (1, self._report_a_removed_file),
            (1, self._change_pressure),
            (2, self._secede_or_rejoin),
            (1, self._let_time_pass),
        ]
        self._quiet = [*self._events[:5], (1, self._report_a_removed_file)]
        if self.random.random() < 0.4:  # so that most tasks stay in their blocks
            rare = (self._let_time_pass, self._secede_or_rejoin, self._scatter, self._want_to_read, self._lose_results)
            self._events = [(weight, event) for weight, event in self._events if event not in rare]
        if self.habits.fans:  # so that many of them come to their end undisturbed
            usual = [*self._quiet, (8, self._submit_fan), (4, self._run_many), (3, self._release)]
            others = [(0.3, event) for _, event in self._events if event not in [known for _, known in usual]]
            self._events = usual + self.random.sample(others, self.random.choice([0, 2, 5, len(others)]))

    # Driving

    def step(self) -> None:
        """Let something happen, and check everything."""
        self._do_one_of(self._events)

    def settle(self) -> None:
        """Let the cluster work until nothing moves; nobody asks for anything more and nobody dies by chance.

        Memory may stay short, of half of the clusters on all workers.
        """
        all_are_short = self.random.random() < 0.5
        for worker in self.workers:
            if all_are_short or worker.state.pressure is Pressure.PAUSED:
                self.scheduler.set_pressure(worker.number, Pressure.HIGH)
        idle = 0
        while idle < 3:
            moved = [self._repeat(event) for _, event in self._quiet]
            self._act()
            idle = 0 if any(moved) else idle + 1

    def end(self) -> None:
        """Let all clients leave and all messages arrive; then nothing may be remembered anywhere."""
        for client in self.clients:
            self.scheduler.client_left(client)
        self.clients.clear()
        self._act()
        self.settle()
        scheduler = self.scheduler
        assert (scheduler.tasks, scheduler.by_number, scheduler._tables.n_lost) == ({}, {}, {})
        for worker in self.workers:
            state = worker.state
            assert (state.running, state.has, state.stopping, state.publishing) == ({}, {}, {}, {})
            assert (state.seceded, state.occupancy_s, state.reserved) == (set(), 0.0, False)
            assert (worker.store, list(worker.queue), worker.executing) == ({}, [], [])
        assert self.locations == {}

    def check_outcome(self) -> None:
        """Check, after `settle`, that every wish is fulfilled or refused with reason, and told of."""
        habits = self.habits
        may_fail = habits.above(set(habits.fails | habits.fails_once | habits.kills))
        for client in self.clients:
            for key, status in client.status.items():
                task = self.scheduler.tasks[key]
                assert task.clients and client in task.clients
                told = {State.MEMORY: "finished", State.ERRED: "erred"}[task.state]
                assert status == told, (key, status, told)
                if told == "finished":
                    assert self._read(task) == habits.value(key)
                else:
                    kind = task.error[0]
                    assert kind != "pinned" or habits.unpicklable
                    assert kind != "raised" or key in may_fail, key
                    assert kind != "worker-lost" or self.deaths >= 3
                    assert kind in ("pinned", "raised", "worker-lost", "nowhere"), task.error

    def _do_one_of(self, events: list[tuple[float, Callable[[], Any]]]) -> None:
        (event,) = self.random.choices([event for _, event in events], [weight for weight, _ in events])
        event()
        self.n_steps += 1
        self._check()
        if self.random.random() < 0.6:
            self._act()

    def _repeat(self, event: Callable[[], Any]) -> bool:
        moved = False
        while event():
            moved = True
            self.n_steps += 1
            self._check()
        return moved

    def _check(self) -> None:
        invariants.check(self.scheduler, self._misses_an_input)

    def _act(self) -> None:
        actions = self.scheduler.take_actions()
        self._check()
        invariants.check_settled(self.scheduler)
        self._carry_out(actions)

    # Workers

    def add_worker(self) -> Worker:
        number = self._next["worker"]
        self._next["worker"] += 1
        nthreads = self.random.choice([1, 1, 2, 4])
        resources = {"slot": self.random.choice([1, 2])}
        worker = Worker(self.scheduler.worker_joined(number, f"w-{number}", nthreads, resources))
        self.workers.append(worker)
        return worker

    def kill_worker(self, worker: Worker, *, blame: bool = True) -> None:
        """Let a worker die: of what it has sent, some arrives before its death is known, some after, some never."""
        self.deaths += 1
        self.workers.remove(worker)
        n_unheard = self.random.randint(0, len(worker.outbox))
        while len(worker.outbox) > n_unheard:
            self._hear(worker, worker.outbox.popleft())
        for run in [*worker.queue, *(step.run for step in worker.executing)]:
            self._reasons_to_run[run.key] += 1
        for message in [*worker.inbox, *worker.outbox]:
            for key in keys_in(message):
                self._reasons_to_run[key] += 1
        for key in self._keys_on(worker):
            self._reasons_to_run[key] += 1
        self.scheduler.worker_left(worker.number, blame=blame)
        if worker.outbox and self.random.random() < 0.5:
            self._hear(worker, worker.outbox.popleft())
        self._remove_unannounced(worker)
        self.add_worker()

    def _keys_on(self, worker: Worker) -> list[str]:
        """Return the keys of the tasks that the worker runs or whose results it has, in blocks and by themselves."""
        in_blocks = [
            key
            for block in self.scheduler._index
            for key, number in zip(block.keys, block.workers, strict=True)
            if number == worker.number
        ]
        return [task.key for task in (*worker.state.has, *worker.state.running)] + in_blocks

    def _kill_worker(self) -> None:
        if self.random.random() < 0.3:
            self.kill_worker(self.random.choice(self.workers), blame=self.random.random() < 0.3)

    def _retire_worker(self) -> None:
        if self.random.random() < 0.3:
            self.scheduler.retire(self.random.choice(self.workers).number)

    def _change_pressure(self) -> None:
        worker = self.random.choice(self.workers)
        self.scheduler.set_pressure(worker.number, self.random.choice([*Pressure, Pressure.NONE, Pressure.NONE]))

    def _lose_results(self) -> None:
        """Some results can't be read back: the worker tells of it before it gives back what needs them."""
        worker = self._one(lambda worker: worker.store)
        if worker is not None and self.random.random() < 0.5:
            numbers = [number for number in worker.store if self.random.random() < 0.3]
            for number in numbers:
                del worker.store[number]
                worker.lost.add(number)
                self._reasons_to_run[self._key_of[number]] += 1
            worker.outbox.append(("lost", numbers))

    def _remove_a_file(self) -> None:
        """The file of a shared result vanishes. Whoever tries to read it tells of it."""
        tasks = [
            task
            for task in self.scheduler.individual_tasks.values()
            if task.shared_location is not None
            and task.spec is not None
            and self._n_removed[task.key] < LOSSES_ALLOWED - 1
        ]
        if tasks:
            task = self.random.choice(tasks)
            self._removed.add(task.shared_location)
            self._n_removed[task.key] += 1

    def _report_a_removed_file(self) -> bool:
        """A client has tried to read such a result."""
        tasks = self.scheduler.individual_tasks.values()
        for task in [task for task in tasks if task.clients and task.shared_location in self._removed]:
            self._lose_shared(task.number, task.shared_location)
            return True
        return False

    def _lose_shared(self, number: int, location: int) -> None:
        for worker in self.workers:
            self._note_readers(worker, [number])
        self.scheduler.shared_result_lost(number, location)

    def _secede_or_rejoin(self) -> None:
        worker = self._one(lambda worker: worker.executing)
        if worker is not None:
            step = self.random.choice(worker.executing)
            step.has_seceded = not step.has_seceded
            worker.outbox.append(("seceded" if step.has_seceded else "rejoined", step.run.number))

    def _let_time_pass(self) -> None:
        self.scheduler.rebalance(0.1)

    def _one(self, having: Callable[[Worker], Any]) -> Worker | None:
        able = [worker for worker in self.workers if having(worker)]
        return self.random.choice(able) if able else None

    def _deliver_to_worker(self) -> bool:
        worker = self._one(lambda worker: worker.inbox)
        if worker is None:
            return False
        kind, content = worker.inbox.popleft()
        if kind == "run":
            assert content.number not in [run.number for run in worker.queue], f"{content} is queued twice"
            worker.queue.append(content)
        elif kind == "recall":
            self._give_back(worker, worker.withdraw({content}))
        elif kind == "drop":
            worker.store.pop(content, None)
        elif kind == "publish" and content.number in worker.store:
            place = None if content.key in self.habits.unpicklable else self._place(content.key)
            worker.outbox.append(("published", content.number, place, content.key))
        return True

    def _begin(self) -> bool:
        worker = self._one(lambda worker: worker.has_free_thread and worker.first_that_can_begin())
        if worker is None:
            return False
        run = worker.first_that_can_begin()
        worker.queue.remove(run)
        worker.executing.append(Step(run))
        return True

    def _run_many(self) -> None:
        """Let many tasks end before the head hears of the first, as short ones do."""
        for _ in range(15):
            self._begin()
            self._take_inputs()
            self._complete()

    def _give_back(self, worker: Worker, runs: list[Run]) -> None:
        if runs:
            worker.outbox.append(("recalled", [run.number for run in runs], [run.key for run in runs]))
            worker.lost.update(run.number for run in runs)
            for run in runs:
                self._reasons_to_run[run.key] += 1

    def _take_inputs(self) -> bool:
        worker = self._one(lambda worker: any(step.inputs is None for step in worker.executing))
        if worker is None:
            return False
        step = self.random.choice([step for step in worker.executing if step.inputs is None])
        inputs = []
        if any(location is None and number in worker.lost for number, _, location in step.run.deps):
            worker.executing.remove(step)
            self._give_back(worker, [step.run, *worker.withdraw_readers({step.run.number})])
            return True
        removed = [(number, location) for number, _, location in step.run.deps if location in self._removed]
        if removed:
            worker.executing.remove(step)
            worker.outbox.append(("shared-lost", *removed[0]))
            self._give_back(worker, [step.run, *worker.withdraw_readers({step.run.number})])
            return True
        for number, key, location in step.run.deps:
            value = self.locations.get(location)
            if location is None:
                value = worker.store.get(number, worker.recent.get(number))
            if value is None:  # gone: nobody can be waiting for this run any more
                worker.executing.remove(step)
                worker.outbox.append(("failed", step.run.number, ("input-missing", step.run.key)))
                return True
            assert value == self.habits.value(key)
            inputs.append(value)
        step.inputs = inputs
        return True

    def _complete(self) -> bool:
        worker = self._one(lambda worker: any(step.inputs is not None for step in worker.executing))
        if worker is None:
            return False
        step = self.random.choice([step for step in worker.executing if step.inputs is not None])
        run, key = step.run, step.run.key
        if key in self.habits.kills:
            self.kill_worker(worker)
            return True
        worker.executing.remove(step)
        if key in self.habits.fails or (key in self.habits.fails_once and key not in self._failed_once):
            self._failed_once.add(key)
            worker.outbox.append(("failed", run.number, ("raised", key)))
            worker.lost.add(run.number)
            self._give_back(worker, worker.withdraw_readers({run.number}))
            return True
        self.n_runs[key] += 1
        assert self.n_runs[key] <= self._reasons_to_run[key], f"{key} ran {self.n_runs[key]} times"
        value = hash((key, tuple(step.inputs)))
        place = None
        if key in self.habits.small:
            place = self._place(key)
            worker.recent[run.number] = value
        else:
            worker.store[run.number] = value
        worker.lost.discard(run.number)
        worker.outbox.append(("finished", run.number, place, key))
        return True

    def _deliver_to_head(self) -> bool:
        worker = self._one(lambda worker: worker.outbox)
        if worker is None:
            return False
        self._hear(worker, worker.outbox.popleft())
        return True

    def _hear(self, worker: Worker, message: tuple[Any, ...]) -> None:
        """Give a worker's message to the scheduler; some twice."""
        scheduler, number = self.scheduler, worker.number
        n_times = 2 if self.random.random() < 0.1 else 1
        match message:
            case ("finished", *_):
                messages = [message]
                while worker.outbox and worker.outbox[0][0] == "finished" and self.random.random() < 0.8:
                    messages.append(worker.outbox.popleft())
                if self.random.random() < 0.5:
                    messages.sort(key=lambda one: one[1])
                tasks, places, keys = (list(column) for column in zip(*[one[1:] for one in messages], strict=True))
                nbytes = [self.habits.nbytes.get(key, 100) for key in keys]
                durations_s = [self.habits.duration_s.get(key, 0.1) for key in keys]
                for _ in range(n_times if set(places) == {None} else 1):
                    scheduler.finished(number, tasks, nbytes, durations_s, places)
            case ("failed", task, error):
                state = scheduler.by_number.get(task)
                heard = state is not None and state.worker is worker.state and state.state is State.RUNNING
                assert not (heard and error[0] == "input-missing"), f"{state} was sent without its inputs"
                self._note_readers(worker, [task])
                for _ in range(n_times):
                    scheduler.failed(number, task, error)
            case ("published", task, place, _):
                for _ in range(n_times if place is None else 1):
                    scheduler.published(number, task, place)
            case ("recalled", tasks, _):
                self._note_readers(worker, tasks)
                for _ in range(n_times):
                    scheduler.recalled(number, tasks)
            case ("seceded", task):
                for _ in range(n_times):
                    scheduler.seceded(number, task)
            case ("rejoined", task):
                for _ in range(n_times):
                    scheduler.rejoined(number, task)
            case ("shared-lost", task, location):
                for _ in range(n_times):
                    self._lose_shared(task, location)
            case ("lost", tasks):
                self._note_readers(worker, tasks)
                for _ in range(n_times):
                    scheduler.results_lost(number, tasks)

    def _note_readers(self, worker: Worker, lost: list[int]) -> None:
        """Write down which running tasks may have been sent with, or ahead of, a result that is gone."""
        for task in worker.state.running:
            if task.state is State.RUNNING and any(dep.number in lost for dep in invariants.inputs(task)):
                self._misses_an_input.add(task.number)
        for block in self.scheduler._index:
            if any(dep.number in lost for dep in block.deps):
                running = [position for position, state in enumerate(block.states) if state == State.RUNNING]
                here = [position for position in running if block.workers[position] == worker.number]
                self._misses_an_input.update(block.first + position for position in here)

    # Carrying out

    def _carry_out(self, actions: Actions) -> None:
        by_state = {worker.state: worker for worker in self.workers}
        for number, location in invariants.freed(actions):
            assert location in self.locations, f"location {location} of {number} is freed twice"
            del self.locations[location]
            self._reasons_to_run[self._key_of.get(number, "")] += 1
            if number >= 0 and is_file(location):  # which workers that have read it keep open
                for worker in self.workers:
                    worker.inbox.append(("drop", number))
        for state, tasks in actions.recall.items():
            if state in by_state:
                by_state[state].inbox.extend(("recall", task.number) for task in tasks)
                for task in tasks:
                    self._reasons_to_run[task.key] += 1
        for state, numbers in actions.drop.items():
            if state in by_state:
                by_state[state].inbox.extend(("drop", number) for number in numbers)
            for number in numbers:
                self._reasons_to_run[self._key_of[number]] += 1
        for state, tasks in actions.run.items():
            for task in tasks:
                if state in by_state:
                    self._send(task, by_state[state])
                elif isinstance(task, TaskState):  # decided before it died, and undone since
                    assert task.worker is not state, f"{task} is sent to the dead {state}"
        for state, tasks in actions.publish.items():
            if state in by_state:
                by_state[state].inbox.extend(("publish", Published(task.number, task.key)) for task in tasks)
        self._tell(actions)
        for state in actions.stop:
            if state in by_state:
                self._stop(by_state[state])

    def _send(self, task: TaskState | TaskSlice, worker: Worker) -> None:
        if isinstance(task, TaskSlice):
            deps = tuple([(dep.number, dep.key, dep.shared_location) for dep in task.block.deps])
            assert all(location is not None for _, _, location in deps)
            for number, key in zip(task.numbers, task.keys, strict=True):
                self._send_run(Run(number, key, deps), worker)
            return
        inputs = list(invariants.inputs(task))
        self._send_run(Run(task.number, task.key, tuple([as_sent(dep) for dep in inputs])), worker)
        missing = [dep.number for dep in inputs if dep.state is not State.MEMORY]
        if len(missing) != task.n_awaited:  # an input was lost after this was decided: the worker gives the task back
            self._misses_an_input.add(task.number)
            worker.lost.update(missing)

    def _send_run(self, run: Run, worker: Worker) -> None:
        for other in self.workers:
            assert run.number not in numbers_in(other), f"{run} runs on {other.state} already"
        self._key_of[run.number] = run.key
        self._misses_an_input.discard(run.number)
        worker.inbox.append(("run", run))

    def _stop(self, worker: Worker) -> None:
        self.workers.remove(worker)
        for key in self._keys_on(worker):
            self._reasons_to_run[key] += 1
        self.scheduler.worker_left(worker.number, blame=False)
        self._remove_unannounced(worker)
        self.add_worker()

    def _remove_unannounced(self, worker: Worker) -> None:
        """As the head does: remove what a dead worker wrote and never told of."""
        for message in worker.outbox:
            if message[0] in ("finished", "published") and message[2] is not None:
                del self.locations[message[2]]

    def _tell(self, actions: Actions) -> None:
        for status, told in (("finished", actions.finished), ("erred", actions.erred)):
            for client, tasks in told.items():
                for task in tasks:
                    for key in task.keys if isinstance(task, TaskSlice) else [task.key]:
                        if key in client.status and self._is_wanted_by(key, client):
                            client.status[key] = status
                        if status == "erred":
                            self._reasons_to_run[key] += 1
        for client, keys in actions.cancelled.items():
            for key in keys:
                if not self._is_wanted_by(key, client):
                    client.status.pop(key, None)

    def _is_wanted_by(self, key: str, client: Client) -> bool:
        block = self.scheduler._index._by_key.get(key)
        task = self.scheduler._tables.tasks.get(key)
        if block is not None:
            return block.client is client and (block.wanted is None or block.wanted[block.position(key)] == 1)
        return task is not None and client in task.clients

    def _read(self, task: TaskState) -> int | None:
        if task.shared_location is not None:
            return self.locations[task.shared_location]
        (worker,) = [worker for worker in self.workers if worker.state is task.owner]
        return worker.store[task.number]
