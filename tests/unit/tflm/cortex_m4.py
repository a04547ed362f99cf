"""Measured arena sizes of TFLM on a Cortex-M4: activations, arena_used_bytes(), and the smallest sufficient arena.

The sizes were measured with tensorflow/tflite-micro at 90b983c2b and reference kernels. The compiler was
arm-none-eabi-g++ 12.2 with -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -Os -DNDEBUG -DTF_LITE_STATIC_MEMORY. The programs
ran in QEMU 7.2 on mps2-an386, with an arena that is aligned to 16 bytes.
"""

from collections.abc import Mapping

Measured = tuple[int, int, int]

REAL_MODELS: Mapping[str, Measured] = {
    "mlperf_tiny_ad_autoencoder_int8": (768, 2260, 2700),
    "mlperf_tiny_ic_resnet8_int8": (49_152, 54_340, 54_340),
    "mlperf_tiny_kws_dscnn_int8": (16_000, 22_772, 22_772),
    "mlperf_tiny_vww_96_int8": (73_728, 100_660, 100_660),
    "mcunet_vww_80_float_io": (161_472, 219_744, 219_740),
    "mcunetv2_large_224_float_io": (2_451_840, 2_602_048, 2_602_040),
}

ZOO: Mapping[str, Measured] = {
    "abs": (256, 612, 616),
    "add_n_float": (1936, 2320, 2308),
    "add_n_int8": (528, 1012, 1020),
    "arg_max_min": (48, 432, 632),
    "batch_matmul": (80, 596, 684),
    "batch_to_space": (256, 596, 600),
    "branches": (1504, 3128, 3132),
    "broadcast_args": (48, 368, 552),
    "broadcast_to": (368, 692, 700),
    "cast_shape": (608, 944, 944),
    "circular_buffer": (96, 436, 484),
    "cos": (960, 1232, 1232),
    "cumsum": (256, 628, 640),
    "depth_to_space": (256, 612, 612),
    "div": (384, 804, 808),
    "dynamic_update_slice": (272, 660, 668),
    "elu": (256, 836, 844),
    "embedding_lookup": (48, 404, 532),
    "equal": (384, 784, 776),
    "expand_dims": (256, 580, 588),
    "fill": (32, 356, 504),
    "float_network": (1088, 1956, 1960),
    "floor_div": (1440, 1760, 1760),
    "gather": (176, 548, 548),
    "gather_nd": (176, 532, 536),
    "hard_swish": (256, 596, 608),
    "if": (144, 1124, 1808),
    "int16_softmax": (64, 2532, 2616),
    "l2_normalization": (256, 596, 596),
    "l2_pool": (960, 1312, 1304),
    "leaky_relu": (256, 612, 616),
    "log_softmax": (256, 612, 616),
    "logical": (384, 800, 792),
    "logistic": (256, 596, 604),
    "lstm": (128, 1344, 2036),
    "maximum": (384, 756, 768),
    "mean": (272, 660, 808),
    "mirror_pad": (384, 740, 752),
    "mul": (384, 804, 816),
    "network": (1600, 3748, 3760),
    "pack_unpack": (64, 568, 752),
    "pad_with_value": (336, 740, 748),
    "prelu": (256, 628, 628),
    "reduce_all": (192, 544, 728),
    "reduce_max": (176, 564, 728),
    "region": (528, 1060, 1068),
    "relu": (256, 612, 616),
    "resize_bilinear": (608, 932, 944),
    "resize_nearest": (608, 932, 944),
    "reverse": (256, 580, 588),
    "rsqrt": (960, 1280, 1272),
    "select": (512, 948, 952),
    "slice": (160, 500, 548),
    "space_to_batch": (256, 612, 616),
    "space_to_depth": (256, 612, 612),
    "split": (256, 648, 652),
    "split_v": (256, 664, 664),
    "squared_difference": (384, 884, 888),
    "squeeze": (256, 612, 612),
    "strided_slice": (160, 628, 684),
    "sub": (384, 820, 832),
    "sum": (192, 580, 808),
    "svdf": (80, 580, 888),
    "tanh": (256, 596, 604),
    "transpose": (256, 580, 588),
    "transpose_conv": (688, 1156, 1164),
    "unused_tensors": (112, 536, 580),
    "while": (512, 1156, 1168),
    "zeros_like": (960, 1232, 1232),
}
"""Measurements of the models in arena_zoo.py. The model "region" was measured with a builtin operator in place of
TMO_REGION.
"""

FULL_BUILD: Mapping[str, Measured] = {
    "branches": (1504, 3304, 3312),
    "float_network": (1088, 2164, 2168),
    "if": (144, 1348, 1924),
    "lstm": (128, 1408, 2240),
    "lstm_int8": (96, 1476, 2620),
    "lstm_int16": (256, 1636, 2620),
    "network": (1600, 3972, 3972),
    "reduce_max": (176, 644, 868),
    "region": (528, 1156, 1168),
    "sub": (384, 932, 944),
    "svdf": (80, 660, 952),
    "transpose_conv": (688, 1236, 1244),
}
"""Measurements of TFLM built with -fno-short-enums and without TF_LITE_STATIC_MEMORY (ABI "ilp32-full")."""

EARLY_2023: Mapping[str, tuple[int, int]] = {"lstm": (1104, 2000), "lstm_int8": (1316, 4892)}
"""Measured arena_used_bytes() and sufficient arena sizes of TFLM at commit 0c425da36 (13 January 2023)."""
