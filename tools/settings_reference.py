"""Writes the table of docs/tenant-settings.md from the settings themselves; `--check` only compares."""

import json
import re
import sys
from pathlib import Path

from muniment_server.domain.settings import registry

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tenant-settings.md"
_MARK = "<!-- made by tools/settings_reference.py; do not edit below -->"
_PER_KIND = re.compile(r"(gates\.[a-z_]+)\.(default|preference|rule|fact|summary|event|decision|turn)")


def table() -> str:
    """A section and a table for each group of settings."""
    lines: list[str] = []
    section = ""
    for name, info in registry().items():
        group = name.partition(".")[0]
        per_kind = _PER_KIND.fullmatch(name)
        if per_kind is not None and per_kind[2] != "default":
            continue
        if group != section:
            section = group
            lines += [
                "",
                f"## {group}",
                "",
                "| setting | default | allowed | meaning |",
                "| --- | --- | --- | --- |",
            ]
        shown, description = f"`{name}`", info.description
        if per_kind is not None:
            shown += f", `{name.removesuffix('default')}<kind>`"
            description += " Each kind may be an exception."
        default = json.dumps(json.loads(info.default), ensure_ascii=False)
        allowed = info.allowed.replace("|", "\\|")
        lines.append(f"| {shown} | `{default}` | {allowed} | {description} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or tell whether it is as it should be."""
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(_MARK)
    wanted = head + _MARK + "\n" + table()
    if not mark:
        print(f"{PAGE.name} has no mark")
        return 1
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != wanted:
            print("docs/tenant-settings.md is behind the settings: run tools/settings_reference.py")
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
