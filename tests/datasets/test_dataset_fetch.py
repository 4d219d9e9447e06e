"""Finding, unpacking, checking and downloading files. The only network here is 127.0.0.1."""

import bz2
import gzip
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.datasets import _sources as sources
from equipoise.datasets._fetch import decompressed, read, squeeze
from equipoise.datasets._fetch import fetch as fetch_file
from equipoise.datasets._sources import SOURCES, Source

CONTENT = b"1 2 3 \n4 5  6\n"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return buffer.getvalue()


def tarred(name, data):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tape:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tape.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


class Server:
    """A loopback HTTP server that counts what it is asked."""

    def __init__(self):
        self.pages, self.asked = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                page = outer.pages.get(self.path)
                self.send_response(200 if page is not None else 404)
                self.send_header("Content-Length", str(len(page or b"")))
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        if self.thread.is_alive():
            self.http.shutdown()
            self.thread.join()
            self.http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, an empty cache, and no way out of this machine."""
    root = tmp_path / "data"
    (root / "toy").mkdir(parents=True)
    monkeypatch.setenv("EQUIPOISE_DATA", str(root))
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return root / "toy"


@pytest.fixture
def toy(monkeypatch):
    """Put one made-up file in the table."""

    def register(source, filename="toy.txt"):
        monkeypatch.setitem(sources.SOURCES, "toy", {filename: source})

    return register


# --- the table ----------------------------------------------------------------------------------


def test_the_table_is_well_formed():
    for files in SOURCES.values():
        for filename, source in files.items():
            for digest in filter(None, (source.sha256, source.squeezed)):
                assert len(digest) == 64
                assert int(digest, 16) > 0
            assert source.url.startswith("https://") or source.url == ""
            assert not source.members or source.members[-1].split("/")[-1] == filename
    digests = [source.sha256 for files in SOURCES.values() for source in files.values()]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("dataset", "filename"),
    [(dataset, name) for dataset, files in SOURCES.items() for name in files],
)
def test_every_file_of_the_data_folder_is_the_one_in_the_table(need_folder, dataset, filename):
    need_folder(dataset)
    source = SOURCES[dataset][filename]
    content = read(dataset, filename)
    assert sha(content) == source.sha256
    if source.squeezed:
        assert sha(squeeze(content)) == source.squeezed


@pytest.mark.parametrize(
    ("dataset", "filename", "match"),
    [
        ("unheard-of", "iris.data", r"fetch: `dataset` must be one of .*, got 'unheard-of'"),
        (
            "segment",
            "iris.data",
            r"fetch: `filename` must be one of .*'segment.dat'.*, got 'iris.data'",
        ),
    ],
)
def test_unknown_names(dataset, filename, match):
    with pytest.raises(ValueError, match=match):
        fetch_file(dataset, filename)


# --- the folder ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("toy.txt", CONTENT),
        ("toy.txt.gz", gzip.compress(CONTENT)),
        ("toy.txt.bz2", bz2.compress(CONTENT)),
        ("inner.zip", zipped(deep__toy_txt=CONTENT)),
        ("all.zip", zipped(other_txt=b"no", inner_zip=zipped(deep__toy_txt=CONTENT))),
    ],
    ids=lambda value: None if isinstance(value, str) else "content",
)
def test_a_file_is_found_however_it_is_packed(folder, toy, name, packed):
    toy(Source(sha(CONTENT), "http://127.0.0.1:9/all.zip", ("inner.zip", "deep/toy.txt")))
    (folder / name).write_bytes(packed)
    assert fetch_file("toy", "toy.txt") == folder / name
    assert read("toy", "toy.txt") == CONTENT


def test_the_folder_may_start_with_a_tilde(folder, toy, monkeypatch):
    toy(Source(sha(CONTENT)))
    (folder / "toy.txt").write_bytes(CONTENT)
    monkeypatch.setenv("HOME", str(folder.parent.parent))
    monkeypatch.setenv("EQUIPOISE_DATA", "~/data")
    assert read("toy", "toy.txt") == CONTENT


def test_white_space_may_differ_only_where_the_table_says_so(folder, toy):
    (folder / "toy.txt").write_bytes(b"1 2 3\r\n4 5 6")
    toy(Source(sha(CONTENT), squeezed=sha(squeeze(CONTENT))))
    assert read("toy", "toy.txt") == b"1 2 3\r\n4 5 6"
    toy(Source(sha(CONTENT)))
    with pytest.raises(ValueError, match="not the expected file"):
        read("toy", "toy.txt")


def test_a_wrong_file_is_named_with_both_checksums(folder, toy):
    toy(Source(sha(CONTENT)))
    (folder / "toy.txt.gz").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(ValueError) as caught:
        fetch_file("toy", "toy.txt")
    for part in (str(folder / "toy.txt.gz"), sha(CONTENT), sha(b"something else")):
        assert part in str(caught.value)
    assert (folder / "toy.txt.gz").exists()  # the user's file is left alone


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("toy.txt.gz", gzip.compress(CONTENT * 50)[:-20]),
        ("toy.txt.gz", gzip.compress(CONTENT)[:12] + b"\xff" * 30),
        ("toy.txt.bz2", bz2.compress(CONTENT)[:-8]),
        ("all.zip", zipped(toy_txt=CONTENT)[:-30]),
        ("all.zip", zipped(other_txt=CONTENT)),
        ("all.zip", b"<html>no such page</html>"),
    ],
    ids=lambda value: None if isinstance(value, str) else "content",
)
def test_a_damaged_file_is_named(folder, toy, name, damaged):
    toy(Source(sha(CONTENT), "http://127.0.0.1:9/all.zip", ("toy.txt",)))
    (folder / name).write_bytes(damaged)
    with pytest.raises(ValueError, match="cannot be unpacked") as caught:
        fetch_file("toy", "toy.txt")
    assert str(folder / name) in str(caught.value)


def test_a_file_without_an_address_says_where_to_put_it(folder, toy, monkeypatch):
    toy(Source(sha(CONTENT)))
    with pytest.raises(FileNotFoundError, match="no public address any more") as caught:
        fetch_file("toy", "toy.txt")
    assert str(folder / "toy.txt") in str(caught.value)
    assert "EQUIPOISE_DATA" in str(caught.value)
    monkeypatch.delenv("EQUIPOISE_DATA")
    with pytest.raises(FileNotFoundError, match=r"<folder>/toy/toy\.txt"):
        fetch_file("toy", "toy.txt")


def test_loans_without_data_say_so(folder):
    from equipoise.datasets import load_loans

    with pytest.raises(FileNotFoundError, match=r"loans/LoanStats_2007_2011\.csv"):
        load_loans()


# --- the download -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "packed", "members"),
    [
        ("/toy.txt", CONTENT, ()),
        ("/toy.txt.gz", gzip.compress(CONTENT), ()),
        ("/toy.txt.bz2", bz2.compress(CONTENT), ()),
        ("/all.zip", zipped(toy_txt=CONTENT), ("toy.txt",)),
        ("/all.zip", zipped(in_zip=zipped(deep__toy_txt=CONTENT)), ("in.zip", "deep/toy.txt")),
        ("/all.tar.gz", tarred("package-1.0/data/toy.txt", CONTENT), ("toy.txt",)),
    ],
    ids=lambda value: None if isinstance(value, str) else "content",
)
@pytest.mark.parametrize("with_folder", [True, False])
def test_a_download_is_unpacked_checked_and_kept(
    folder, toy, server, monkeypatch, page, packed, members, with_folder
):
    if not with_folder:
        monkeypatch.delenv("EQUIPOISE_DATA")
    server.pages[page] = packed
    toy(Source(sha(CONTENT), server.url + page, members))
    path = fetch_file("toy", "toy.txt")
    assert str(path) == os.path.join(os.environ["EQUIPOISE_CACHE"], "toy", "toy.txt")
    assert path.read_bytes() == CONTENT
    assert read("toy", "toy.txt") == CONTENT
    assert server.asked == [page]  # once


def test_a_download_may_differ_in_white_space_where_the_table_says_so(folder, toy, server):
    server.pages["/toy.txt"] = b"1 2 3\r\n4  5 6"
    toy(Source(sha(CONTENT), server.url + "/toy.txt", squeezed=sha(squeeze(CONTENT))))
    assert read("toy", "toy.txt") == squeeze(CONTENT)
    assert read("toy", "toy.txt") == squeeze(CONTENT)
    assert server.asked == ["/toy.txt"]


def test_a_spoilt_cache_is_mended(folder, toy, server):
    server.pages["/toy.txt"] = CONTENT
    toy(Source(sha(CONTENT), server.url + "/toy.txt"))
    path = fetch_file("toy", "toy.txt")
    path.write_bytes(b"spoilt")
    assert read("toy", "toy.txt") == CONTENT
    assert len(server.asked) == 2


def test_the_cache_has_a_default_place(folder, toy, server, monkeypatch, tmp_path):
    import pooch

    monkeypatch.delenv("EQUIPOISE_CACHE")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "os" / name)
    server.pages["/toy.txt"] = CONTENT
    toy(Source(sha(CONTENT), server.url + "/toy.txt"))
    assert fetch_file("toy", "toy.txt") == tmp_path / "os" / "equipoise" / "toy" / "toy.txt"


def test_a_wrong_download_is_refused_and_not_kept(folder, toy, server, tmp_path):
    server.pages["/toy.txt"] = b"something else"
    toy(Source(sha(CONTENT), server.url + "/toy.txt"))
    with pytest.raises(ValueError, match=r"not the expected `toy/toy\.txt`") as caught:
        fetch_file("toy", "toy.txt")
    for part in (server.url, sha(CONTENT), sha(b"something else"), "EQUIPOISE_DATA"):
        assert part in str(caught.value)
    assert list((tmp_path / "cache" / "toy").iterdir()) == []


def test_a_page_in_place_of_an_archive_is_refused(folder, toy, server, tmp_path):
    server.pages["/all.zip"] = b"<html>please log in</html>"
    toy(Source(sha(CONTENT), server.url + "/all.zip", ("toy.txt",)))
    with pytest.raises(ValueError, match="cannot be unpacked"):
        fetch_file("toy", "toy.txt")
    assert list((tmp_path / "cache" / "toy").iterdir()) == []


def test_a_missing_page_names_the_address_and_the_way_out(folder, toy, server):
    toy(Source(sha(CONTENT), server.url + "/gone.txt"))
    with pytest.raises(ConnectionError, match="404") as caught:
        fetch_file("toy", "toy.txt")
    for part in (server.url + "/gone.txt", "EQUIPOISE_DATA", str(folder / "toy.txt")):
        assert part in str(caught.value)


def test_offline_names_the_address_and_the_way_out(folder, toy, server):
    server.close()
    toy(Source(sha(CONTENT), server.url + "/toy.txt"))
    with pytest.raises(ConnectionError, match=r"could not get `toy/toy\.txt`") as caught:
        fetch_file("toy", "toy.txt")
    for part in (server.url, "Try again", "EQUIPOISE_DATA", str(folder / "toy.txt")):
        assert part in str(caught.value)


# --- unpacking and white space ------------------------------------------------------------------


def test_layers_nest():
    assert decompressed(gzip.compress(bz2.compress(CONTENT))) == CONTENT
    assert decompressed(zipped(a_gz=gzip.compress(CONTENT)), ("a.gz",)) == CONTENT
    assert decompressed(tarred("x/y.zip", zipped(a_txt=CONTENT)), ("y.zip", "a.txt")) == CONTENT


@given(st.text(alphabet="ab12 \t\r\n").map(str.encode))
def test_squeezing_keeps_the_words_and_is_done_once(text):
    squeezed = squeeze(text)
    assert squeeze(squeezed) == squeezed
    assert squeezed.split() == text.split()
    assert b"  " not in squeezed
