"""What hypothesis draws: streams that are nearly right in every way, and cuts through them."""

from __future__ import annotations

from hypothesis import strategies as st

from sansio_sse import Event

LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])

NAMES = st.sampled_from(
    [b"data", b"event", b"id", b"retry", b"", b"da", b"datax", b"Data", b" data", b"other", b"\xef"]
)
SEPARATORS = st.sampled_from([b": ", b":", b"", b":  ", b" :"])
VALUES = st.one_of(
    st.sampled_from(
        [b"", b"x", b"5", b"007", b"-5", b"a\0b", b"data: y", b":", b"\xff", b"[DONE]"]
    ),
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace")),
    st.binary(max_size=8),
)
LINES = st.one_of(
    st.just(b""),
    st.just(b""),
    st.builds(lambda *parts: b"".join(parts), NAMES, SEPARATORS, VALUES),
    st.builds(lambda value: b"data: " + value, VALUES),
    st.binary(max_size=12),
)
PLAIN_BLOCKS = st.builds(
    lambda start, value, end: start + b"data: " + value + end + end,
    st.sampled_from(
        [b"", b"event: e\n", b"event: e\r\n", b": c\n", b"id: 1\n", b"id: 2\nevent: f\n"]
    ),
    VALUES,
    LINE_ENDS,
)

STREAMS = st.builds(
    lambda bom, pieces: bom + b"".join(pieces),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef\xbb\xbf\xef\xbb\xbf"]),
    st.lists(
        st.one_of(st.builds(lambda line, end: line + end, LINES, LINE_ENDS), PLAIN_BLOCKS, LINES),
        max_size=24,
    ),
)


@st.composite
def cuttings(draw: st.DrawFn, streams: st.SearchStrategy[bytes] = STREAMS) -> list[bytes]:
    data = draw(streams)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]


# Anything but lone surrogates, which no UTF-8 has.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ONE_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))

EVENTS = st.builds(
    Event,
    type=ONE_LINE.filter(bool),
    data=TEXT,
    id=st.none() | ONE_LINE.filter(lambda text: "\0" not in text),
)
