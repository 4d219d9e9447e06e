"""The one place that finds a data file: in the user's folder, in the cache, or at its publisher.

Folder and cache have one layout, ``<root>/<dataset>/<file>``. A file in the folder may lie there
unpacked, as ``.gz`` or ``.bz2``, or inside the publisher's archive. What is checked is always the
sha256 of the unpacked content.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise import _check
from equipoise.datasets._sources import SOURCES, Source

FOLDER = "EQUIPOISE_DATA"
CACHE = "EQUIPOISE_CACHE"
DAMAGE = (OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile, tarfile.TarError)


def fetch(dataset: str, filename: str) -> Path:
    """Return the path of a verified data file, downloading it if need be.

    Parameters
    ----------
    dataset : str
        Folder of the data set, such as ``"adult_a9a"``.
    filename : str
        Name of the unpacked file, such as ``"a9a"``.

    Returns
    -------
    Path
        The file in the folder that the environment variable ``EQUIPOISE_DATA`` names, which may be
        packed; else the unpacked file in the cache (``EQUIPOISE_CACHE``, or the system's place for
        caches), downloaded when it is not there.

    Raises
    ------
    FileNotFoundError
        The file is not in the folder and has no public address any more.
    ConnectionError
        The download failed.
    ValueError
        The content is not the expected one.
    """
    return _find(dataset, filename)[0]


def read(dataset: str, filename: str) -> bytes:
    """Return the verified, unpacked content of a data file; see `fetch`."""
    return _find(dataset, filename)[1]


def _find(dataset: str, filename: str) -> tuple[Path, bytes]:
    files = SOURCES[_check.choice("fetch", "dataset", dataset, SOURCES)]
    source = files[_check.choice("fetch", "filename", filename, files)]
    for path, members in _places(dataset, filename, source):
        if path.is_file():
            return path, _verified(path, members, source)
    if not source.url:
        raise FileNotFoundError(
            f"fetch: `{dataset}/{filename}` has no public address any more. "
            f"{_advice(dataset, filename)}"
        )
    path = _download(dataset, filename, source)
    return path, path.read_bytes()


def _places(dataset: str, filename: str, source: Source) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Where the user's folder may hold the file, and the way through the archive there."""
    if not os.environ.get(FOLDER):
        return
    folder = Path(os.environ[FOLDER]).expanduser() / dataset
    for suffix in ("", ".gz", ".bz2"):
        yield folder / (filename + suffix), ()
    for depth, archive in enumerate((Path(source.url).name, *source.members[:-1])):
        if source.members:
            yield folder / archive, source.members[depth:]


def _verified(path: Path, members: tuple[str, ...], source: Source) -> bytes:
    try:
        content = decompressed(path.read_bytes(), members)
    except ValueError as error:
        raise ValueError(
            f"fetch: `{path}` is not the expected file ({error}): its content must have "
            f"sha256 {source.sha256}."
        ) from error
    found = _sha256(content)
    if found != source.sha256 and not (
        source.squeezed and _sha256(squeeze(content)) == source.squeezed
    ):
        raise ValueError(
            f"fetch: `{path}` is not the expected file: its content must have "
            f"sha256 {source.sha256}, got {found}. Replace it, or remove it to have it downloaded."
        )
    return content


def _download(dataset: str, filename: str, source: Source) -> Path:
    import pooch

    def download(url: str, output: str, manager: Any) -> None:
        """Download and unpack, so that pooch checks the content and keeps it under its own name."""
        # the files are small, and a whole answer leaves no connection open when it is an error
        pooch.HTTPDownloader(stream=False)(url, output, manager)
        content = decompressed(Path(output).read_bytes(), source.members)
        Path(output).write_bytes(squeeze(content) if source.squeezed else content)

    cache = Path(os.environ.get(CACHE) or pooch.os_cache("equipoise")).expanduser()
    try:
        path = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{source.squeezed or source.sha256}",
            fname=filename,
            path=cache / dataset,
            downloader=download,
        )
    except ValueError as error:
        raise ValueError(
            f"fetch: what {source.url} sent is not the expected `{dataset}/{filename}`: {error} "
            f"{_advice(dataset, filename)}"
        ) from None
    except OSError as error:
        raise ConnectionError(
            f"fetch: could not get `{dataset}/{filename}` from {source.url}: "
            f"{type(error).__name__}: {error}. Try again, or: {_advice(dataset, filename)}"
        ) from None
    return Path(path)


def _advice(dataset: str, filename: str) -> str:
    folder = os.environ.get(FOLDER) or "<folder>"
    return (
        f"Put the file, unpacked or as .gz or .bz2, at {folder}/{dataset}/{filename} and let the "
        f"environment variable {FOLDER} name that folder ({FOLDER}={folder})."
    )


def decompressed(data: bytes, members: tuple[str, ...] = ()) -> bytes:
    """Return what is inside gzip, bzip2, zip and tar layers, following `members` inwards.

    Layers are known by their first bytes, not by a name: publishers change packings. Damaged ones
    raise `ValueError`.
    """
    try:
        return _peel(data, members)
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error


def _peel(data: bytes, members: tuple[str, ...]) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return _peel(gzip.decompress(data), members)
    if data.startswith(b"BZh"):
        return _peel(bz2.decompress(data), members)
    if not members:
        return data
    return _peel(_extract(data, members[0]), members[1:])


def _extract(data: bytes, wanted: str) -> bytes:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(_member(archive.namelist(), wanted))
    with tarfile.open(fileobj=io.BytesIO(data)) as tape:
        file = tape.extractfile(_member(tape.getnames(), wanted))
        return file.read() if file else b""


def _member(names: list[str], wanted: str) -> str:
    """The name that is `wanted`, in whatever folder of the archive."""
    for name in names:
        if name == wanted or name.endswith("/" + wanted):
            return name
    raise KeyError(f"the archive has no member {wanted}")


def squeeze(text: bytes) -> bytes:
    """Return `text` with every run of blanks made one and every line end made one newline."""
    return b"".join(b" ".join(line.split()) + b"\n" for line in text.splitlines())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
