"""What an operator must fulfil to run row by row: constraints that opset.OPSET puts together, a module a family."""
