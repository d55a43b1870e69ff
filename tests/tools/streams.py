"""Pipes in and out, and the progress line on a terminal."""
import os
import pty
import subprocess
import threading
import time

import harness
import numpy as np


def pipe_in(tool):
    x = np.linspace(1, 2, 100003)
    result = tool.run("apply", "negative", "/dev/stdin", "-o", "y.npy", binary=True, stdin=None, input=harness.saved(x))
    tool.check(result.returncode == 0, result.stderr)
    tool.check(tool.read("y.npy") == harness.saved(-x), "from a pipe: the file differs")
    tool.clear()
    result = tool.run("apply", "negative", "/dev/stdin", "-o", "y.npy", binary=True, stdin=None, input=harness.saved(x)[:-5])
    tool.check(result.returncode == 1 and b"/dev/stdin: the data is truncated" in result.stderr, result.stderr)
    tool.check(not os.listdir(tool.folder), "from a short pipe: something is left")


def pipe_out(tool):
    x = np.linspace(1, 2, 100003)
    tool.write("x.npy", x)
    result = tool.run("apply", "negative", "x.npy", "-o", "/dev/stdout", binary=True)
    tool.check(result.returncode == 0 and result.stdout == harness.saved(-x), "to a pipe: the bytes differ")
    with open(tool.path("y.npy"), "wb") as stream:
        subprocess.run([tool.program, "apply", "negative", "x.npy", "-o", "/dev/stdout"], cwd=tool.folder, stdout=stream)
    tool.check(tool.read("y.npy") == harness.saved(-x), "to a redirected file: the bytes differ")


def closed_streams(tool):
    """No file of the command's own may be taken for a standard stream that was closed."""
    tool.write("x.npy", np.linspace(1, 2, 1000))
    for closed in ([2], [0, 2], [0, 1, 2]):
        result = tool.run("apply", "negative", "x.npy", "-o", "/dev/stderr", preexec_fn=lambda: [os.close(fd) for fd in closed])
        tool.check(result.returncode == 1, f"{closed} closed, to /dev/stderr: {result.returncode}")
        result = tool.run("apply", "negative", "x.npy", "-o", "y.npy", preexec_fn=lambda: [os.close(fd) for fd in closed])
        tool.check(result.returncode == 0, f"{closed} closed, to a file: {result.returncode}")
        tool.check(tool.read("y.npy") == harness.saved(-np.linspace(1, 2, 1000)), f"{closed} closed: the file differs")
    tool.clear()


def drip(path, content, pieces, seconds):
    with open(path, "wb") as stream:
        for i in range(pieces):
            stream.write(content[i * len(content) // pieces : (i + 1) * len(content) // pieces])
            stream.flush()
            time.sleep(seconds / pieces)


def read_all(fd):
    text = b""
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:  # the other side has closed
            return text
        if not piece:
            return text
        text += piece


def on_terminal(tool, source, content, seconds):
    """What the command writes to a terminal while a pipe feeds it in so many seconds."""
    os.mkfifo(tool.path(source))
    ours, theirs = pty.openpty()
    feeder = threading.Thread(target=drip, args=(tool.path(source), content, 4, seconds))
    feeder.start()
    process = subprocess.Popen([tool.program, "apply", "negative", source, "-o", "y.npy"], cwd=tool.folder, stderr=theirs)
    os.close(theirs)
    text = read_all(ours)
    os.close(ours)
    tool.check(process.wait() == 0, f"on a terminal: {text!r}")
    feeder.join()
    return text


def has_terminals():
    """A chroot without devpts has none."""
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as error:
        print("the progress line is not checked, for there are no terminals:", error)
        return False
    return True


def progress(tool):
    content = harness.saved(np.ones(8 << 20))
    text = on_terminal(tool, "slow.npy", content, 2.5)
    tool.check(b"\rreading slow.npy" in text and b" %" in text, f"no progress line: {text!r}")
    tool.check(text.endswith(b"\r\033[K"), f"the line is not erased: {text!r}")
    text = on_terminal(tool, "quick.npy", harness.saved(np.ones(1000)), 0)
    tool.check(text == b"", f"a progress line for short work: {text!r}")


def check(tool):
    pipe_in(tool)
    pipe_out(tool)
    tool.clear()
    closed_streams(tool)
    if has_terminals():
        progress(tool)


harness.main(check)
