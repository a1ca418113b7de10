"""What the cluster's log is told of results that move."""

from glassloom.worker.spill_log import SpillLog
from glassloom_metrics.protocol import Action


def test_what_moves_within_a_second_of_the_last_line_is_added_up():
    lines, now = [], [10.0]
    log = SpillLog(lines.append, clock=lambda: now[0])
    log.note(Action.DEVICE_TO_HOST, 2048, 0.25)
    assert lines == ["results moved, device to host: 1 x, 2.00 KiB in 0.25 s"]
    for action in (Action.SPILL_WRITE, Action.DEVICE_TO_HOST, Action.DEVICE_TO_HOST, Action.TRANSFER):
        log.note(action, 1024, 0.5)
    assert len(lines) == 1
    log.flush_due()
    assert len(lines) == 1
    now[0] = 11.5
    log.flush_due()
    log.flush_due()
    assert lines[1:] == ["results moved, device to host: 2 x, 2.00 KiB in 1 s; host to disk: 1 x, 1.00 KiB in 0.5 s"]
