"""The cards, one or a few modules each: what is drawn of the folds."""
