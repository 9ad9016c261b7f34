#!/usr/bin/env python3
"""Writes the program's own help texts into docs/cli.md, below the marker, so that the page cannot tell another story.

usage: scripts/update_cli_docs.py [--check] PROGRAM     --check: exit 1 when the page differs, and change nothing
"""
import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/cli.md"
MARKER = "<!-- Below: the output of --help, written by scripts/update_cli_docs.py. -->\n"


def help_of(program, *verb):
    # A bare environment: a user's own settings must not show up as defaults.
    environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
    return subprocess.run([program, *verb, "--help"], check=True, capture_output=True, text=True, env=environment).stdout


def verbs_in(text):
    section = re.search(r"^VERBS\n(.*?)\n\n", text, re.S | re.M)
    return re.findall(r"^  ([a-z]+) ", section.group(1), re.M) if section else []


def sections(program, *verb):
    text = help_of(program, *verb)
    yield f"## {' '.join(('inferens', *verb))}\n\n```\n{text.strip()}\n```\n"
    for below in verbs_in(text):
        yield from sections(program, *verb, below)


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    program = [a for a in arguments if a != "--check"][0]
    page = PAGE.read_text(encoding="utf-8")
    head, marker, _ = page.partition(MARKER)
    if not marker:
        sys.exit(f"{PAGE}: the marker line is gone: {MARKER.strip()}")
    wanted = head + MARKER + "\n" + "\n".join(sections(program))
    if page == wanted:
        return
    if check:
        sys.exit(f"{PAGE} does not say what {program} --help says; run scripts/update_cli_docs.py {program}")
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
