from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAY8, RGB565_LE, RGB565_BE = 1, 2, 3


@dataclass(frozen=True)
class Case:
    format: int
    part: tuple[int, int, int, int]
    """Left edge, top edge, width and height of the part of the frame that becomes the image."""
    margin: tuple[int, int]
    image: tuple[int, int, int]
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
    """Convert all pixels of the frame, then select the pixels of the image [height, width, channels]."""
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
