"""Lists what an operator must fulfil to run row by row, one module per family. opset.OPSET combines the constraints."""
