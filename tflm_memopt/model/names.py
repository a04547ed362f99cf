"""Names of a rewritten model's operators and memory plan, for code that reads such models without `lower`."""

from __future__ import annotations

REGION, CONV, DENSE, GROUP = "TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP"
"""Custom codes, as in custom_ops/tflm/tmo_names.h."""
OURS = frozenset((REGION, CONV, DENSE, GROUP))
"""Custom operators that custom_ops/tflm implements."""

OFFLINE_PLAN = "OfflineMemoryAllocation"
"""Name of the metadata entry with the memory plan (tensorflow/lite/micro/micro_allocation_info.cc). The memory plan's
entry has the int32 numbers version, subgraphs and tensors, followed by the offsets.
"""
OFFLINE_PLAN_VERSION = 1
ONLINE = -1
"""Offset of a tensor that TFLM places by itself."""
