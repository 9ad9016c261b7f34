"""The house rules are only kept if breaking one is noticed: every rule of scripts/check_layers.py is broken here once."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(files):
    """Runs the checker over a small tree; returns (exit code, output)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"src/base/x.cc": "", "include/inferens/status.h": "// Status.\n", **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "scripts/check_layers.py", folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckLayersTest(unittest.TestCase):
    def assert_fault(self, files, expected):
        code, output = check(files)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def assert_clean(self, files):
        code, output = check(files)
        self.assertEqual(code, 0, output)

    def test_an_include_upwards_is_a_fault_and_downwards_is_not(self):
        self.assert_fault({"src/text/a.cc": '// x\n#include "model/model.h"\n'}, "src/text/a.cc:2: \"model/model.h\" is above text")
        self.assert_clean({"src/model/a.cc": '#include "text/tokenizer.h"\n#include "inferens/status.h"\n#include <vector>\n'})

    def test_a_public_header_stands_below_every_layer(self):
        self.assert_fault({"include/inferens/a.h": '// A.\n#include "base/file.h"\n'}, "above the public headers")

    def test_a_link_upwards_is_a_fault(self):
        self.assert_fault({"src/base/CMakeLists.txt": "inferens_layer(base inferens_cli)\n"}, "inferens_cli is above base")

    def test_relative_includes_and_unknown_folders_are_faults(self):
        self.assert_fault({"src/base/a.cc": '#include "../text/a.h"\n'}, "layer/file.h")
        self.assert_fault({"src/base/a.cc": '#include "a.h"\n'}, "layer/file.h")
        self.assert_fault({"src/util/a.cc": ""}, "unknown layer")

    def test_intrinsics_stay_in_their_folder(self):
        for code in ("void f() { _mm256_add_ps(a, b); }", "__m512i x;", "#include <immintrin.h>", "float32x4_t v = vld1q_f32(p);"):
            self.assert_fault({"src/kernels/a.cc": code + "\n"}, "intrinsics")
            self.assert_clean({"src/kernels/avx2/a.cc": code + "\n"})

    def test_what_is_forbidden_everywhere_is_found(self):
        for code in ("std::regex r(x);", "#include <regex>", 'auto v = std::getenv("A");', "int i = std::stoi(s);", "double d = strtod(p, &e);",
                     "#define X 1", "auto* p = new int(3);", "auto* p = new Thing;", "delete p;", "delete[] p;", "void* p = malloc(3);"):
            self.assert_fault({"src/engine/a.cc": "\n" + code + "\n"}, "src/engine/a.cc:2:")

    def test_what_only_looks_forbidden_is_not(self):
        self.assert_clean({"src/engine/a.cc": "// a new idea: delete it, std::regex, getenv(\nA(const A&) = delete;\nauto s = \"new int; getenv(\";\n"
                           "auto raw = R\"x(delete p; std::regex)x\";\nint big = 1'000'000; int renew = 1; char c = '\"'; /* malloc( */\n"
                           "auto v = std::unique_ptr<Thing>(new Thing()); std::shared_ptr<Thing> w(new Thing);\n"
                           "#define HWY_TARGET_INCLUDE \"kernels/x.cc\"\n"})
        self.assert_clean({"src/base/environment.cc": 'auto v = std::getenv("A");\n'})

    def test_a_header_says_what_it_is_for(self):
        self.assert_fault({"src/base/a.h": "#pragma once\n"}, "opens with")
        self.assert_clean({"src/base/a.h": "// A.\ninline void f() {\n  using namespace flags;\n}\n"})
        self.assert_fault({"src/base/a.h": "// A.\nusing namespace std;\n"}, "using namespace")

    def test_paths_outside_the_repository_are_found_in_every_text(self):
        for text in ("see /work/main/x", 'path = "../shared/design.md"', "read shared/facts/a.md"):
            self.assert_fault({"docs/a.md": text + "\n"}, "docs/a.md:1:")
        self.assert_clean({"docs/a.md": "network/work/x is-shared/y build/shared/lib std::shared_ptr shared by all\n"})

    def test_a_long_file_is_told_and_is_no_fault(self):
        code, output = check({"src/base/a.cc": "int x;\n" * 401})
        self.assertEqual(code, 0, output)
        self.assertIn("src/base/a.cc has 401 lines", output)


if __name__ == "__main__":
    unittest.main()
