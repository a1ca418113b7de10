"""What is wrong in Jupyter's configuration is said once, with the setting and its value."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from glassloom_server.extension import GlassloomServer
from glassloom_server.launcher import start_command
from glassloom_server.profiles import Profiles, has_gpu_driver
from glassloom_server.wire import StartRequest
from traitlets import TraitError

LOG = logging.getLogger("configuration")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("command_timeout_s", 0.0, r"GlassloomServer.command_timeout_s=0.0 should be a number of seconds, more than 0"),
        ("start_timeout_s", float("inf"), r"GlassloomServer.start_timeout_s=inf should be"),
        ("dashboards_silence_s", -1.0, r"GlassloomServer.dashboards_silence_s=-1.0 should be"),
        ("dashboards_idle_s", 0.0, r"GlassloomServer.dashboards_idle_s=0.0 should be"),
        ("dashboards_command", [], r"GlassloomServer.dashboards_command=\[\] should be a program"),
        ("dashboards_max_pages", 0, r"GlassloomServer.dashboards_max_pages=0 should be 1 or more"),
        ("recordings_dir", "a\0b", "should be the path of a folder"),
    ],
)
def test_a_setting_without_sense_is_refused_by_name(name, value, words):
    with pytest.raises(TraitError, match=words):
        GlassloomServer(**{name: value})


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ({"name": "night", "values": {"n_workers": 0}}, "n_workers"),
        ({"name": "night", "vaules": {}}, "vaules"),
        ({"values": {}}, "name"),
    ],
)
def test_a_profile_without_sense_is_left_out_with_one_line_that_says_why(profile, words, caplog):
    profiles = Profiles([profile, {"name": "day"}], specs=SimpleNamespace(), log=LOG)  # type: ignore[arg-type]
    assert list(profiles._profiles) == ["day"]
    (record,) = caplog.records
    assert words in record.getMessage() and "left out" in record.getMessage()


def test_of_two_profiles_of_one_name_the_last_holds_and_that_is_said(caplog):
    twice = [{"name": "night", "title": "first"}, {"name": "night", "title": "second"}]
    profiles = Profiles(twice, specs=SimpleNamespace(), log=LOG)  # type: ignore[arg-type]
    assert profiles._profiles["night"].title == "second"
    assert [record.getMessage() for record in caplog.records] == [
        "GlassloomServer.profiles: there are two called 'night'; the last one holds"
    ]


def test_a_machine_with_a_gpu_driver_has_a_profile_for_it_unless_the_configuration_has_one(
    monkeypatch, tmp_path, caplog
):
    driver = tmp_path / "nvidiactl"
    assert not has_gpu_driver([str(driver)])
    driver.touch()
    assert has_gpu_driver(["/nowhere", str(driver)])
    monkeypatch.setattr("glassloom_server.profiles.has_gpu_driver", lambda: True)
    profiles = Profiles([], specs=SimpleNamespace(), log=LOG)  # type: ignore[arg-type]
    assert profiles.complete(StartRequest(profile="gpu", n_workers=2)) == StartRequest(
        profile="gpu", gpu=True, n_workers=2
    )
    assert start_command(["python"], StartRequest(gpu=True))[-1] == "--gpu"
    own = Profiles([{"name": "gpu", "title": "ours"}], specs=SimpleNamespace(), log=LOG)  # type: ignore[arg-type]
    assert own._profiles["gpu"].title == "ours" and not caplog.records
