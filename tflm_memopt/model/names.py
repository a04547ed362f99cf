"""Names that rewritten models contain: custom operators, and the metadata entry with the memory plan."""

REGION, CONV, DENSE, GROUP = "TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP"
OURS = frozenset((REGION, CONV, DENSE, GROUP))
"""The library in custom_ops/tflm implements these custom operators."""

OFFLINE_PLAN = "OfflineMemoryAllocation"
"""The metadata entry with TFLM's memory plan has this name (micro_allocation_info.cc). The metadata entry has int32
numbers: the version, the number of subgraphs, the number of tensors, and each tensor's offset.
"""
OFFLINE_PLAN_VERSION = 1
ONLINE = -1
"""A tensor that TFLM places by itself has this offset."""
