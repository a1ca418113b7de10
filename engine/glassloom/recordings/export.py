"""`export`: recordings in the formats of other tools."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from glassloom_metrics.call_tree import profile_of
from glassloom_metrics.outputs import output_path
from glassloom_metrics.recording import read_recording

from glassloom.errors import OptionError
from glassloom.recordings.chrome_trace import write_chrome_trace
from glassloom.recordings.flame_files import speedscope
from glassloom.recordings.parquet import write_parquet

FORMATS = {"parquet": "-parquet", "perfetto": ".trace.json", "speedscope": ".speedscope.json"}
"""What is put after the recording's name, for want of another."""


def export(
    path: str | os.PathLike[str], to: str, output: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> tuple[Path, str]:
    """Write a recording in another format, whole or not at all; return where, and how the recording is damaged.

    Parameters
    ----------
    path
        Of the recording.
    to
        ``"parquet"``: a folder of Parquet files, ``tasks.parquet`` first of all. ``"perfetto"``: a Chrome trace in JSON,
        which https://ui.perfetto.dev opens. ``"speedscope"``: the statistical profile, for https://www.speedscope.app.
    output
        The folder or file; default beside the recording.
    overwrite
        Whether what is there is replaced.

    Raises
    ------
    RecordingError, OSError
        If the file can't be read as a recording.
    FileExistsError
        If the output is there already, is the recording itself, or something that is no regular file and no folder.
    """
    if to not in FORMATS:
        raise OptionError(f"to={to!r} should be one of {', '.join(map(repr, FORMATS))}")
    recording = read_recording(path)
    source = Path(path)
    target = Path(output) if output is not None else source.with_name(source.stem + FORMATS[to])
    place = output_path(target, source=source, may_be_folder=True)
    if place.exists() and not overwrite:
        raise FileExistsError(f"can't export to {os.fspath(target)!r}: it is there already")
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as directory:
        made = Path(directory) / "made"
        if to == "parquet":
            made.mkdir()
            write_parquet(recording, made)
        elif to == "speedscope":
            made.write_bytes(speedscope(profile_of(recording), source.stem))
        else:
            write_chrome_trace(recording, made)
        if place.is_dir():
            _remove_folder(place)
        elif made.is_dir():
            place.unlink(missing_ok=True)
        made.replace(place)
    return target, recording.damage


def _remove_folder(folder: Path) -> None:
    """Remove an earlier export, and nothing else."""
    strangers = sorted(found.name for found in folder.iterdir() if found.suffix != ".parquet")
    if strangers:
        raise FileExistsError(f"{os.fspath(folder)!r} isn't replaced: it has other files too, such as {strangers[0]!r}")
    shutil.rmtree(folder)
