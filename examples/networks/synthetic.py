"""Make synthetic sounds, pictures and spectra to train small networks. Equal seeds give equal samples.

Each function returns labels and float32 samples, whose first axis is the batch.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

SYLLABLES = 3
VOICE = 7
"""All data sets use one seed for sounds, so that a word sounds the same in all data sets."""
KEYWORDS, OTHER_WORDS = 10, 30
"""Each of the first KEYWORDS words has its own class, and all other words share the class "unknown"."""
WAKE_WORD = 0
MACHINE_TONES = (0.08, 0.16, 0.24, 0.40, 0.56)
"""Frequencies of a machine without faults, as fractions of the highest frequency of a spectrogram."""


def speech(rng: np.random.Generator, word: int | None, frames: int, bins: int, ends: float | None = None) -> Floats:
    """Return a spectrogram [frames, bins] of noise, with a word that ends at time `ends` (0 to 1), or with no word."""
    time, frequency = np.arange(frames)[:, None] / frames, np.arange(bins)[None] / bins
    sound = rng.normal(0.0, rng.uniform(0.05, 0.2), (frames, bins)) + rng.uniform(0.0, 0.2) * (1 - frequency)
    if word is None:
        return sound.astype(np.float32)
    length = rng.uniform(0.45, 0.65)
    start = rng.uniform(0.02, 0.98 - length) if ends is None else ends - length
    centres, slopes = np.random.default_rng([VOICE, word]).uniform((0.1, -0.3), (0.8, 0.3), (SYLLABLES, 2)).T
    progress = (time - start) / length * SYLLABLES
    spoken = (progress >= 0) & (progress < SYLLABLES)
    syllable, within = np.clip(progress.astype(int), 0, SYLLABLES - 1), progress % 1
    pitch = centres[syllable] + slopes[syllable] * (within - 0.5) + rng.normal(0, 0.02)
    loud = rng.uniform(0.6, 1.2) * np.where(spoken, np.sqrt(np.sin(np.pi * within).clip(0)), 0.0)
    for harmonic, share in ((1.0, 1.0), (1.5, 0.5)):
        sound += loud * share * np.exp(-(((frequency - pitch * harmonic) / 0.06) ** 2))
    return sound.astype(np.float32)


def keywords(count: int, seed: int) -> tuple[Floats, Labels]:
    """Return spectrograms [N, 49, 10, 1] of ten words (classes 0 to 9), of other words (10), and of no word (11)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % (KEYWORDS + 2)
    words = [
        None if label > KEYWORDS else int(rng.integers(KEYWORDS, OTHER_WORDS)) if label == KEYWORDS else int(label)
        for label in labels
    ]
    return np.stack([speech(rng, word, 49, 10)[..., None] for word in words]), labels


def wake_words(count: int, seed: int, frames: int) -> tuple[Floats, Labels]:
    """Return spectrograms [N, frames, 1, 40]. The label is 1 if the spectrogram ends with the wake word."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    windows = []
    for number, label in enumerate(labels):
        others = (None, int(rng.integers(1, OTHER_WORDS)), WAKE_WORD)
        word = WAKE_WORD if label else others[number // 2 % 3]
        ends = rng.uniform(0.92, 1.0) if label else rng.uniform(0.3, 0.75) if word == WAKE_WORD else None
        windows.append(speech(rng, word, frames, 40, ends)[:, None])
    return np.stack(windows), labels


PATTERNS: tuple[Callable[[Floats, Floats], Floats], ...] = (
    lambda x, y: np.sin(x),
    lambda x, y: np.sin(x) * np.sin(y),
    lambda x, y: np.sin(np.hypot(x, y)),
    lambda x, y: np.sin(6 * np.arctan2(y, x)),
    lambda x, y: np.sin(x + 2 * np.sin(y)),
    lambda x, y: np.sign(np.sin(x)) * np.sign(np.sin(y)),
    lambda x, y: np.maximum(np.sin(x), np.sin(y)),
    lambda x, y: np.sin(np.abs(x) + np.abs(y)),
    lambda x, y: np.sin(np.hypot(x, y) + 2 * np.arctan2(y, x)),
    lambda x, y: np.sin(0.2 * x) + 0 * y,
)


def textures(count: int, seed: int, side: int) -> tuple[Floats, Labels]:
    """Return coloured textures [N, side, side, 3] of ten kinds, randomly rotated, scaled and shifted, with noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(PATTERNS)
    y, x = (np.mgrid[:side, :side] / side - 0.5).astype(np.float32)
    pictures = []
    for label in labels:
        turn, scale = rng.uniform(0, np.pi), rng.uniform(18, 32)
        shift = rng.uniform(-0.15, 0.15, 2)
        u = scale * ((x - shift[0]) * np.cos(turn) + (y - shift[1]) * np.sin(turn))
        v = scale * ((y - shift[1]) * np.cos(turn) - (x - shift[0]) * np.sin(turn))
        dark, bright = rng.uniform(0, 0.5, 3), rng.uniform(0.5, 1, 3)
        mixed = np.clip((PATTERNS[label](u, v)[..., None] + 1) / 2, 0, 1)
        pictures.append(dark + (bright - dark) * mixed + rng.normal(0, rng.uniform(0.02, 0.15), (side, side, 3)))
    return np.clip(np.stack(pictures), 0, 1).astype(np.float32), labels


def figures(count: int, seed: int, side: int = 96) -> tuple[Floats, Labels]:
    """Return pictures [N, side, side, 3]. The label is 1 for a figure with head and legs."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    y, x = (np.mgrid[:side, :side] / side).astype(np.float32)

    def inside(cx: float, cy: float, rx: float, ry: float) -> npt.NDArray[np.bool_]:
        within: npt.NDArray[np.bool_] = ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1
        return within

    pictures = rng.uniform(0, 1, (count, 1, 1, 3)) + rng.normal(0, 0.04, (count, side, side, 3))
    for picture, label in zip(pictures, labels, strict=True):
        for _ in range(rng.integers(2, 5)):
            picture[inside(*rng.uniform(0, 1, 2), *rng.uniform(0.05, 0.2, 2))] = rng.uniform(0, 1, 3)
        if label:
            size, cx, cy, colour = (
                rng.uniform(0.7, 1),
                rng.uniform(0.3, 0.7),
                rng.uniform(0.2, 0.3),
                rng.uniform(0, 1, 3),
            )
            for dx, dy, rx, ry in (
                (0, 0, 0.09, 0.1),
                (0, 0.27, 0.15, 0.2),
                (-0.08, 0.5, 0.05, 0.2),
                (0.08, 0.5, 0.05, 0.2),
            ):
                picture[inside(cx + dx * size, cy + dy * size, rx * size, ry * size)] = colour
    return pictures.clip(0, 1).astype(np.float32), labels


def machine_sounds(count: int, seed: int) -> tuple[Floats, Labels]:
    """Return spectrograms [N, 256] of machines, with 8 frames of 32 bins each. The label is 1 if the machine has a
    fault.
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    frequency = np.arange(32) / 32
    spectra = rng.normal(0.1, 0.03, (count, 8, 32))
    for number, label in enumerate(labels):
        speed = rng.uniform(0.9, 1.1)
        tones = [(tone * speed, rng.uniform(0.5, 1.0)) for tone in MACHINE_TONES]
        if label:
            tones.append((rng.uniform(0.65, 0.95), rng.uniform(0.3, 0.8)))
        for tone, loud in tones:
            shape = np.exp(-(((frequency - tone) / 0.03) ** 2))
            spectra[number] += loud * (1 + 0.2 * np.sin(np.arange(8) + rng.uniform(0, 6)))[:, None] * shape
    return spectra.reshape(count, 256).astype(np.float32), labels
