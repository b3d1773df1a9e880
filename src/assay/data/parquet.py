"""Rows as Parquet, batch by batch, all or nothing. The schema is that of the first batch, over all keys that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.files import whole

BATCH = 4096
"""Rows in a batch, and so many are looked at for the schema."""


def write_parquet(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows, and return how many; the folder is made. A key that a row lacks is null in it.

    Raises:
        InputError: there are no rows, or a later row has a key or a type that none of the first batch had.
        OutputError: the file cannot be written.
    """
    # Imported here: pyarrow takes a quarter of a second.
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = Path(path)
    batches = _batches(iter(rows))
    first = next(batches, None)
    if first is None:
        raise InputError(f"no rows to write to {str(target)!r}")
    keys = dict.fromkeys(key for row in first for key in row)
    columns = {key: pa.array([row.get(key) for row in first]) for key in keys}
    schema = pa.schema([(key, column.type) for key, column in columns.items()])
    written = 0
    try:
        with whole(target) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for batch in chain([first], batches):
                unknown = {key for row in batch for key in row} - set(keys)
                if unknown:
                    raise InputError(f"no row of the first {BATCH} has the keys {sorted(unknown)}; write JSONL instead")
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                written += len(batch)
    except pa.ArrowException as error:
        raise InputError(f"a row does not fit those of the first {BATCH} ({error}); write JSONL instead") from error
    return written


def _batches(rows: Iterator[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := [dict(row) for row in islice(rows, BATCH)]:
        yield batch
