"""Everybody's keys, and the files of a test authority."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509

from discreet.errors import SettingsInvalid
from discreet.silos.shared.keys import (
    PublicKeys,
    make_authority,
    make_mask_key,
    read_mask_key,
    read_signing_key,
)
from discreet.silos.shared.masks import public_key
from discreet.silos.shared.signing import signing_public_key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "tls"
    make_authority(folder, ["north", "south"], ["server.example", "10.0.0.1"])
    return folder


def test_private_keys_are_for_their_owner_alone(folder: Path) -> None:
    private = [path for path in folder.rglob("*") if path.name.endswith((".key", "key.pem"))]
    assert len(private) == 2 + 2 * 2
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_server_has_its_names_and_everybody_is_told_that_it_is_a_test(folder: Path) -> None:
    assert "TEST authority" in (folder / "README.txt").read_text()
    certificate = x509.load_pem_x509_certificate((folder / "server" / "certificate.pem").read_bytes())
    assert "TEST" in certificate.subject.rfc4514_string()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "server.example"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["127.0.0.1", "10.0.0.1"]


def test_public_keys_belong_to_the_private_ones(folder: Path) -> None:
    public = PublicKeys.read(folder / "keys.json")
    assert list(public.masks) == list(public.signing) == ["north", "south"]
    for name, key in public.masks.items():
        assert public_key(read_mask_key(folder / "silos" / name / "mask.key")) == key
    places = {folder / "silos" / name: key for name, key in public.signing.items()}
    for place, key in (places | {folder / "server": public.server or ""}).items():
        assert signing_public_key(read_signing_key(place / "signing.key")) == key


def test_nothing_is_overwritten(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="exists already"):
        make_authority(folder, ["north"])
    make_mask_key(tmp_path / "mask.key")
    with pytest.raises(SettingsInvalid, match="never replaced"):
        make_mask_key(tmp_path / "mask.key")


def test_names_and_hosts_that_cannot_be(tmp_path: Path) -> None:
    for silos in ([], ["a", "a"], ["a b"], ["../a"], [""], ["-a"], ["x" * 64], ["é"]):
        with pytest.raises(SettingsInvalid):
            make_authority(tmp_path / "tls", silos)
    for host in ("", "bad name!", "é.x", ".example", "a" * 64, "-a", "1.2.3", "a\nb", "[::1]"):
        with pytest.raises(SettingsInvalid, match="neither a host name nor an address"):
            make_authority(tmp_path / "tls", ["north"], ["server.example", host])
    assert not (tmp_path / "tls").exists()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": 1}', '{"silos": {"a": "00"}}', "{", '{"silos": {"a": {"mask": "KEY"}}}']
)
def test_keys_that_are_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys.json").write_text(content.replace("KEY", "0" * 64))
    with pytest.raises(SettingsInvalid):
        PublicKeys.read(tmp_path / "keys.json")
    with pytest.raises(SettingsInvalid, match="there is no mask key"):
        read_mask_key(tmp_path / "mask.key")
    (tmp_path / "mask.key").write_bytes(b"\xff" * 64)
    with pytest.raises(SettingsInvalid, match="64 hexadecimal digits"):
        read_mask_key(tmp_path / "mask.key")
