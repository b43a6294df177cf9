"""Report texts as they come: colours, progress bars, encodings, logs of any size."""

from __future__ import annotations

from torchinstall.diagnose.text import HEAD, TAIL, Digest, decode, digest, plain


def test_colours_and_overwritten_lines_go():
    assert plain("\x1b[31mERROR\x1b[0m: no space\r\n") == "ERROR: no space\n"
    assert plain("10%\r50%\r100% done\nnext") == "100% done\nnext"
    assert plain("\x1b]0;title\x07text") == "text"
    assert plain("don\u2019t") == "don't"


def test_encodings():
    text = "ERROR: torch n'est pas là, dit pip"
    for encoding in ("utf-8", "utf-16", "cp1252"):
        assert decode(text.encode(encoding)) == text
    assert decode("ERROR".encode("utf-16-le")) == "ERROR"
    assert "torch" in decode(b"\xff\x00\x81 torch \xfe\xba\xad")


def test_a_huge_log_keeps_its_telling_parts():
    kept = Digest()
    filler = "downloading 1 of 100\n" * 5000
    kept.add("head line\n")
    for _ in range(20):
        kept.add(filler)
    kept.add("RuntimeError: the one that matters\n")
    for _ in range(20):
        kept.add(filler)
    kept.add("last line\n")
    text = kept.text()
    assert "head line" in text
    assert "the one that matters" in text
    assert "last line" in text
    assert len(text) < HEAD + 2 * TAIL + 300_000


def test_an_endless_line_is_cut():
    assert len(digest(["x" * 3_000_000])) < 10_000
