"""Processes that live long: programs are bounded, compilations hold nobody up, a signal is answered."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import child
import pytest
import torch

import scorch


def process(code: str, limit: int = 120, **env: str) -> str:
    """What a fresh process prints."""
    head = "import torch, scorch, threading, time, os, signal, gc\n"
    done = child.run(head + textwrap.dedent(code), {**os.environ, **env}, limit)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


EXPRESSIONS = """
    A = scorch.sparse((torch.rand(30, 30) < 0.2).float(), "csr")
    x = torch.rand(30, 3)
    def scaled(k):
        y = scorch.evaluate(f"C[i,k] = A[i,j] * x[j,k] * {k + 1}.5", A=A, x=x)
        torch.testing.assert_close(y, (k + 1.5) * (A.to_dense() @ x))
"""


def test_programs_are_bounded():
    """Hundreds of expressions in room for a dozen; what went is made again."""
    code = (
        EXPRESSIONS
        + """
    for k in (*range(300), *range(10)):
        scaled(k)
    kept = scorch.stats()["kept"]
    assert kept["limit"] == 4 << 20 and kept["bytes"] <= kept["limit"], kept
    assert kept["keys"] < 60 and kept["forgotten"] > 400, kept
    """
    )
    process(code, SCORCH_MEMORY="4", SCORCH_JIT="off")


def test_kernels_are_unloaded(tmp_path):
    code = (
        EXPRESSIONS
        + """
    loaded = lambda: int(scorch.info()["kernels loaded"])
    maps = lambda: len(open("/proc/self/maps").readlines())
    scaled(0)
    before = maps()
    for k in range(60):
        scaled(k)
    assert loaded() < 25, loaded()
    assert maps() < before + 25 * 8
    scaled(0)
    """
    )
    process(code, SCORCH_MEMORY="1", XDG_CACHE_HOME=str(tmp_path))


def test_conversions_that_are_asked_for_go_too():
    """Requests that only ask for a conversion are kept like programs, within the bound."""
    code = """
    for k in range(400):
        A = scorch.sparse(torch.rand(20 + k, 30), "csr")
        scorch.evaluate("C[j] = A[i,j] * x[i]", A=A, x=torch.ones(20 + k), schedule="convert(A: csc)")
    kept = scorch.stats()["kept"]
    assert kept["bytes"] <= 2 << 20, kept
    """
    process(code, SCORCH_MEMORY="2", SCORCH_JIT="off")


def slow_compiler(folder, seconds: float) -> str:
    script = folder / "slow-cc"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) ;; *) touch "$0.runs"; sleep {seconds};; esac\nexec cc "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


def test_compilations_go_side_by_side(tmp_path):
    """Two texts are compiled at a time, four threads that want one text wait for one compilation."""
    code = (
        EXPRESSIONS
        + """
    def all_of(*ks):
        threads = [threading.Thread(target=scaled, args=(k,)) for k in ks]
        start = time.perf_counter()
        for t in threads: t.start()
        for t in threads: t.join()
        return time.perf_counter() - start
    scaled(0)
    alone = all_of(1)
    assert all_of(2, 3, 4) < 2 * alone
    compiled = scorch.stats()["compiled"]
    all_of(5, 5, 5, 5)
    assert scorch.stats()["compiled"] == compiled + 1
    """
    )
    process(code, SCORCH_CC=slow_compiler(tmp_path, 1.5), XDG_CACHE_HOME=str(tmp_path), SCORCH_JIT="on")


def test_a_child_is_born_while_a_text_is_compiled(tmp_path):
    """It waits for nobody that it does not have, and compiles the same text itself."""
    code = (
        EXPRESSIONS
        + """
    t = threading.Thread(target=scaled, args=(1,))
    t.start()
    time.sleep(0.5)
    pid = os.fork()
    if not pid:
        scaled(2)
        scaled(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    t.join()
    scaled(1)
    """
    )
    process(code, SCORCH_CC=slow_compiler(tmp_path, 1.0), XDG_CACHE_HOME=str(tmp_path), SCORCH_JIT="on")


def test_layouts_while_another_thread_forgets_the_call():
    """Converting an operand lets other threads run the same text on other shapes, again and again."""
    text = "C[i,k] = A[i,j] * B[j,k]"
    n, stop = 400_000, []
    index = torch.randint(4000, (2, n), generator=torch.Generator().manual_seed(0))
    large = torch.sparse_coo_tensor(index, torch.ones(n), (4000, 4000), check_invariants=False)

    def others():
        while not stop:
            for k in range(3, 20):
                eye = torch.eye(k)
                a, b = scorch.sparse(eye, "coo"), scorch.sparse(eye, "csr")
                assert torch.equal(scorch.evaluate(text, A=a, B=b, format="csr").to_dense(), eye)

    import threading

    thread = threading.Thread(target=others)
    thread.start()
    try:
        b = scorch.sparse(torch.eye(4000, 7), "csr")
        wanted = scorch.sparse(large, "csr").to_dense()[:, :7]
        for _ in range(6):
            got = scorch.evaluate(text, A=scorch.sparse(large, "coo"), B=b, format="csr")
            assert torch.equal(got.to_dense(), wanted)
    finally:
        stop.append(True)
        thread.join()


def test_explain_shows_the_numbers_of_its_own_operands():
    """Two requests with one C text: what was estimated is said of each."""
    g = torch.Generator().manual_seed(0)
    few, many = (scorch.sparse((torch.rand(64, 64, generator=g) < p).float(), "csr") for p in (0.02, 0.9))
    x = torch.rand(64, 8)
    texts = [scorch.compile("ij,jk->ik", a, x) for a in (few, many)]
    assert "stores at most 2^7 values" in texts[0].explain()
    assert "stores at most 2^12 values" in texts[1].explain()


# ---- signals ----
SIGNALLED = {
    "kernel": ("A = scorch.sparse(torch.rand(1500, 1500), 'csr'); x = torch.rand(1500, 4000)", "A @ x"),
    "product of two": ("A = scorch.sparse((torch.rand(3000, 3000) < .2).float(), 'csr')", "A @ A"),
    "compiled": (
        "A = scorch.sparse(torch.rand(1500, 1500), 'csr'); x = torch.rand(1500, 4000); "
        "f = torch.compile(lambda: A @ x, backend='aot_eager'); f()",
        "f()",
    ),
    "conversion": ("A = scorch.sparse(torch.rand(3000, 3000), 'csr')", "A.convert('dcsc')"),
    "from dense": ("d = torch.rand(6000, 6000)", "scorch.sparse(d, 'csr')"),
    "kernel map": (
        "c = torch.arange(1_000_000); c = torch.stack([c % 100, c // 100, c], 1) * 20",
        "scorch.conv_map(c, 11)",
    ),
    "validation": (
        "n = 20_000_000; a = [None, torch.arange(0, n + 1, 2)], [None, torch.tensor([0, 1]).repeat(n // 2)]",
        "scorch.from_components('csr', (n // 2, 2), *a, torch.ones(n))",
    ),
}


@pytest.mark.parametrize("name", SIGNALLED)
def test_a_signal_is_answered(name):
    """The handler runs while the library works, and its exception comes out; the next call is right."""
    setup, call = SIGNALLED[name]
    code = f"""
    {setup}
    answered, sent = [], []
    def handler(*_):
        answered.append(time.perf_counter())
        raise InterruptedError
    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, handler)
    {call}
    threading.Timer(0.15, send).start()
    try:
        while True:
            {call}
    except InterruptedError:
        pass
    print(answered[0] - sent[0])
    {call}
    """
    assert float(process(code)) < 0.5  # a tenth of that on a quiet machine


def test_ctrl_c_while_a_compiler_runs(tmp_path):
    code = """
    A = scorch.sparse(torch.eye(4), "csr")
    try:
        scorch.evaluate("C[i] = A[i,j] * 3.25", A=A)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    compiler = slow_compiler(tmp_path, 20)
    env = {**os.environ, "SCORCH_CC": compiler, "XDG_CACHE_HOME": str(tmp_path)}
    # A job in the background of a shell ignores the signal from birth.
    head = "import signal, torch, scorch\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    head += "print('ready', flush=True)\n"
    p = subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code)], env=env, stdout=subprocess.PIPE, text=True
    )
    assert p.stdout.readline() == "ready\n"
    while not Path(f"{compiler}.runs").exists():
        time.sleep(0.1)
    sent = time.perf_counter()
    p.send_signal(signal.SIGINT)
    assert p.stdout.readline() == "interrupted\n"
    assert time.perf_counter() - sent < 2
    assert p.wait(30) == 0
