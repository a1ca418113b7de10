"""The whole way once: a cluster of the engine's own, started, commanded and ended through Jupyter's server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from glassloom_metrics.registry import read_records


async def test_a_cluster_is_started_scaled_adapted_renamed_restarted_read_and_ended(jp_fetch):
    clusters = ("glassloom", "api", "clusters")

    async def state_when(predicate) -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                state = json.loads((await jp_fetch(*clusters)).body)
                assert not [start for start in state["starts"] if start["problem"]]
                if predicate(state["clusters"]):
                    return state
                await asyncio.sleep(0.05)

    async def command(verb: str, **body: Any) -> str:
        response = await jp_fetch(*clusters, cluster["id"], verb, method="POST", body=json.dumps(body))
        return json.loads(response.body)["outcome"]

    asked = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "1 GiB", "idle_timeout": "30 min"}
    response = await jp_fetch(*clusters, method="POST", body=json.dumps(asked))
    started = json.loads(response.body)
    (cluster,) = (await state_when(lambda found: found and found[0]["workers"] == 1 and found[0]["can"]))["clusters"]
    try:
        told = {name: cluster[name] for name in ("name", "start", "started_by", "idle_timeout_s", "notebook", "script")}
        assert told == {
            "name": "cluster-1", "start": started["id"], "started_by": "panel", "idle_timeout_s": 1800.0, "notebook": None,
            "script": None,
        }  # fmt: skip
        assert cluster["can"] == ["scale", "adapt", "restart", "rename", "shut_down", "log"]
        assert cluster["idle_for_s"] >= 0 and cluster["last_heard_s"] < 60
        assert await command("scale", n=2) == "The cluster goes from 1 to 2 workers."
        await state_when(lambda found: found[0]["workers"] == 2)
        await command("adapt", minimum=0, maximum=3)
        await state_when(lambda found: found[0]["adaptive"] == {"minimum": 0, "maximum": 3})
        await command("adapt")
        await command("rename", name="mine")
        await state_when(lambda found: found[0]["name"] == "mine" and found[0]["adaptive"] is None)
        assert "all tasks were cancelled" in await command("restart")
        lines = json.loads((await jp_fetch(*clusters, cluster["id"], "log")).body)["lines"]
        assert any("is called 'mine' now" in line for line in lines)
    finally:
        await jp_fetch(*clusters, cluster["id"], method="DELETE")
    await state_when(lambda found: not found)
    assert read_records() == []
