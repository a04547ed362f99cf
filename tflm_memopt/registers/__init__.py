"""Register interfaces of the drivers around a model: chapter 6 of the dissertation that fused tiling is from.

Data flows one way: header.py or svd.py read a description of registers (description.py), source.py a driver that uses
them (driver.py); flatten.py says what may move, conflicts.py which accesses may be one, layout.py where fields are
placed, accessors.py and rewrite.py write C, generate.py is all of it.

Nothing here knows of tensors.
"""
