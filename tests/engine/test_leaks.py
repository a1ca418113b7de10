"""What counts as left behind by the clusters of a module's tests, beside those of other test runs."""

from __future__ import annotations

import os
from pathlib import Path

import leaks
import msgspec
import pytest
from glassloom.protocol.identity import new_cluster_id
from glassloom.protocol.places import make_places
from glassloom_metrics.host import process_started_s
from glassloom_metrics.registry import ClusterRecord, remove_record, write_record

RECORD = ClusterRecord("", "here", "processes", os.getpid(), process_started_s(os.getpid()), "/s", "s", 1.0, "/d", "")


def test_a_cluster_elsewhere_whose_id_begins_with_that_of_one_of_ours_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "rt"))
    elsewhere = make_places(new_cluster_id())
    ours = elsewhere.cluster_id[:6]
    try:
        with leaks.Watch(tmp_path) as watch:
            write_record(msgspec.structs.replace(RECORD, id=ours))
            remove_record(ours)
            assert watch.cluster_ids() == {ours}
            assert len(leaks.shared_files(elsewhere.cluster_id)) == 1
            assert watch.left_outside() == []
            left = [Path(f"/dev/shm/glassloom-{ours}-w0-1"), Path(f"/dev/shm/glassloom-{ours}.owner")]
            try:
                for path in left:
                    path.touch()
                assert watch.left_outside() == [f"shared memory {path}" for path in left]
            finally:
                for path in left:
                    path.unlink(missing_ok=True)
    finally:
        elsewhere.remove()
