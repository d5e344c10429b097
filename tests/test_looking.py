"""What people look at: profiles of what ran, pictures of tensors, explanations that are drawn."""

import base64
import pickle
import subprocess
import sys
import threading
import zlib

import pytest
import torch

import scorch
from scorch.tools.pictures import png, raster


@pytest.fixture
def A(rng):
    dense = rng.random((40, 30)) * (rng.random((40, 30)) < 0.2)
    return scorch.sparse(torch.tensor(dense, dtype=torch.float32), format="csr")


def ran(profile, expression):
    found = [x for x in profile.programs if x.expression == expression]
    assert len(found) == 1, [x.expression for x in profile.programs]
    return found[0]


# ---- profiles ----
def test_calls_are_counted_whichever_way_they_come(A):
    x, text = torch.rand(30, 4), "C[i,k] = relu(A[i,j] * x[j,k])"
    A @ x, scorch.evaluate(text, A=A, x=x), scorch.einsum("ij,jk->ki", A, x)  # now all are known
    kernel = scorch.compile("ij,j->i", A, x[:, 0])
    with scorch.profile() as p:
        for _ in range(3):
            A @ x  # the short entry
            scorch.evaluate(text, A=A, x=x)  # found in C
        scorch.einsum("ij,jk->ki", A, x)
        kernel(A, x[:, 0])
    assert [ran(p, e).calls for e in ("ij,jk->ik", text, "ij,jk->ki", "ij,j->i")] == [3, 3, 1, 1]
    one = ran(p, "ij,jk->ik")
    assert one.operands == "csr 40x30 f32, dense 30x4 f32" and one.results == "dense 40x4 f32"
    assert one.way in ("bundle", "jit", "executor") and one.entries == 160
    assert one.bytes == 3 * (A.nbytes + 4 * (30 * 4 + 40 * 4))
    assert 0 < one.seconds < p.seconds and p.made == 0 and p.lost == 0
    assert p.programs == sorted(p.programs, key=lambda x: -x.seconds)


def test_what_torch_calls_is_counted(A):
    x = torch.rand(30, 4, requires_grad=True)
    with scorch.profile() as p:
        (A @ x).sum().backward()  # the gradient is taken by a thread of autograd's
        torch.func.vmap(lambda v: A @ v)(torch.rand(3, 30))  # by way of the operator
    assert sum(x.calls for x in p.programs) >= 3 and any("40x4" in x.operands for x in p.programs)


def test_steps_conversions_and_attention_are_listed(A):
    S, x = A @ A.T, torch.rand(40, 8)
    q = torch.rand(3, 1, 2, 40, 8)
    with scorch.profile() as p:
        scorch.einsum("ij,jk,kf->if", S, S, x)
        A.convert("coo")
        scorch.attention(*q, S)
    chain = ran(p, "ij,jk,kf->if")
    assert chain.way == "steps" and len(chain.inside) == 2
    assert sum(step.seconds for step in chain.inside) <= chain.seconds
    assert ran(p, "convert").formats == "csr 40x30 f32 -> coo 40x30 f32"
    assert ran(p, "attention").operands == "1x2x40x8 f32, mask of 40x40"
    table = str(p)
    assert "\n" in table and "  " + chain.inside[0].expression in table
    assert "attention" in p._repr_html_() and "<table>" in p._repr_html_()


def test_samples_and_parts_are_listed(A):
    graph, nodes = scorch.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]])), torch.tensor([2, 0])
    with scorch.profile() as p:
        for _ in range(2):
            layers = scorch.sample_neighbors(graph, nodes, [2, 2])
        part = A.submatrix(nodes, torch.arange(7))
        scorch.topk(torch.rand(6, 9), 2)
        with pytest.raises(ValueError):
            scorch.sample_neighbors(graph, torch.tensor([0, 0]), [2])
    drawn, taken = ran(p, "sample_neighbors"), ran(p, "submatrix")
    assert (drawn.calls, drawn.operands, drawn.way) == (2, "csr 3x3", "library")
    assert drawn.bytes == 2 * 16 * sum(layer.matrix.nnz for layer in layers)
    assert taken.calls == 1 and taken.operands == "csr 40x30 f32" and taken.bytes == 16 * part.nnz + 8 * 2
    most = ran(p, "topk")
    assert (most.operands, most.way, most.bytes) == ("dense 6x9 f32", "library", 6 * (9 * 4 + 2 * 8))


def test_profiles_lie_inside_one_another_and_see_nothing_else(A):
    x = torch.rand(30, 4)
    with scorch.profile() as outer:
        A @ x
        with scorch.profile() as inner:
            A @ x
        A @ x
    A @ x
    with scorch.profile() as after:
        pass
    assert [ran(p, "ij,jk->ik").calls for p in (outer, inner)] == [3, 1]
    assert not after.programs and str(after).startswith("0 calls")
    assert scorch._C.watched() == "0\n"  # nothing is kept when nobody looks
    with pytest.raises(RuntimeError, match="running already"), outer, outer:
        pass


def test_threads_are_counted(A):
    x = torch.rand(30, 4)
    A @ x

    def work():
        for _ in range(200):
            A @ x

    threads = [threading.Thread(target=work) for _ in range(4)]
    with scorch.profile() as p:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert ran(p, "ij,jk->ik").calls == 800


def test_what_has_no_room_is_said():
    with scorch.profile() as p:
        for n in range(1, 1101):
            scorch.sparse(torch.ones(1, n), format="csr")
    assert len(p.programs) == 1024 and p.lost == 76 and "76 calls of others" in str(p)


def test_tables_are_sorted(A):
    x = torch.rand(30, 4)
    with scorch.profile() as p:
        A @ x[:, 0]
        for _ in range(3):
            A @ x
    assert p.table("calls").splitlines()[2].split()[2:4] != []
    assert "ij,jk->ik" in p.table("calls", most=1) and "ij,j->i " not in p.table("calls", most=1)
    with pytest.raises(ValueError, match="expected one of time, calls, each, bytes, got 'name'"):
        p.table("name")


def test_torchs_profiler_shows_programs(A):
    x = torch.rand(30, 4)
    A @ x
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        A @ x
    names = [e.name for e in seen.events()]
    assert "scorch: ij,jk->ik csr 40x30 f32, dense 30x4 f32" in names
    with scorch.profile() as p, torch.profiler.profile() as seen:
        A @ x
    assert any(e.name.startswith("scorch: ij,jk->ik") for e in seen.events()) and len(p.programs) == 1


# ---- pictures ----
def pooled(dense, pixels):
    """The share of each pixel that is stored, by the dense tensor."""
    rows, columns = dense.shape
    high, wide = min(rows, pixels), min(columns, pixels)
    i, j = torch.arange(rows) * high // rows, torch.arange(columns) * wide // columns
    left = torch.nn.functional.one_hot(i, high).double()
    right = torch.nn.functional.one_hot(j, wide).double()
    return left.T @ (dense != 0).double() @ right / (left.sum(0)[:, None] * right.sum(0))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(1,1)", "ell(30)", "dia(16)"])
@pytest.mark.parametrize("pixels", [7, 16, 100])
def test_rasters_are_shares(A, format, pixels):
    torch.testing.assert_close(raster(A.convert(format), pixels), pooled(A.to_dense(), pixels))


def test_rasters_of_other_shapes():
    x = torch.tensor([0.0, 1, 0, 1, 1])
    assert raster(scorch.sparse(x), 9).tolist() == [x.tolist()]
    cube = torch.zeros(4, 3, 2)
    cube[0, 1, 1] = cube[3, 1, 1] = 1
    assert raster(scorch.sparse(cube), 9)[1].tolist() == [0, 0.5]
    assert raster(scorch.sparse(torch.ones(0, 4)), 9).sum() == 0
    blocks = scorch.sparse(torch.eye(4), format="bsr(2,2)")
    assert raster(blocks, 4).sum() == 8  # what fills blocks is stored


def test_large_tensors_are_not_made_dense():
    n = 10**7
    at = torch.randint(n, (2, 1000))
    assert raster(scorch.coo(at, torch.ones(1000), (n, n)), 64).count_nonzero() > 700


@pytest.mark.parametrize("shape", [(2**60, 2), (2, 2**60), (3, 2**61 - 1), (2**63 - 1,)])
def test_pictures_of_extents_near_the_largest(shape):
    """Entries at both ends and on both sides of the middle, in the first row or column."""
    n = max(shape)
    at = torch.tensor([0, n // 2 - 2**20, n // 2 + 2**20, n - 1])
    index = torch.stack([at if m == n else at * 0 for m in shape])
    A = scorch.coo(index, torch.ones(4), shape, format="coo")
    picture = raster(A, 8)
    seen = picture[0] if n == shape[-1] else picture[:, 0]
    assert seen.nonzero().flatten().tolist() == [0, 3, 4, 7] and picture.count_nonzero() == 4
    assert "data:image/png" in A._repr_html_()


def test_notebooks_show_tensors(A):
    text = A._repr_html_()
    data = base64.b64decode(text.split("base64,")[1].split('"')[0])
    assert data.startswith(b"\x89PNG") and all(
        word in text for word in ("csr", "40 x 30", "float32", "bytes")
    )
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    lines = zlib.decompress(data[at + 4 : at + 4 + size])
    pixels = torch.frombuffer(bytearray(lines), dtype=torch.uint8).view(40, 1 + 4 * 30)[:, 1:].view(40, 30, 4)
    assert torch.equal((pixels != 255).any(2), A.to_dense() != 0)  # the opacity is always 255
    P = scorch.parts(A, scorch.sparse(torch.eye(40, 30), format="coo"))
    assert "part 1" in P._repr_html_() and "coo: 30" in P._repr_html_()
    for x in (torch.ones(3), torch.ones(2, 2, 2), torch.zeros(0, 3)):
        assert "data:image/png" in scorch.sparse(x)._repr_html_()


def test_png_is_read_by_others():
    plt = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")
    import io

    picture = torch.arange(24, dtype=torch.uint8).view(2, 3, 4) * 10
    found = plt.imread(io.BytesIO(png(picture)))
    assert torch.equal((torch.tensor(found) * 255).round().to(torch.uint8), picture)


def drawing():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    return pyplot


def test_spy(A):
    drawing()
    ax = A.spy()
    assert ax.get_title() == f"csr, 40x30, {A.nnz} stored"
    seen = torch.tensor(ax.images[0].get_array()[..., 3])
    assert torch.equal(seen > 0, A.to_dense() != 0)
    P = scorch.parts(A, scorch.sparse(torch.eye(40, 30), format="coo"))
    assert P.spy(ax) is ax and len(ax.images) == 3
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"csr: {A.nnz}", "coo: 30"]
    assert A.spy(pixels=8).images[0].get_array().shape == (8, 8, 4)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        A.spy(pixels=0)


def test_without_matplotlib(A, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="spy draws with matplotlib, which is not installed: pip install"):
        A.spy()
    with pytest.raises(ImportError, match="plot draws with matplotlib"):
        scorch.explain("ij,j->i", A, torch.rand(30)).plot()
    assert "data:image/png" in A._repr_html_()


# ---- explanations ----
CHAIN = "P[i,k] = S[i,j] * S[j,k]; Y[i,f] = P[i,k] * X[k,f]"


def test_explanations_are_read_as_steps(A):
    S, X = A @ A.T, torch.rand(40, 8)
    steps = scorch.explain(CHAIN, S=S, X=X).steps
    assert [s.text for s in steps] == ["P[i,k] += S[i,j] * S_1[j,k]", "Y[i,f] += P[i,k] * X[k,f]"]
    assert [s.format for s in steps] == ["csr", "dense"] and all(s.seconds > 0 for s in steps)
    (one,) = scorch.explain("ij,jk->ik", A, X[:30]).steps
    assert one.text == "out[i,k] = A[i,j] * B[j,k]" and one.seconds > 0
    sampled = scorch.explain("Y[i,j] = S[i,j] * exp(X[i,d] * X[j,d])", S=S, X=X)
    assert sampled.steps and all(s.text for s in sampled.steps)


@pytest.mark.parametrize("form", ["coo", "ell(40)", "bsr(2,2)", "dense(0/2), dense(1), compressed(0%2)"])
def test_steps_have_the_format_that_is_delivered(form):
    A, x = scorch.sparse(torch.eye(40)), torch.rand(40)
    (one,) = scorch.explain("C[i,j] = A[i,j] * x[i]", A=A, x=x, format=form).steps
    assert one.format == form


def test_explanations_are_texts(A):
    text = scorch.explain("ij,jk->ik", A, torch.rand(30, 4))
    assert isinstance(text, str) and text.startswith("expression\n") and A.plan().steps
    assert pickle.loads(pickle.dumps(text)) == text
    shown = text._repr_html_()
    assert "estimated" in shown and "<summary>C</summary>" in shown


def test_explanations_are_drawn(A):
    plt = drawing()
    S, X = A @ A.T, torch.rand(40, 8)
    times, entries = scorch.explain(CHAIN, S=S, X=X).plot()
    assert [len(group) for group in times.containers] == [2, 2]
    assert all(bar.get_width() > 0 for group in times.containers for bar in group)
    assert [bar.get_width() for bar in entries.containers[1]] == [(S @ S).nnz, 320]
    given = plt.subplots(ncols=2)[1]
    assert scorch.explain("ij,jk->ik", A, X[:30]).plot(given) is given
    assert given[0].containers[1][0].get_width() > 0
    with pytest.raises(ValueError, match="no operands to run on"):
        scorch.compile("ij,jk->ik", A, X[:30]).explain().plot()


def test_nothing_of_it_is_imported_before_it_is_used():
    code = "import sys, scorch; "
    code += "print([m for m in sys.modules if m.startswith(('matplotlib', 'scorch.tools.p'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['scorch.tools.plan']"


@pytest.mark.parametrize("first", range(1, 25))
def test_memory_that_runs_out_ends_nothing_but_the_call(A, first):
    x = torch.rand(30, 4)
    expected = A @ x
    with scorch.profile() as p:
        scorch._C.fail_alloc(first, 1)
        try:
            torch.testing.assert_close(A @ x, expected)
        except MemoryError:
            pass
        finally:
            scorch._C.fail_alloc(0, 0)
        A @ x
    assert 1 <= sum(ran.calls for ran in p.programs) + p.lost <= 2
