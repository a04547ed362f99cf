"""What a rewritten model's operators and memory plan are called; who reads such a model needs no more of `lower`."""

from __future__ import annotations

REGION, CONV, DENSE, BLOCK = "TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_BLOCK"
"""Custom codes: the same as custom_ops/tflm/tmo_names.h."""
OURS = frozenset((REGION, CONV, DENSE, BLOCK))
"""Custom operators that custom_ops/tflm implements."""

OFFLINE_PLAN = "OfflineMemoryAllocation"
"""Metadata entry (tensorflow/lite/micro/micro_allocation_info.cc): int32 version, subgraphs, tensors, their offsets."""
OFFLINE_PLAN_VERSION = 1
ONLINE = -1
"""TFLM places the tensor itself."""
