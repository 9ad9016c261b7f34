"""scripts/setup.sh on machines that a test can pretend: nothing missing, something missing, no root, no network, no Debian."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts/setup.sh"

# A dpkg-query that has every package but those named in $LACKS, and an apt-get that writes down how it was called.
DPKG_QUERY = """#!/bin/bash
shift 3
code=0
for p in "$@"; do case " $LACKS " in
  *" $p "*) code=1 ;;
  *" removed:$p "*) echo "config-files $p" ;;
  *) echo "installed $p" ;;
esac; done
exit $code
"""
APT_GET = """#!/bin/bash
echo "$DEBIAN_FRONTEND $*" >>"$CALLS"
case "$*" in *install*) echo "E: no such thing" >&2; exit "${INSTALL_EXIT:-0}" ;; *update*) exit "${UPDATE_EXIT:-0}" ;; esac
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bin = pathlib.Path(self.folder.name) / "bin"
        self.bin.mkdir()
        self.calls = pathlib.Path(self.folder.name) / "calls"
        for tool in ("bash", "env", "grep", "mktemp", "rm", "tail"):
            (self.bin / tool).symlink_to(next(f"{d}/{tool}" for d in ("/usr/bin", "/bin") if os.path.exists(f"{d}/{tool}")))
        self.put("dpkg-query", DPKG_QUERY)
        self.put("apt-get", APT_GET)
        self.put("id", "#!/bin/bash\necho 0\n")

    def put(self, name, text):
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def run_setup(self, *args, lacks="", **variables):
        environment = {"PATH": str(self.bin), "LACKS": lacks, "CALLS": str(self.calls), "TMPDIR": self.folder.name, **variables}
        done = subprocess.run([self.bin / "bash", SETUP, *args], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr, self.calls.read_text().splitlines() if self.calls.exists() else []

    def test_when_all_is_there_apt_is_never_called(self):
        for group in ([], ["build"], ["test"], ["dev"]):
            self.assertEqual(self.run_setup(*group), (0, "", []))

    def test_only_what_is_missing_is_installed_and_nothing_is_removed(self):
        code, error, calls = self.run_setup("test", lacks="libspdlog-dev removed:clang-19")
        self.assertEqual(code, 0, error)
        self.assertEqual(len(calls), 2)
        self.assertIn("update", calls[0])
        self.assertTrue(calls[1].startswith("noninteractive "), calls[1])
        self.assertIn("--no-remove", calls[1])
        self.assertTrue(calls[1].endswith("--no-remove libspdlog-dev clang-19"), calls[1])

    def test_groups_hold_the_ones_before_them(self):
        self.assertEqual(self.run_setup("build", lacks="libgtest-dev clang-tidy-19")[2], [])
        self.assertNotIn("clang-tidy-19", self.run_setup("test", lacks="libgtest-dev clang-tidy-19")[2][1])
        self.assertTrue(self.run_setup("dev", lacks="libgtest-dev clang-tidy-19")[2][-1].endswith(" libgtest-dev clang-tidy-19"))

    def test_a_broken_foreign_source_does_not_stop_the_installation(self):
        code, error, calls = self.run_setup(lacks="cmake", UPDATE_EXIT="100")
        self.assertEqual((code, len(calls)), (0, 2), error)

    def test_a_failed_installation_says_what_and_fails(self):
        code, error, _ = self.run_setup(lacks="cmake", INSTALL_EXIT="100")
        self.assertEqual(code, 1)
        self.assertIn("could not install: cmake", error)
        self.assertIn("E: no such thing", error)

    def test_without_root_and_sudo_the_missing_packages_are_named(self):
        self.put("id", "#!/bin/bash\necho 1000\n")
        code, error, calls = self.run_setup(lacks="cmake ninja-build")
        self.assertEqual((code, calls), (1, []))
        self.assertIn("needs root or sudo: cmake ninja-build", error)
        self.assertEqual(self.run_setup()[0], 0, "nothing missing needs no root")

    def test_without_root_sudo_is_used(self):
        self.put("id", "#!/bin/bash\necho 1000\n")
        self.put("sudo", '#!/bin/bash\necho "sudo" >>"$CALLS"\nexec "$@"\n')
        code, error, calls = self.run_setup(lacks="cmake")
        self.assertEqual(code, 0, error)
        self.assertEqual([c for c in calls if c == "sudo"], ["sudo", "sudo"])

    def test_another_system_is_told_the_names_and_goes_on(self):
        (self.bin / "apt-get").unlink()
        code, error, _ = self.run_setup()
        self.assertEqual(code, 0)
        self.assertIn("cmake", error)

    def test_a_wrong_group_is_refused(self):
        code, error, _ = self.run_setup("tests")
        self.assertEqual(code, 1)
        self.assertIn("'tests'", error)


if __name__ == "__main__":
    unittest.main()
