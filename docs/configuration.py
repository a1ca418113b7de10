"""Writes docs/configuration.md: every option of glassloom.config. Run it after adding or changing one.

python docs/configuration.py
"""

from __future__ import annotations

from pathlib import Path

from glassloom import config
from glassloom.config.options import Option

PAGE = Path(__file__).parent / "configuration.md"

INTRODUCTION = """\
# Configuration

This page is generated: `python docs/configuration.py`. Options have defaults, and can be set in YAML files, in environment
variables and in Python. An argument that is given to a function always wins over the option that is its default.

```python
from glassloom import config

config.get("array.chunk-size")  # as the code uses it: sizes in bytes, times in seconds
config.set({"array.chunk-size": "64 MiB"})  # for the whole process, until config.refresh()
with config.set(array__chunk_size="64 MiB"):  # for this block: its thread, and the asyncio tasks that it starts
    ...
config.describe()  # all options, their values, and where those were set
```

```yaml
# ~/.config/glassloom/glassloom.yaml
array:
  chunk-size: 64 MiB
cluster:
  n-workers: 8
  memory-limit: 4 GB
```

```bash
export GLASSLOOM_ARRAY__CHUNK_SIZE="64 MiB"       # two underscores for the dot
```

The first of these that sets an option counts:

| | where | holds for |
|---|---|---|
| 1 | `with config.set(...)` | the block; not other threads, and not tasks, which run in other threads or processes |
| 2 | `config.set(...)` | the process, until `config.refresh()` |
| 3 | `GLASSLOOM_SECTION__NAME` in the environment | the process and those that it starts |
| 4 | `~/.config/glassloom/*.yaml` (below `XDG_CONFIG_HOME` if that is set), or the file or folder that `GLASSLOOM_CONFIG` names | the user |
| 5 | `<sys.prefix>/etc/glassloom/*.yaml` | the Python environment |
| 6 | `/etc/glassloom/*.yaml` | the machine |
| 7 | the default below | |

Environment and files are read when the first option is looked up, and again by `config.refresh()`. The processes of a cluster
get what holds where it is started. A name that is no option, or a value of the wrong type, is an error that names the file and
line, or the variable.
"""


def page() -> str:
    """Return the page."""
    sections: dict[str, list[str]] = {}
    for option in config.OPTIONS.values():
        sections.setdefault(option.name.partition(".")[0], []).append(_row(option))
    head = "| option | type | default | unit | environment variable | what it does |\n|---|---|---|---|---|---|"
    tables = [f"## {section}\n\n{head}\n" + "\n".join(rows) + "\n" for section, rows in sections.items()]
    return "\n".join([INTRODUCTION, *tables])


def _row(option: Option) -> str:
    default = "none" if option.default is None else str(option.default)
    default = default.lower() if isinstance(option.default, bool) else default
    kind = option.kind.name + (", or none" if option.is_optional else "")
    unit = option.kind.unit or " "
    return f"| `{option.name}` | {kind} | `{default}` | {unit} | `{option.variable}` | {option.text} |"


if __name__ == "__main__":
    PAGE.write_text(page())
