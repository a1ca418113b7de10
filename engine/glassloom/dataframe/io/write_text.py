"""Writing text: CSV and JSON files, one a partition or a single one, put in place when all are complete."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.io.compression import can_be_joined, chosen_compression, compressed, ending_of, method_of
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.staging import Publish, Staging, Write, Written, write_partitions
from glassloom.dataframe.io.targets import NameFunction, Place, listed_paths, require_known
from glassloom.dataframe.io.unlike_texts import Rewriting, places_of_unlike_texts, rewritten, write_and_keep
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import checked_compute_kwargs, refused
from glassloom.dataframe.wrap import require_lazy
from glassloom.errors import OptionError


@with_function_arguments(pd.DataFrame.to_csv)
def to_csv(
    frame: Any,
    path: PathLike | Sequence[PathLike],
    *,
    single_file: bool = False,
    name_function: NameFunction | None = None,
    header: bool | Sequence[str] = True,
    mode: str = "w",
    encoding: str | None = "utf-8",
    compression: Any = "infer",
    overwrite: bool = False,
    header_first_partition_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    compute_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one CSV file a partition, or into a single file, and wait for it.

    The files are put in place when all are complete: a write that fails leaves what was there before.

    Parameters
    ----------
    frame
        A lazy frame or series.
    path
        The folder, made if it doesn't exist; a name with ``*`` in it, which stands for the number of the partition; a list of a
        path for each partition; or the file, if `single_file`.
    single_file
        Whether to write one file. Partitions are written side by side and joined at the end.
    name_function
        Returns what ``*`` stands for, or the name of the file of a partition, by its number.
    header
        Whether to write the columns' names first; or other names.
    mode
        ``"w"``; with `single_file` also ``"x"``: the file must not exist, and ``"a"``: rows are added to those it has, with
        the columns' names unless ``header=False``, as in pandas. Nobody else may write to it meanwhile.
    encoding, compression
        As in `pandas.DataFrame.to_csv`: ``"infer"`` goes by the end of `path`. The files of a folder are named by their
        compression, such as ``part-0000.csv.gz``.
    overwrite
        Whether to replace the CSV files that are there: in the folder and those in it, or those that the name with ``*`` fits.
    header_first_partition_only
        Whether only the first file has the names. Default: if `single_file`.
    storage_options, filesystem
        As in `read_parquet`.
    compute
        With False a lazy number of rows is returned; files are written when it is computed.
    compute_kwargs
        Arguments of `compute`, such as ``{"scheduler": "synchronous"}``.
    options
        Further options of `pandas.DataFrame.to_csv`: ``index``, ``sep``...

    Returns
    -------
    list of str
        The paths of the files, in the order of the partitions.

    Raises
    ------
    FileExistsError
        If there are CSV files already and `overwrite` is False; if the file exists and `mode` is ``"x"``.
    """
    _require_mode("to_csv", mode, ("w", "wt", "x", "xt", *(("a", "at") if single_file else ())))
    require_lazy("to_csv", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_csv", compute, compute_kwargs)
    require_known(options, pd.DataFrame.to_csv, "to_csv", ("path_or_buf", "storage_options"))
    listed, text = listed_paths("to_csv", path, frame.npartitions, name_function)
    if listed and single_file:
        raise OptionError(f"to_csv: single_file=True takes one path, got {len(listed)}")
    how = chosen_compression(text, compression)
    if mode.startswith("a") and not can_be_joined(how):
        raise refused(
            "to_csv", "mode", mode, f"nothing can be added to a file that is compressed by {method_of(how)!r}"
        )
    first_only = single_file if header_first_partition_only is None else header_first_partition_only
    settings = {
        "header": header,
        "first_only": first_only,
        "encoding": encoding or "utf-8",
        "compression": how,
        "options": options,
    }
    _require_writable(_csv_bytes, frame, settings)
    place = Place(
        text,
        ".csv",
        ending_of(how),
        {"filesystem": filesystem, "storage_options": storage_options},
        single_file=single_file,
        name_function=name_function,
        overwrite=overwrite,
        exclusive=mode.startswith("x"),
        adds=mode.startswith("a"),
        listed=listed,
    )
    settings |= {"joins": single_file, "is_added": place.adds}
    forms = {"with_times": options.get("date_format") is None, "with_index": options.get("index", True) is not False}
    return _write_texts(frame, place, _write_csv, settings, forms, compute, compute_kwargs)


@with_function_arguments(pd.DataFrame.to_json)
def to_json(
    frame: Any,
    path: PathLike | Sequence[PathLike],
    *,
    orient: str = "records",
    lines: bool | None = None,
    name_function: NameFunction | None = None,
    mode: str = "w",
    encoding: str | None = "utf-8",
    compression: Any = "infer",
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    compute: bool = True,
    compute_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Write a frame into a folder, one JSON file a partition, and wait for it. Parameters as in `to_csv`.

    Parameters
    ----------
    orient, lines
        As in `pandas.DataFrame.to_json`. Default: a record a line.
    mode
        Only ``"w"``.
    """
    _require_mode("to_json", mode, ("w",))
    require_lazy("to_json", frame, pandas=False)
    compute_kwargs = checked_compute_kwargs("to_json", compute, compute_kwargs)
    by_line = orient == "records" if lines is None else lines
    if by_line and orient != "records":
        raise OptionError(f"lines=True needs orient='records', got orient={orient!r}")
    require_known(options, pd.DataFrame.to_json, "to_json", ("path_or_buf", "storage_options"))
    listed, text = listed_paths("to_json", path, frame.npartitions, name_function)
    compression = chosen_compression(text, compression)
    how = {"orient": orient, "lines": by_line, **options}
    settings = {"encoding": encoding or "utf-8", "compression": compression, "options": how}
    _require_writable(_json_bytes, frame, settings)
    where = {"filesystem": filesystem, "storage_options": storage_options}
    place = Place(
        text, ".json", ending_of(compression), where, name_function=name_function, overwrite=overwrite, listed=listed
    )
    return _write_texts(frame, place, _write_json, settings, {"with_categories": True}, compute, compute_kwargs)


def _require_mode(method: str, mode: str, known: tuple[str, ...]) -> None:
    """Check how files are opened.

    Raises
    ------
    NotImplementedError
        If lines should be added to files that are there.
    OptionError
        If it is no mode.
    """
    if mode in ("a", "at") and mode not in known:
        one = "give single_file=True to add rows to one file, or " if method == "to_csv" else ""
        raise NotImplementedError(
            f"{method}(mode={mode!r}): nothing is added to several files, which are replaced as a whole; {one}write new ones, with "
            "name_function= or into another folder, and read all of them together"
        )
    if mode not in known:
        raise OptionError(f"{method}: mode={mode!r} should be {' or '.join(map(repr, known))}")


def _write_texts(
    frame: Any,
    place: Place,
    write: Callable[..., Written],
    settings: dict[str, Any],
    forms: dict[str, bool],
    compute: bool,
    compute_kwargs: dict[str, Any],
) -> Any:
    """Write partitions; `forms` are the options of `places_of_unlike_texts`."""
    names = place.names(frame.npartitions)
    options = {**settings, "first": names[0]}
    publish = Publish(place.staging, place.old)
    if place.single_file:
        publish.into_one = place.pattern
        publish.keeps_old = place.adds
        mark = "".encode(settings["encoding"])
        if place.adds and mark:  # by then the file may be there, also if it isn't yet
            publish.mark = compressed(mark, settings["compression"], place.pattern)
        if not can_be_joined(settings["compression"]):
            publish.compression = settings["compression"]
            options["compression"] = None
    places = places_of_unlike_texts(frame.expr, **forms) if frame.expr.has_rows else ()
    if not places:
        made = write_partitions(frame, write, names, options, publish, compute=compute, compute_kwargs=compute_kwargs)
        return place.paths(names) if compute else made
    kept = {"write": write, "places": places, "options": options}

    def again(node: Write, staging: Staging) -> FrameExpr:
        return rewritten(node, Rewriting(write, places, staging, options))

    made = write_partitions(
        frame, write_and_keep, names, kept, publish, compute=compute, compute_kwargs=compute_kwargs, again=again
    )
    return place.paths(names) if compute else made


def _require_writable(to_bytes: Callable[..., bytes], frame: Any, settings: dict[str, Any]) -> None:
    """Write a frame without rows into memory: what options or a missing library make impossible is an error before files are."""
    meta = frame.expr.meta
    if isinstance(meta, (pd.DataFrame, pd.Series)):
        options = {name: settings[name] for name in ("encoding", "options", "header") if name in settings}
        compressed(to_bytes(meta, **options), settings["compression"], "part")


# What tasks do.


def _write_csv(
    block: Any,
    name: str,
    *,
    staging: Staging,
    first: str,
    header: Any,
    first_only: bool,
    joins: bool,
    is_added: bool,
    encoding: str,
    compression: Any,
    options: dict[str, Any],
) -> Written:
    is_first = name == first
    shown = header if is_first or not first_only else False
    is_continued = joins and (is_added or not is_first)
    data = _csv_bytes(block, shown, encoding, options, is_continued=is_continued)
    return _write_bytes(data, name, staging, compression, len(block))


def _write_json(
    block: Any, name: str, *, staging: Staging, first: str, encoding: str, compression: Any, options: dict[str, Any]
) -> Written:
    return _write_bytes(_json_bytes(block, encoding, options), name, staging, compression, len(block))


def _csv_bytes(block: Any, header: Any, encoding: str, options: dict[str, Any], *, is_continued: bool = False) -> bytes:
    """Return the text of a block, which may continue one in the same file: only the first text of a file begins with a mark of its encoding."""
    text: str = block.to_csv(None, header=header, **options)
    encoder = codecs.getincrementalencoder(encoding)(options.get("errors", "strict"))
    if is_continued:
        encoder.encode("a")
    return encoder.encode(text, final=True)


def _json_bytes(block: Any, encoding: str, options: dict[str, Any]) -> bytes:
    text: str = block.to_json(None, **options)
    return text.encode(encoding)


def _write_bytes(data: bytes, name: str, staging: Staging, compression: Any, n_rows: int) -> Written:
    with staging.open(name) as sink:
        sink.write(compressed(data, compression, name))
    return Written(n_rows, (name,))
