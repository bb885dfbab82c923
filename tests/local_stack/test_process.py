import os
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from local_stack.exceptions import LocalStackError
from local_stack.process import Child
from local_stack.waiting import wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A process that has a child itself, and says so once both run.
FAMILY = [
    sys.executable,
    "-c",
    "import subprocess; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()",
]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def family_of(child: Child) -> list[int]:
    """The pids of the process and of its child."""
    grandchild = wait_until(lambda: child.log.read_text().strip(), 10, "the family is complete")
    return [child.pid, int(grandchild)]


def test_stop_ends_the_process_and_all_it_started(tmp_path):
    with Child("family", FAMILY, tmp_path / "log") as child:
        family = family_of(child)
        assert all(alive(pid) for pid in family)
    assert not child.running
    assert not any(alive(pid) for pid in family)


def test_a_process_that_ignores_the_stop_signal_is_killed(tmp_path):
    stubborn = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    child = Child("stubborn", [sys.executable, "-c", stubborn], tmp_path / "log", grace_s=0.2).start()
    wait_until(lambda: "deaf" in child.log.read_text(), 10, "the signal is ignored")
    child.stop()
    assert not alive(child.pid)
    assert child.returncode == 128 + signal.SIGKILL


def test_the_stop_signal_lets_a_process_end_in_order(tmp_path):
    orderly = "import signal as s; s.signal(2, lambda *_: exit(7)); print('up', flush=True); s.pause()"
    command = [sys.executable, "-c", orderly]
    child = Child("orderly", command, tmp_path / "log", stop_signal=signal.SIGINT).start()
    wait_until(lambda: "up" in child.log.read_text(), 10, "the handler is set")
    child.stop()
    assert child.returncode == 7


def test_kill_9_of_the_starting_program_leaves_no_process(tmp_path):
    program = textwrap.dedent(
        f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {ROOT!r})
        from local_stack.process import Child
        child = Child("family", {FAMILY!r}, Path({str(tmp_path / "log")!r})).start()
        print(child.pid, flush=True)
        time.sleep(600)
        """
    )
    starter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    grandchild = wait_until(lambda: (tmp_path / "log").read_text().strip(), 10, "the family is complete")
    starter.kill()
    starter.wait()
    wait_until(lambda: not alive(pid) and not alive(int(grandchild)), 15, "the family is gone")


def test_a_folder_can_go_with_the_process(tmp_path):
    folder = tmp_path / "with" / "files"
    folder.mkdir(parents=True)
    with Child("sleeper", ["sleep", "600"], tmp_path / "log", remove_at_end=folder.parent):
        assert folder.exists()
    assert not folder.parent.exists()


def test_kill_9_of_the_guard_ends_the_process(tmp_path):
    child = Child("sleeper", ["sleep", "600"], tmp_path / "log").start()
    guard = psutil.Process(child.pid).parent()
    guard.kill()
    wait_until(lambda: not alive(child.pid), 10, "the process is gone")
    child.stop()


def test_a_process_that_ends_before_it_is_ready_is_an_error_with_its_log(tmp_path):
    failing = [sys.executable, "-c", "print('no more memory'); raise SystemExit(3)"]
    child = Child("failing", failing, tmp_path / "log").start()
    with pytest.raises(LocalStackError, match=r"(?s)ended with code 3 before it was ready.*no more memory"):
        child.wait_ready(lambda: False, 10)


def test_a_process_that_is_never_ready_is_an_error_with_its_log(tmp_path):
    with Child("family", FAMILY, tmp_path / "log") as child:
        family_of(child)
        with pytest.raises(LocalStackError, match=rf"(?s)until family is ready.*{child.log}"):
            child.wait_ready(lambda: False, 0.1)


def test_a_command_that_does_not_exist_is_an_error_with_its_reason(tmp_path):
    with pytest.raises(LocalStackError, match=r"(?s)could not be started.*No such file"):
        Child("missing", [tmp_path / "missing"], tmp_path / "log").start()


def test_kill_is_immediate_and_the_process_can_be_started_again(tmp_path):
    child = Child("sleeper", ["sleep", "600"], tmp_path / "log").start()
    first = child.pid
    child.kill()
    assert not alive(first)
    assert child.returncode == 128 + signal.SIGKILL
    with child.start():
        assert alive(child.pid)


def test_a_running_process_is_not_started_twice(tmp_path):
    sleeper = Child("sleeper", ["sleep", "600"], tmp_path / "log")
    with sleeper, pytest.raises(LocalStackError, match="runs already"):
        sleeper.start()


def test_wait_returns_the_exit_code(tmp_path):
    child = Child("short", [sys.executable, "-c", "raise SystemExit(5)"], tmp_path / "log").start()
    assert child.wait(10) == 5
