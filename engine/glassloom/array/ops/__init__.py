"""The nodes of array expressions. They know expressions and chunks, not the `Array` that users hold."""
