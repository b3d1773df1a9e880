"""Records and loaders: any file or hub dataset in, items out; judged items out again as data to train on.

Owns: file formats, field mapping, known row shapes, the canonical row, the columns of a result file, exports, and the
bundled demo questions. Does not own: judging anything.
"""

from .canonical import item_from_row, item_to_row
from .export import EXPORTS, Export, best_of_n, pairs, write_jsonl
from .fieldmap import FieldMap
from .formats import JsonLines
from .items import Items, ItemStream, load_items, stream_items
from .records import BadRecord, Record, RowError
from .results import COLUMNS, VARYING, VERDICT, ResultRow, read_results, result_row, row_to_json
from .rows import Need
from .sources import Part, open_parts, open_source

__all__ = [
    "COLUMNS",
    "EXPORTS",
    "VARYING",
    "VERDICT",
    "BadRecord",
    "Export",
    "FieldMap",
    "ItemStream",
    "Items",
    "JsonLines",
    "Need",
    "Part",
    "Record",
    "ResultRow",
    "RowError",
    "best_of_n",
    "item_from_row",
    "item_to_row",
    "load_items",
    "open_parts",
    "open_source",
    "pairs",
    "read_results",
    "result_row",
    "row_to_json",
    "stream_items",
    "write_jsonl",
]
