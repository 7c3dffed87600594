"""Assertions whose failure reads well, and the way to skip."""


class Skip(Exception):
    """Ends a case that cannot run here; the text says why."""


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_equal(actual, wanted, what):
    if actual != wanted:
        raise AssertionError(f"{what}: {shorten(actual)} instead of {shorten(wanted)}")


def expect_in(part, whole, what):
    if part not in whole:
        raise AssertionError(f"{what}: no {shorten(part)} in {shorten(whole, 4000)}")


def shorten(value, limit=600):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit // 2]} [...] {text[-limit // 2:]}"


PERIOD = 65521


def pseudo_random_bytes(count, seed):
    """The bytes that `rank bytes` prints: xorshift32, repeated after PERIOD bytes."""
    out, state = bytearray(min(count, PERIOD)), seed
    for i in range(len(out)):
        state ^= (state << 13) & 0xffffffff
        state ^= state >> 17
        state ^= (state << 5) & 0xffffffff
        out[i] = state >> 24
    return (bytes(out) * (count // PERIOD + 1))[:count]
