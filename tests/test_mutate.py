"""The list of seeded bugs of mutate.py is up to date: each text is there, once, in the file that it names."""

import mutate
import pytest


@pytest.mark.parametrize("name", mutate.MUTATIONS)
def test_text_is_there_once(name):
    edit = mutate.MUTATIONS[name]
    assert edit[0].endswith(".c"), "expected a source: of a header all objects would have to be made anew"
    assert mutate.mutated(edit) != mutate.source_of(edit[0]).read_text()


def test_what_is_not_there_is_said():
    with pytest.raises(LookupError, match=r"no csrc/compiler/gone\.c"):
        mutate.mutated(("compiler/gone.c", "x", "y"))
    with pytest.raises(LookupError, match="0 times, expected once"):
        mutate.mutated(("dtype.c", "no such text", "y"))
