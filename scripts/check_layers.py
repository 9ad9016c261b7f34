#!/usr/bin/env python3
"""Checks the house rules that no compiler checks: which layer may include which, and what may be written where.

usage: scripts/check_layers.py [ROOT]     prints one line per fault and exits 1 when there is one

It reads the text, so it needs no build. Long files are reported without being faults: tables may be long.
"""
import os
import pathlib
import re
import sys

# From the ground up; a layer includes itself and those before it.
LAYERS = ["base", "formats", "text", "kernels", "model", "engine", "store", "serve", "bench", "cli"]
LONG_FILE = 400  # lines
QUOTED_FOREIGN = {"hwy"}  # Highway includes itself in quotes; its foreach_target.h cannot be found otherwise

INCLUDE = re.compile(r'^[ \t]*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LINKED_LAYER = re.compile(r"\binferens_(" + "|".join(LAYERS) + r")\b")
# Text of one machine or of the place where this was written: a clone has none of it. Only where a path can start.
FOREIGN_PATH = re.compile(r"""(?:^|[\s"'(`=:])(?:/work/|(?:\.\./)+shared/|shared/)""", re.M)

# What, where it is allowed (a test on the path below src/), why.
def in_isa_folder(path):
    return len(path.parts) > 2 and path.parts[0] == "kernels"


def never(_path):
    return False


CODE_RULES = [
    (re.compile(r"\b_mm\d*_\w+\s*\(|\b__m(?:64|128|256|512)\w*\b|\bv(?:ld|st)\d\w*_[suf]\d+\s*\(|\b_tile_\w+\s*\("),
     in_isa_folder, "intrinsics live in src/kernels/<instruction set>/ only"),
    (re.compile(r"\bstd::w?regex\w*|#\s*include\s*<regex>"),
     never, "std::regex recurses on its input and is slow; write the matcher by hand"),
    (re.compile(r"\b(?:secure_)?getenv\s*\(|\b(?:set|put)env\s*\("),
     lambda path: path == pathlib.PurePath("base/environment.cc"), "base/environment.cc is the one reader of the environment"),
    (re.compile(r"\bstd::sto(?:i|l|ll|ul|ull|f|d|ld)\b|\b(?:ato[fil]|atoll|strto(?:d|f|ld|l|ll|ul|ull))\s*\(|\bsscanf\s*\("),
     never, "parse numbers with std::from_chars: these depend on the locale or hide errors"),
    (re.compile(r"^[ \t]*#\s*define\s+(?!HWY_)\w+", re.M), in_isa_folder, "no macros outside src/kernels/<instruction set>/"),
    (re.compile(r"(?<![\w.:])(?:new\s+[A-Za-z_:]|delete\s*\[?\]?\s*[A-Za-z_(*])|\b(?:malloc|calloc|realloc)\s*\("),
     lambda path: path == pathlib.PurePath("base/work_budget.cc"), "own memory through containers and smart pointers"),
]
HEADER_RULES = [(re.compile(r"^using\s+namespace\b", re.M), "no `using namespace` in headers")]
# The one `new` that is right: handing an object with a private constructor to its smart pointer in the same expression.
OWNED_AT_ONCE = re.compile(r"(_ptr<[^;{}()]*>\s*\w*\s*[({]\s*)new\b")
INTRINSIC_HEADER = re.compile(r"(?:\w*intrin|arm_neon|arm_sve)\.h$")


def without_comments_and_strings(text):
    """Blanks comments and literals, keeping line numbers and #include lines."""
    token = re.compile(
        r'(?P<include>^[ \t]*#[ \t]*include[^\n]*)'
        r'|//[^\n]*|/\*.*?\*/'
        r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S | re.M)

    def blank(match):
        if match.group("include"):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    return token.sub(blank, text)


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = []
        self.long_files = []

    def fault(self, path, text, offset, message):
        line = text.count("\n", 0, offset) + 1
        self.faults.append(f"{path.relative_to(self.root)}:{line}: {message}")

    def check_includes(self, path, text, layer):
        """`layer` is None for the public headers, which stand below every layer."""
        allowed = LAYERS[: LAYERS.index(layer) + 1] if layer else []
        below_src = path.relative_to(self.root / "src") if layer else path
        for match in INCLUDE.finditer(text):
            quote, target = match.groups()
            first = target.split("/")[0]
            if quote == "<":
                if INTRINSIC_HEADER.search(target) and not (layer and in_isa_folder(below_src)):
                    self.fault(path, text, match.start(), f"<{target}>: intrinsics live in src/kernels/<instruction set>/ only")
            elif first == "inferens" or first in allowed or first in QUOTED_FOREIGN:
                continue
            elif first in LAYERS:
                self.fault(path, text, match.start(), f'"{target}" is above {layer or "the public headers"}: '
                           f"a layer includes only itself and those before it in {' '.join(LAYERS)}")
            else:
                self.fault(path, text, match.start(), f'"{target}": write "layer/file.h" from src/, or <…> for a foreign header')

    def check_code(self, path, layer):
        text = path.read_text(encoding="utf-8")
        code = without_comments_and_strings(text)
        self.check_includes(path, code, layer)
        code = OWNED_AT_ONCE.sub(r"\1   ", code)
        below_src = path.relative_to(self.root / ("src" if layer else "."))
        for pattern, allowed, why in CODE_RULES:
            if not allowed(below_src):
                for match in pattern.finditer(code):
                    self.fault(path, code, match.start(), f"{match.group(0).strip()}: {why}")
        if path.suffix == ".h":
            for pattern, why in HEADER_RULES:
                for match in pattern.finditer(code):
                    self.fault(path, code, match.start(), why)
            if not text.startswith("//"):
                self.fault(path, text, 0, "a header opens with two or three lines that say what it is for")
        lines = text.count("\n")
        if lines > LONG_FILE:
            self.long_files.append((lines, path.relative_to(self.root)))

    def check_links(self, path, layer):
        text = path.read_text(encoding="utf-8")
        for match in LINKED_LAYER.finditer(text):
            if LAYERS.index(match.group(1)) > LAYERS.index(layer):
                self.fault(path, text, match.start(), f"{match.group(0)} is above {layer}")

    def check_foreign_paths(self, path):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return
        for match in FOREIGN_PATH.finditer(text):
            self.fault(path, text, match.end() - 1, f"{match.group(0).strip()}… is a path outside the repository")

    def run(self):
        for layer in sorted((self.root / "src").iterdir()):
            if not layer.is_dir():
                continue
            if layer.name not in LAYERS:
                self.faults.append(f"src/{layer.name}: unknown layer; the layers are {' '.join(LAYERS)}")
                continue
            for path in sorted(layer.rglob("*")):
                if path.suffix in (".h", ".cc"):
                    self.check_code(path, layer.name)
                elif path.name == "CMakeLists.txt":
                    self.check_links(path, layer.name)
        for path in sorted((self.root / "include").rglob("*.h")):
            self.check_code(path, None)
        for path in tracked_texts(self.root):
            self.check_foreign_paths(path)
        return self


def tracked_texts(root):
    """Everything that is ours to read: not builds, not test data, not this file and its test, which name what they forbid."""
    skip_folders = {".git", ".deps", "build", "golden", "corpus", "node_modules", "__pycache__"}
    skip_files = {"check_layers.py", "check_layers_test.py"}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skip_folders and not f.startswith(".venv"))
        for name in sorted(files):
            if name not in skip_files:
                yield pathlib.Path(folder) / name


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    checker = Checker(root).run()
    for lines, path in sorted(checker.long_files, reverse=True):
        print(f"note: {path} has {lines} lines; around {LONG_FILE} is a sign to split")
    for fault in checker.faults:
        print(fault)
    print(f"layers: {len(checker.faults)} faults")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
