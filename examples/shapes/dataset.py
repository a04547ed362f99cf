"""Draw shapes as 96x96 grey pixels of 4 bits, as a cheap camera would see them. Equal seeds give equal images.

Each shape has a function that returns the outline's distance from the centre at an angle.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

SIDE = 96
LEVELS = 16  # Grey values are 0 to 15.
TEST_SEED = 2

Images = npt.NDArray[np.uint8]  # The shape of an array of images is [N, SIDE, SIDE, 1].
Labels = npt.NDArray[np.uint8]  # Labels are N indices into CLASSES.
_Floats = npt.NDArray[np.float64]


def _zigzag(corners: int, inner: float) -> Callable[[_Floats], _Floats]:
    """Return the outline of a star with `corners` tips at radius 1 and notches at radius `inner`."""
    half = np.pi / corners
    notch_x, notch_y = inner * np.cos(half), inner * np.sin(half)

    def radius(phi: _Floats) -> _Floats:
        folded = np.abs((phi + half) % (2 * half) - half)
        # An edge of the star runs from the tip (1, 0) to a notch.
        reach: _Floats = notch_y / (notch_y * np.cos(folded) + (1.0 - notch_x) * np.sin(folded))
        return reach

    return radius


def _polygon(corners: int) -> Callable[[_Floats], _Floats]:
    return _zigzag(corners, float(np.cos(np.pi / corners)))


def _cross(phi: _Floats) -> _Floats:
    """Return a plus sign: two bars of length 2 and half width 0.32."""
    across, along = np.sort(np.abs([np.cos(phi), np.sin(phi)]), axis=0)
    reach: _Floats = np.minimum(1.0 / along, 0.32 / np.maximum(across, 1e-9))
    return reach


OUTLINES: dict[str, Callable[[_Floats], _Floats]] = {
    "circle": np.ones_like,
    "triangle": _polygon(3),
    "square": _polygon(4),
    "pentagon": _polygon(5),
    "star": _zigzag(5, 0.45),
    "cross": _cross,
}
CLASSES = tuple(OUTLINES)


def draw(rng: np.random.Generator, outline: Callable[[_Floats], _Floats]) -> Images:
    """Return an image [SIDE, SIDE, 1] of a shape with random size, place, rotation and brightness, and with noise."""
    scale = rng.uniform(7.0, 32.0)  # pixels
    margin = 0.8 * scale
    center = rng.uniform(margin, SIDE - margin, size=2)
    turn, stretch, lean = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.85, 1.15), rng.uniform(0.0, np.pi)
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    dx, dy = x - center[0], y - center[1]
    along, across = dx * np.cos(lean) + dy * np.sin(lean), dy * np.cos(lean) - dx * np.sin(lean)
    rho, phi = np.hypot(along * stretch, across / stretch), np.arctan2(across / stretch, along * stretch)
    inside = np.clip(scale * outline(phi - turn) - rho + 0.5, 0.0, 1.0)  # The edge of a shape blurs over one pixel.

    contrast = rng.uniform(0.15, 0.7) * rng.choice((-1.0, 1.0))
    slope = rng.uniform(-0.2, 0.2, size=2)
    background = 0.5 - contrast / 2 + (slope[0] * (x - SIDE / 2) + slope[1] * (y - SIDE / 2)) / SIDE
    image = background + contrast * inside + rng.normal(0.0, rng.uniform(0.02, 0.14), size=(SIDE, SIDE))
    grey: Images = np.clip(np.rint(image * (LEVELS - 1)), 0, LEVELS - 1).astype(np.uint8)
    return grey[..., None]


def make(count: int, seed: int) -> tuple[Images, Labels]:
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % len(CLASSES)).astype(np.uint8)
    images = np.stack([draw(rng, OUTLINES[CLASSES[label]]) for label in labels])
    return images, labels


def quantize(images: Images, scale: float, zero_point: int) -> npt.NDArray[np.int8]:
    """Return grey values as the model's int8 input, where 0 to 15 stand for 0.0 to 1.0."""
    levels = np.rint(images / ((LEVELS - 1) * scale)) + zero_point
    q: npt.NDArray[np.int8] = np.clip(levels, -128, 127).astype(np.int8)
    return q
