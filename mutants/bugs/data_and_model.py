"""Bugs in reading ratings, in saving models, and in what people get from them."""

from __future__ import annotations

from mutants.mutant import Mutant

_STORAGE = "model/storage.py"
_T_STORAGE = ("model/test_storage.py",)

MUTANTS = (
    Mutant(
        "an altered file is read",
        _STORAGE,
        "    if hashlib.sha256(content).hexdigest() != digest:\n",
        "    if False:\n",
        "a model that was altered is refused",
        _T_STORAGE,
    ),
    Mutant(
        "a file too many in a model",
        _STORAGE,
        "    for name in sorted({entry.name for entry in folder.iterdir()} - {MANIFEST, *FILES}):\n",
        "    for name in ():\n",
        "nothing but the model is in its folder",
        _T_STORAGE,
    ),
    Mutant(
        "a statement that nothing was released about a model that has learnt",
        "model/model.py",
        "if self.statement.private and not self.statement.releases and not side.untrained:",
        "if False:",
        "a model without releases has learnt nothing",
        ("model/test_recommend.py",),
        "nothing_was_released",
    ),
    Mutant(
        "the text of ratings shows an id",
        "data/ratings.py",
        'return f"Ratings({self.n_users} users,',
        'return f"Ratings({self.user_ids[:1]} users,',
        "nobody's id is shown by accident",
        ("data/test_ratings.py",),
        "shows_no_ids",
    ),
    Mutant(
        "a repeated pair counts twice",
        "data/rows.py",
        '        order = order[np.append(True, ~again) if rule == "first" else np.append(~again, True)]\n',
        "",
        "a user counts once for an item",
        ("data/test_ratings.py", "data/test_bad_input.py"),
    ),
    Mutant(
        "one user's time decides how all times are read",
        "data/rows.py",
        "        text = values.set(number.is_not_null(), None)\n",
        "        if number.has_nulls():\n"
        "            number, whole = number.clear(len(number)), whole.clear(len(number))\n"
        "        text = values.set(number.is_not_null(), None)\n",
        "a row is read by itself",
        ("data/test_repeats.py",),
        "odd_time",
    ),
    Mutant(
        "types of NDJSON chosen by all rows",
        "catalogue/tables.py",
        "        return _scan_json(source, columns)\n",
        "        table, typed = pl.scan_ndjson(source, infer_schema_length=None), True\n",
        "a row is read by itself",
        ("data/test_row_by_row.py",),
        "ndjson",
    ),
    Mutant(
        "the type of a column of objects chosen by all values",
        "data/frames.py",
        "read_objects(values, what) if isinstance(values, list) else pl.Series(values)",
        "pl.Series(values, strict=False)",
        "a row is read by itself",
        ("data/test_row_by_row.py",),
        "object",
    ),
    Mutant(
        "the encoding of people's rows guessed from all of them",
        "catalogue/tables.py",
        "    if is_plain(path, encoding) or",
        "    try:\n"
        "        path.read_text()\n"
        "    except UnicodeDecodeError:\n"
        '        encoding = encoding or "latin-1"\n'
        "    if is_plain(path, encoding) or",
        "a row is read by itself",
        ("data/test_row_by_row.py",),
        "encoding",
    ),
    Mutant(
        "lines that a quote hides are not missed",
        "data/readers.py",
        "    if scan.typeset:\n        check_lines(frame, columns)\n",
        "",
        "a row is read by itself",
        ("data/test_row_by_row.py",),
        "quote",
    ),
    Mutant(
        "users share a row when some are left out",
        "data/ratings.py",
        "return replace(self, indptr=kept[self.indptr], items=self.items[mask], values=self.values[mask])",
        "return replace(self, indptr=np.minimum(self.indptr, kept[-1]), items=self.items[mask], "
        "values=self.values[mask])",
        "a rating stays with its user",
        ("data/test_ratings.py",),
        "keep",
    ),
    Mutant(
        "a batch in which people see each other's history",
        "model/history.py",
        "side.fold_in(indptr, items, histories.values[entries]))",
        "np.roll(side.fold_in(indptr, items, histories.values[entries]), 1, axis=0))",
        "everybody is answered as if alone",
        ("model/test_batch.py",),
    ),
    Mutant(
        "splits that everybody may read",
        "cli/evaluate.py",
        "part.write_csv, private=True",
        "part.write_csv, private=False",
        "what is written for the holder alone has mode 0600",
        ("cli/test_modes.py",),
    ),
    Mutant(
        "a collector's store with the mode of the umask",
        "devices/collector/store.py",
        "            make_private(self.path)\n",
        "",
        "what is written for the holder alone has mode 0600",
        ("cli/test_modes.py",),
    ),
    Mutant(
        "any number of rows may be left out",
        "data/rules.py",
        "    if left_out.dropped > rules.allow_dropped * rows:\n",
        "    if left_out.dropped > rows:\n",
        "ratings of another catalogue are refused",
        ("data/test_dropped.py",),
    ),
    Mutant(
        "a statement that does not say which tables are refused",
        "data/rules.py",
        "        if self.allow_dropped < 1.0:\n",
        "        if False:\n",
        "a promise says which tables it is about",
        ("data/test_dropped.py",),
    ),
    Mutant(
        "times that sort as texts",
        "data/splits.py",
        "    if len(wrong):\n",
        "    if len(wrong):\n        return texts\n    if len(wrong):\n",
        "times are parsed or refused",
        ("data/test_splits.py",),
    ),
)
