"""scripts/fetch_sources.sh where the sources are there already, where there is no network, and where a file is not the right one."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class FetchSourcesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clone = pathlib.Path(self.folder.name)
        (self.clone / "scripts").mkdir()
        (self.clone / "bin").mkdir()
        shutil.copy(ROOT / "scripts/fetch_sources.sh", self.clone / "scripts")
        # A pip that says how it was called, and downloads nothing.
        python = self.clone / "bin/python3"
        python.write_text('#!/bin/sh\necho "$*" >>"$CALLS"\ncase "$*" in *--version*) exit "${PIP_MISSING:-0}" ;; esac\necho "no route" >&2\nexit 1\n')
        python.chmod(0o755)
        self.calls = self.clone / "calls"

    def fetch(self, **variables):
        environment = {"PATH": f"{self.clone}/bin:/usr/bin:/bin", "CALLS": str(self.calls), **variables}
        done = subprocess.run([self.clone / "scripts/fetch_sources.sh"], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr, self.calls.read_text() if self.calls.exists() else ""

    def unpacked(self):
        return [name for name in os.listdir(self.clone / ".deps")] if (self.clone / ".deps").exists() else []

    def test_what_is_there_is_not_fetched_again(self):
        header = self.clone / ".deps/xgrammar-0.2.9/include/xgrammar/xgrammar.h"
        header.parent.mkdir(parents=True)
        header.touch()
        self.assertEqual(self.fetch(), (0, "", ""))

    def test_without_network_it_says_what_to_do_and_leaves_nothing_half_done(self):
        code, error, calls = self.fetch()
        self.assertEqual(code, 1)
        self.assertIn("no route", error)
        self.assertIn("INFERENS_XGRAMMAR_SDIST=", error)
        self.assertIn("--require-hashes", calls)
        self.assertEqual(self.unpacked(), [])

    def test_without_pip_it_says_so(self):
        code, error, _ = self.fetch(PIP_MISSING="1")
        self.assertEqual(code, 1)
        self.assertIn("python3-pip", error)

    def test_a_file_that_is_not_the_pinned_one_is_refused(self):
        wrong = self.clone / "wrong.tar.gz"
        wrong.write_bytes(b"something else")
        code, error, calls = self.fetch(INFERENS_XGRAMMAR_SDIST=str(wrong))
        self.assertEqual((code, calls), (1, ""))
        self.assertIn("is not the expected file", error)
        self.assertEqual(self.unpacked(), [])


if __name__ == "__main__":
    unittest.main()
