"""What `make leaves` removes of a module beside a leaf, and what it calls a tangle."""

import ast

import grimp
import pytest

from tests.leaves import NAMES, Tangled, cut_of, without

SHELF = """
from product import one
from product import two as other

SHELF = {
    "first": one.THING,
    # said of the next
    **dict.fromkeys(("second", "third"), other.THING),
    "fourth": "product.two",
}
"""
COMMAND = '''
from tool import command


@command()
def first():
    from product import two

    two.run()


@command()
def second():
    """Stay."""
'''


@pytest.fixture(scope="module")
def product():
    return grimp.build_graph("integrator", cache_dir=None)


def gone(module):
    return module == "product.two"


def test_entries_of_a_dict_go_with_what_they_use():
    text, keys = without(SHELF, gone)
    [shelf] = [one.value for one in ast.parse(text).body if isinstance(one, ast.Assign)]
    assert ast.unparse(shelf) == "{'first': one.THING}"
    assert keys == {"second", "third", "fourth"}


def test_a_command_goes_with_what_it_imports():
    text, _ = without(COMMAND, gone)
    assert "first" not in text
    assert text.endswith(COMMAND.partition("two.run()")[2])


@pytest.mark.parametrize(
    "text",
    ["from product import two\n\ntwo.run()\n", "def run():\n    from product import two\n", 'load("product.two")\n'],
)
def test_any_other_use_is_a_tangle(text):
    with pytest.raises(Tangled, match=r"^\d$"):
        without(text, gone)


@pytest.mark.parametrize("leaf", NAMES)
def test_no_leaf_is_tangled(leaf, product):
    assert cut_of(leaf, product).tangles == []
