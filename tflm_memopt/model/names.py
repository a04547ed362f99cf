"""Names that rewritten models contain: custom operators, and the metadata entry with the memory plan."""

REGION, CONV, DENSE, GROUP = "TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP"
OURS = frozenset((REGION, CONV, DENSE, GROUP))
"""Custom operators that the library in custom_ops/tflm implements."""

OFFLINE_PLAN = "OfflineMemoryAllocation"
"""Name of the metadata entry with TFLM's memory plan (micro_allocation_info.cc). The memory plan consists of int32
numbers: the version, the number of subgraphs, the number of tensors, and each tensor's offset.
"""
OFFLINE_PLAN_VERSION = 1
ONLINE = -1
"""Stands for the offset of a tensor that TFLM places by itself."""
