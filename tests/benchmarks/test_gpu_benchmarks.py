"""The benchmarks on GPUs fail where there is none, and say so; what they measure is run by nobody here."""

import inspect

import pytest

from benchmarks import gpu


def test_without_a_device_the_command_fails_and_says_why(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "print_devices", lambda: print("There is no NVIDIA GPU") or 1)
    assert gpu.main(["w1"]) == 1
    assert capsys.readouterr().out == "There is no NVIDIA GPU\n"


def test_each_case_has_glassloom_and_another(capsys):
    assert all({"glassloom", "dask_cuda"} <= set(contenders) for contenders in gpu.CASES.values())
    runs = [run for contenders in gpu.CASES.values() for run in contenders.values()]
    assert all(inspect.isfunction(getattr(run, "func", run)) for run in runs)
    with pytest.raises(SystemExit):
        gpu.main(["w9"])
    assert "no case 'w9'; there are w1, w1-std, w2" in capsys.readouterr().err
