"""Bugs in runs that are kept and go on, and in ratings that are prepared on disk."""

from __future__ import annotations

from mutants.mutant import Mutant

_GATE = "privacy/gaussian/kept_gate.py"
_RESUMED = "privacy/account/ledger_file.py"
_CHECKPOINT = _TERMS = "methods/checkpoint.py"
_DISK = "engines/disk.py"
_STORED = "data/stored.py"
_PREPARE = "data/preparation.py"
_T_KEPT = ("engines/test_checkpoint.py",)
_T_BLOCKS = ("engines/test_blocks.py",)
_T_DISK = ("engines/test_disk.py",)

MUTANTS = (
    Mutant(
        "a stopped release is drawn with other noise",
        _GATE,
        "        if intent is None:\n",
        "        if True:\n",
        "a release whose noise was drawn is never drawn again",
        _T_KEPT,
    ),
    Mutant(
        "the same noise meets other sums",
        _GATE,
        "if intent.totals != _digest(intent.secret, totals):",
        "if False:",
        "two releases with the same noise would show the difference of their sums",
        _T_KEPT,
    ),
    Mutant(
        "a recalled release is not charged to the run",
        _GATE,
        "        self.ledger.redeem(\n"
        '            self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": ", ".join(release)})\n'
        "        )\n",
        "",
        "a resumed run's statement has all its releases",
        _T_KEPT,
    ),
    Mutant(
        "the secret of the noise stays beside the release",
        _CHECKPOINT,
        "self._write(self._name(number), _Record(**vars(terms), sha256=hashlib.sha256(content).hexdigest()))",
        "self._write(self._name(number), (self._record(number) or _Record(**vars(terms))).model_copy("
        "update={'sha256': hashlib.sha256(content).hexdigest()}))",
        "who reads the folder later cannot take the noise off",
        _T_KEPT,
    ),
    Mutant(
        "a charge is entered again",
        _RESUMED,
        "        if not self._entered:\n",
        "        if True:\n",
        "nothing is paid twice",
        _T_KEPT,
    ),
    Mutant(
        "a ledger that was set back goes on",
        _RESUMED,
        "if found < released:",
        "if False:",
        "every release is charged",
        _T_KEPT,
    ),
    Mutant(
        "a run goes on with other ratings",
        _TERMS,
        '"ratings": _digest(ratings),',
        '"ratings": "some",',
        "a run is about one data set",
        _T_KEPT,
    ),
    Mutant(
        "the last block is left out",
        _DISK,
        "        for ratings in self._ratings.blocks():\n",
        "        for ratings in list(self._ratings.blocks())[:-1]:\n",
        "every engine gives the same bits",
        _T_DISK,
        "counted_twice or popularity",
    ),
    Mutant(
        "users of two blocks",
        _PREPARE,
        "number = deal(users, self.blocks)",
        "number = np.arange(len(users)) % self.blocks",
        "a user is in one block, and bounded once",
        _T_BLOCKS,
    ),
    Mutant(
        "of repeated rows the first counts",
        _PREPARE,
        "for run, starts in enumerate(self.starts):",
        "for run, starts in reversed(list(enumerate(self.starts))):",
        "row rules are those of ratings in memory",
        _T_BLOCKS,
    ),
    Mutant(
        "damaged blocks are read",
        _STORED,
        "if hashlib.sha256(content).hexdigest() != entry.sha256:",
        "if False:",
        "what was not written is not summed",
        _T_BLOCKS,
    ),
    Mutant(
        "noise of a secret that the caller knows",
        "privacy/gaussian/gate.py",
        "        if isinstance(noise, Noise) and noise.kept:\n",
        "        if False:\n",
        "only noise that nobody can draw again is private",
        ("privacy/test_own_noise.py",),
        "secret",
    ),
    Mutant(
        "blocks of a file that changed are used",
        _PREPARE,
        "if (manifest.reading, manifest.source) != (reading, source):",
        "if manifest.reading != reading:",
        "a model is about the ratings that were given",
        _T_BLOCKS,
    ),
    Mutant(
        "secrets of kept noise from NumPy's global generator",
        "privacy/gaussian/noise.py",
        "return secrets.token_bytes(SECRET_BYTES)",
        "return np.random.bytes(SECRET_BYTES)",
        "noise comes from the operating system, whatever a program has seeded",
        ("silos/test_keyed_noise.py",),
        "global_generator",
    ),
    Mutant(
        "keys of fresh noise from NumPy's global generator",
        "privacy/gaussian/noise.py",
        "return secrets.randbits(128)",
        'return int.from_bytes(np.random.bytes(16), "little")',
        "noise comes from the operating system, whatever a program has seeded",
        ("silos/test_keyed_noise.py",),
        "global_generator",
    ),
)
