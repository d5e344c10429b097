"""What explain says: a text that can also be read as steps, drawn, and shown in a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tensor import rooms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two lines a step, as csrc/compiler/path/wish.c prints them; then of one nest, the candidate that was taken.
_STEP = re.compile(
    r"^(?P<text>\S.*)\n  ->(?:  (?P<format>.+?))?(?:, about (?P<entries>[\d.e+]+) entries)?, "
    r"(?P<cost>[\d.]+) us",
    re.M,
)
_CHOSEN = re.compile(r"^  \* +([\d.]+) us", re.M)
_RESULT = re.compile(
    r"^  (\w+): \w+, (.+?)(?:, indices \w+)?(?:, shares .+?)? \(result(?:, delivered as (.+))?\)$", re.M
)
_BEHIND = re.compile(r"^(\w+(?:, \w+)*): delivered as (.+)$", re.M)  # of programs over parts


class Step(NamedTuple):
    """A step of a plan: its assignment, the format of its result, seconds and entries as they were estimated.

    None: nothing was estimated.
    """

    text: str
    format: str
    seconds: float | None
    entries: float | None


class Explanation(str):
    """The text of :func:`scorch.explain`; ``steps`` reads it, ``plot()`` draws it, notebooks show it.

    >>> A, X, W = scorch.sparse(torch.ones(100, 100)), torch.rand(100, 64), torch.rand(64, 4)
    >>> [step.text for step in scorch.explain("ij,jk,kl->il", A, X, W).steps]
    ['t1[j,l] += B[j,k] * C[k,l]', 'out[i,l] += A[i,j] * t1[j,l]']
    """

    call: Callable[[], object] | None = None

    def __new__(cls, text: str, call: Callable[[], object] | None = None) -> Explanation:
        """The text, and what runs what it explains; None: nothing to run on is known."""
        self = super().__new__(cls, text)
        self.call = call
        return self

    def __reduce__(self) -> tuple:
        return str, (str(self),)

    def __str__(self) -> str:
        return str.__str__(self)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the plan; one where it is one loop nest."""
        head, _, _ = self.partition("\n-- step 1:")
        found = tuple(
            Step(m["text"], m["format"] or "", float(m["cost"]) * 1e-6, _number(m["entries"]))
            for m in _STEP.finditer(head)
        )
        return found or self._one()

    def _one(self) -> tuple[Step, ...]:
        expression = self.partition("expression\n")[2].partition("\n\n")[0].strip().replace("\n", "; ")
        costs = [float(cost) * 1e-6 for cost in _CHOSEN.findall(self.partition("\n\nC\n")[0])]
        behind = {name: m for m in _BEHIND.finditer(self) for name in m[1].split(", ")}
        results = {  # one a result, which may be made in pieces
            behind[name][1] if name in behind else name: behind[name][2] if name in behind else own
            for name, own in [(name, delivered or own) for name, own, delivered in _RESULT.findall(self)]
        }
        if not expression:
            return ()
        return (Step(expression, ", ".join(results.values()), sum(costs) if costs else None, None),)

    def plot(self, ax: tuple[Axes, Axes] | None = None) -> Any:
        """Runs what is explained, and draws what each step was estimated to take, and took.

        Two axes: microseconds a call, and values that results store; what is not known has no bar. Runs the
        call for about 0.2 s, without gradients.

        Args:
            ax: two axes to draw on; a new figure has them otherwise.

        Returns:
            The two axes.

        Raises: ImportError: matplotlib is not installed. ValueError: this is the explanation of a kernel, or
            a copy, and no operands are known.
        """
        return rooms.pictures.plot(self, ax)

    def _repr_html_(self) -> str:
        return rooms.pictures.html_of_plan(self)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
