"""Convert camera frames in NumPy, the whole frame at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAY8, RGB565_LE, RGB565_BE = 1, 2, 3


@dataclass(frozen=True)
class Case:
    """A frame, the part of it that a view selects, and the shape of the image to make."""

    format: int
    part: tuple[int, int, int, int]
    """Left edge, top edge, width and height of the selected part of the frame."""
    margin: tuple[int, int]
    """Number of pixels to the right of the selected part, and number of padding bytes after each row of the frame."""
    image: tuple[int, int, int]
    """Height, width and number of channels of the image."""
    seed: int

    @property
    def pixel(self) -> int:
        return 1 if self.format == GRAY8 else 2

    @property
    def stride(self) -> int:
        left, _, width, _ = self.part
        return (left + width + self.margin[0]) * self.pixel + self.margin[1]

    def bytes(self) -> NDArray[np.uint8]:
        _, top, _, height = self.part
        rng = np.random.default_rng(self.seed)
        return rng.integers(0, 256, (top + height, self.stride), dtype=np.uint8)


def whole(case: Case, frame: NDArray[np.uint8], levels: NDArray[np.int8]) -> NDArray[np.int8]:
    """Convert the whole frame first and sample the image afterwards. The image is [height, width, channels]."""
    left, top, width, height = case.part
    pixels = frame[:, : (left + width) * case.pixel].reshape(len(frame), -1, case.pixel).astype(np.int64)
    if case.format == GRAY8:
        rgb = np.repeat(pixels, 3, axis=2)
        gray = pixels
    else:
        word = pixels @ ((1, 256) if case.format == RGB565_LE else (256, 1))
        fives = [word >> 11, word & 31]
        red, blue = ((v * 8) + v // 4 for v in fives)
        six = (word // 32) % 64
        rgb = np.stack([red, six * 4 + six // 16, blue], axis=2)
        gray = ((rgb @ (77, 150, 29) + 128) // 256)[..., None]
    colours = levels[gray if case.image[2] == 1 else rgb]
    rows, columns = (
        first + np.floor((np.arange(count) + 0.5) / count * size + 1e-9).astype(int)
        for first, count, size in ((top, case.image[0], height), (left, case.image[1], width))
    )
    return np.asarray(colours[rows][:, columns], np.int8)
