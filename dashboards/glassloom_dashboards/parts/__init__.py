"""What pages are made of, whatever they show: cards, plots, tables, themes, words for times and bytes."""
