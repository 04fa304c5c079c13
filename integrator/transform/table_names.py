"""What rows' tables are called, here and in the source."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe

Name = Literal["name", "base_name", "schema"]


def table_names(changes: ChangeBatch, what: Name, recipe: TableRecipe, channel: Recipe) -> pa.Array:
    """Return of each row the name, the name in the source, or the schema of its table.

    That is the recipe's table, or, where rows of several are made by one recipe without a name, the one of the row.
    """
    if recipe.table.name:
        return pa.repeat(pa.scalar(getattr(recipe.table, what), pa.string()), len(changes))
    tables = [channel.by_name[name].table for name in changes.tables]
    return pa.array([getattr(table, what) for table in tables], pa.string()).take(pa.array(changes.run_of_row))
