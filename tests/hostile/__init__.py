"""Damaged, forged and hostile files by the thousand: each is refused with an error of ours, or read as what it is."""
