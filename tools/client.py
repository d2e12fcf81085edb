"""Runs commands in the folder of a client, if its toolchain is there.

    python tools/client.py go --needs go -- go test ./... -- go vet ./...

A program that is not there is told and the commands are skipped; in CI it is a failure.
"""

import argparse
import subprocess
import sys

from plugins import ROOT, missing


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("client", help="folder below clients/")
    parser.add_argument("--needs", nargs="+", required=True, help="programs of the toolchain")
    if "--" not in sys.argv:
        parser.error("no command: -- COMMAND")
    start = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:start])
    if absent := missing(*options.needs):
        print(f"skipped clients/{options.client}: {absent} is not installed")
        return 0
    commands: list[list[str]] = []
    for word in sys.argv[start:]:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    for command in commands:
        code = subprocess.run(command, cwd=ROOT / "clients" / options.client, check=False).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
