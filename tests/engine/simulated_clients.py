"""What the clients of a simulated cluster do: they hand in graphs, release and cancel results, scatter values, and leave."""

from __future__ import annotations

from collections import Counter
from random import Random

from glassloom.errors import GraphError
from glassloom.scheduler import Restrictions, Scheduler, State
from simulated_parts import Client, Fan, Habits, Worker


class ClientEvents:
    """The events of a simulation that are its clients' doing."""

    random: Random
    habits: Habits
    scheduler: Scheduler
    workers: list[Worker]
    clients: list[Client]
    locations: dict[int, int]
    _next: dict[str, int]
    _reasons_to_run: Counter[str]

    def add_client(self) -> Client:
        client = Client(self._next["client"])
        self._next["client"] += 1
        self.clients.append(client)
        return client

    def submit(
        self,
        client: Client,
        wanted: list[str],
        *,
        retries: int = 0,
        held: set[str] = frozenset(),
        restricts: bool = True,
        restrictions: Restrictions | None = None,
    ) -> None:
        """Hand in what `wanted` needs, down to `held`, which the client knows to be on the cluster."""
        keys: dict[str, None] = {}
        stack = list(wanted)
        while stack:
            key = stack.pop()
            if key not in keys and key not in held:
                keys[key] = None
                stack.extend(self.habits.deps[key])
        external = sorted({dep for key in keys for dep in self.habits.deps[key]} - keys.keys())
        position = {key: number for number, key in enumerate([*keys, *external])}
        deps = [[position[dep] for dep in self.habits.deps[key]] for key in keys]
        if all(below == deps[0] for below in deps) and self.random.random() < 0.9:
            deps = deps[:1]  # those of all
        try:
            self.scheduler.submit(
                client,
                list(keys),
                [f"spec of {key}" for key in keys],
                deps,
                external=external,
                wanted=wanted,
                priority=self.random.choice([0, 0, 1, -1]),
                retries=retries,
                restrictions=self._restrictions() if restricts else restrictions,
            )
        except GraphError:
            assert any(key not in self.scheduler.tasks for key in external)
            return
        for key in keys:
            self._reasons_to_run[key] += 1 + retries
        for key in wanted:
            client.status[key] = "pending"

    def _restrictions(self) -> Restrictions | None:
        """Draw what the tasks of a graph need of their workers; there is always a worker with one slot."""
        if self.random.random() < 0.7:
            return None
        resources = self.random.choice([(), (("slot", 1),)])
        numbers = [worker.number for worker in self.random.sample(self.workers, self.random.randint(0, 2))]
        return Restrictions(resources, frozenset(numbers), self.random.random() < 0.5)

    def _client(self) -> Client:
        if not self.clients or (len(self.clients) < 3 and self.random.random() < 0.1):
            return self.add_client()
        return self.random.choice(self.clients)

    def _submit(self) -> None:
        client = self._client()
        keys = list(self.habits.deps)
        if self.random.random() < 0.4:
            keys = [key for key, deps in self.habits.deps.items() if not deps]
        wanted = self.random.sample(keys, min(len(keys), self.random.choice([1, 1, 2, 5, 12])))
        held = {key for key in client.status if self.random.random() < 0.5}
        self.submit(client, wanted, retries=self.random.choice([0, 2]), held=held)

    def _submit_block(self) -> None:
        """Hand in tasks without dependencies that aren't known, as calls of `map` do."""
        roots = [key for key, deps in self.habits.deps.items() if key.startswith("root-") and not deps]
        new = [key for key in roots if not self._is_known(key)]
        if new:
            start = self.random.randrange(len(new))
            wanted = new[start : start + self.random.randint(2, 20)]
            self.submit(self._client(), wanted[::-1], retries=self.random.choice([0, 2]), restricts=False)

    def _submit_fan(self) -> None:
        """Hand in what a fan lacks next; sometimes all of it before anything happens, as a program does."""
        if self.habits.fans:
            fan, client = self.random.choice(self.habits.fans), self._client()
            for _ in range(self.random.choice([1, 1, 4])):
                self._submit_next_of(fan, client)

    def _submit_next_of(self, fan: Fan, client: Client) -> None:
        """Hand in what all of it reads, the tasks that read that, or those that read theirs."""
        if not all(map(self._is_known, fan.sources)):
            self.submit(client, list(fan.sources))
        elif not any(map(self._is_known, fan.middle)):
            retries = self.random.choice([0, 0, 2])
            new = [key for key in fan.misfits if not self._is_known(key)]
            is_first = self.random.random() < 0.5
            if is_first:
                self._submit_misfits(client, fan, new)
            self.submit(client, fan.middle[::-1], retries=retries, held={*fan.sources}, restricts=False)
            if not is_first:
                self._submit_misfits(client, fan, new)
        else:
            sink = self.random.choice(list(fan.sinks))
            if not self._is_known(sink) and all(map(self._is_known, fan.sinks[sink])):
                self.submit(client, [sink], held={*fan.sinks[sink]}, restricts=self.random.random() < 0.2)
            for other in self.clients:
                if self.random.random() < 0.7:
                    self._release_keys(other, [key for key in fan.middle if key in other.status])

    def _submit_misfits(self, client: Client, fan: Fan, keys: list[str]) -> None:
        """Hand in tasks that no worker may run."""
        for key in keys:
            nowhere = Restrictions(workers=frozenset([-1]))
            self.submit(client, [key], held={*fan.sources}, restricts=False, restrictions=nowhere)

    def _is_known(self, key: str) -> bool:
        return key in self.scheduler._index or key in self.scheduler._tables.tasks

    def _release(self) -> None:
        client = self._client()
        keys = [key for key in client.status if self.random.random() < 0.3]
        if self.random.random() < 0.3:
            keys = list(client.status)[: self.random.randint(0, len(client.status))]
        self._release_keys(client, keys)

    def _release_keys(self, client: Client, keys: list[str]) -> None:
        for key in keys:
            del client.status[key]
        self.scheduler.release(client, keys[:: self.random.choice([1, -1])])

    def _cancel(self) -> None:
        client = self._client()
        if client.status:
            self.scheduler.cancel([self.random.choice(list(client.status))])

    def _want_to_read(self) -> None:
        client = self._client()
        if client.status:
            self.scheduler.locate(self.random.choice(list(client.status)))

    def _scatter(self) -> None:
        """Put the value of a task without dependencies there instead of computing it."""
        roots = [key for key, deps in self.habits.deps.items() if not deps and key not in self.habits.fails]
        if roots:
            client, key = self._client(), self.random.choice(roots)
            self.scheduler.add_data(client, key, self._place(key), 10)
            client.status.setdefault(key, "pending")
            if self.scheduler.tasks[key].state is State.MEMORY:
                client.status[key] = "finished"

    def _client_leaves(self) -> None:
        if self.clients and self.random.random() < 0.3:
            client = self.random.choice(self.clients)
            self.clients.remove(client)
            self.scheduler.client_left(client)

    def _place(self, key: str) -> int:
        self._next["location"] += 1
        self.locations[self._next["location"]] = self.habits.value(key)
        return self._next["location"]
